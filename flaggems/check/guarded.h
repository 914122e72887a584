#ifndef FLAGGEMS_CHECK_GUARDED_H_
#define FLAGGEMS_CHECK_GUARDED_H_

#include "flaggems/registry/check_scope.h"

namespace flaggems {

// Runs a part of the check as the checker; nothing it throws reaches the user's
// program. False if it threw: parts turn errors into verdicts themselves, so
// what is left is a failed allocation of the bookkeeping.
template <typename Part>
bool Guarded(Part&& part) noexcept {
  try {
    const CheckScope scope;
    part();
    return true;
  } catch (...) {
    return false;
  }
}

}  // namespace flaggems

#endif  // FLAGGEMS_CHECK_GUARDED_H_
