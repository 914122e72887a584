#include "flaggems/registry/gate.h"

#include <algorithm>

#include "flaggems/registry/check_scope.h"

namespace flaggems {

static_assert(alignof(std::atomic<int64_t>) > 2,
              "The low bits of a counter's address say what the gate does");

bool Gate::ForwardSome(std::atomic<int64_t>* counter, int64_t n) {
  if (n < 1) return false;
  // By way of kSetting, so that of two callers one sets left_.
  uintptr_t expected = kChecking;
  if (!state_.compare_exchange_strong(expected, kSetting,
                                      std::memory_order_acquire)) {
    return false;
  }
  left_.store(n, std::memory_order_relaxed);
  expected = kSetting;
  return state_.compare_exchange_strong(expected, Forwarding(counter) | kSome,
                                        std::memory_order_release);
}

int64_t Gate::EndForwardSome() {
  uintptr_t state = state_.load(std::memory_order_acquire);
  if ((state & kSome) == 0) return 0;
  const int64_t left = left_.exchange(0, std::memory_order_relaxed);
  state_.compare_exchange_strong(state, kChecking, std::memory_order_release);
  return std::max<int64_t>(left, 0);
}

bool Gate::CountForwarded(uintptr_t state) {
  if (state == kSetting || CheckScope::active()) return false;
  if ((state & kSome) != 0) {
    const int64_t left = left_.fetch_sub(1, std::memory_order_relaxed);
    // Forward() or Check() that came meanwhile stays in force.
    if (left <= 1) {
      uintptr_t expected = state;
      state_.compare_exchange_strong(expected, kChecking,
                                     std::memory_order_release);
    }
    if (left < 1) return false;
  }
  reinterpret_cast<std::atomic<int64_t>*>(state & ~kSome)
      ->fetch_add(1, std::memory_order_relaxed);
  return true;
}

}  // namespace flaggems
