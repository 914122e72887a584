#ifndef FLAGGEMS_REGISTRY_GATE_H_
#define FLAGGEMS_REGISTRY_GATE_H_

// The switch in front of a kernel: forward and count, or check.

#include <ATen/core/boxing/BoxedKernel.h>
#include <ATen/core/dispatch/Dispatcher.h>

#include <atomic>
#include <cstdint>
#include <utility>

namespace flaggems {

// Shared between the installed kernel, which reads it on every call, and the
// checker, which sets it. Thread-safe. It is idle when made: calls are counted
// in `idle_counter` and forwarded.
class Gate {
 public:
  // `idle_counter` and every later counter must outlive the gate.
  Gate(c10::OperatorHandle op, std::atomic<int64_t>* idle_counter)
      : op_(std::move(op)), state_(Forwarding(idle_counter)) {}

  // Counts each call in `counter` and forwards it to the plain kernel, unless
  // the checker itself makes it (see CheckScope).
  void Forward(std::atomic<int64_t>* counter) {
    state_.store(Forwarding(counter), std::memory_order_release);
  }
  // Gives each call to the checked kernel.
  void Check() { state_.store(kChecking, std::memory_order_release); }

  // From a gate that checks: the next `n` calls are forwarded as by Forward(),
  // then it checks again. False, and nothing changes, if the gate does not
  // check at this moment, or n < 1. Forward() and Check() end it.
  bool ForwardSome(std::atomic<int64_t>* counter, int64_t n);
  // Ends ForwardSome(), and nothing else. Returns how many calls were left.
  int64_t EndForwardSome();

  // The checked kernel; set once, before the gate is reachable by a call.
  void set_checked_kernel(c10::BoxedKernel kernel) {
    checked_kernel_ = std::move(kernel);
  }
  const c10::BoxedKernel& checked_kernel() const { return checked_kernel_; }
  const c10::OperatorHandle& op() const { return op_; }

  // One load decides; a forwarded call is counted here.
  bool TryForward() {
    const uintptr_t state = state_.load(std::memory_order_acquire);
    return state != kChecking && CountForwarded(state);
  }

 private:
  // What state_ holds: one of these, or the address of the counter that
  // forwarded calls are counted in, with kSome added while their number is
  // limited.
  static constexpr uintptr_t kChecking = 0;
  static constexpr uintptr_t kSome = 1;
  // Checks still; ForwardSome() is about to set left_.
  static constexpr uintptr_t kSetting = 2;

  static uintptr_t Forwarding(std::atomic<int64_t>* counter) {
    return reinterpret_cast<uintptr_t>(counter);
  }
  // False inside the checker, and if no call is left to forward.
  bool CountForwarded(uintptr_t state);

  const c10::OperatorHandle op_;
  c10::BoxedKernel checked_kernel_;
  // On their own cache line: read by every call of every thread.
  alignas(64) std::atomic<uintptr_t> state_;
  std::atomic<int64_t> left_{0};  // calls to forward, while state_ has kSome
};

}  // namespace flaggems

#endif  // FLAGGEMS_REGISTRY_GATE_H_
