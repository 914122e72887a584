#include "flaggems/registry/check_scope.h"

#include <omp.h>

namespace flaggems {
namespace {

// The mark of a thread inside the checker. It has to reach the workers of the
// parallel loops that a reference starts, and torch hands them no thread-local
// state. OpenMP does: workers inherit the control variables of the thread that
// starts them (OpenMP 5.0, section 2.5.3), and this one has no other use in a
// program without offloading.
constexpr int kInside = 0x466c6147;

}  // namespace

CheckScope::CheckScope() noexcept : outer_(omp_get_default_device()) {
  omp_set_default_device(kInside);
}
CheckScope::~CheckScope() { omp_set_default_device(outer_); }
bool CheckScope::active() noexcept {
  return omp_get_default_device() == kInside;
}

}  // namespace flaggems
