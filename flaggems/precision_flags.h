#ifndef FLAGGEMS_PRECISION_FLAGS_H_
#define FLAGGEMS_PRECISION_FLAGS_H_

// The precision check from absl flags: --precision_check and one
// --precision_<field> for each field of PrecisionOptions (docs/flags.md).

#include "absl/status/status.h"

namespace flaggems {

// Enables the check if --precision_check, or FLAGGEMS_PRECISION_CHECK, says
// so. Each field comes from its flag, else from its environment variable, else
// from the profile. Call it after absl::ParseCommandLine(). Errors as
// EnablePrecisionCheck(), naming the flag or variable.
absl::Status EnablePrecisionCheckFromFlags();

}  // namespace flaggems

#endif  // FLAGGEMS_PRECISION_FLAGS_H_
