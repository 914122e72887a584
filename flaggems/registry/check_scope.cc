#include "flaggems/registry/check_scope.h"

#include <omp.h>

#include <atomic>

namespace flaggems {
namespace {

// The mark of a thread inside the checker. It has to reach the workers of the
// parallel loops that a reference starts, and torch hands them no thread-local
// state. OpenMP does: workers inherit the control variables of the thread that
// starts them (OpenMP 5.0, section 2.5.3), and this one has no other use in a
// program without offloading.
constexpr int kInside = 0x466c6147;

// Scopes that live, of all threads: where there are none, as for nearly every
// call that is not checked, a thread need not ask OpenMP. A thread sees its
// own, and a worker that of the thread which started its loop. After fork()
// those of threads that the child does not have stay in it, which costs only
// time.
alignas(64) std::atomic<int> scopes{0};

}  // namespace

CheckScope::CheckScope() noexcept : outer_(omp_get_default_device()) {
  scopes.fetch_add(1, std::memory_order_relaxed);
  omp_set_default_device(kInside);
}
CheckScope::~CheckScope() {
  omp_set_default_device(outer_);
  scopes.fetch_sub(1, std::memory_order_relaxed);
}
bool CheckScope::active() noexcept {
  return scopes.load(std::memory_order_relaxed) != 0 &&
         omp_get_default_device() == kInside;
}

}  // namespace flaggems
