#ifndef FLAGGEMS_CONFIG_FLAGS_H_
#define FLAGGEMS_CONFIG_FLAGS_H_

// absl flags of the precision check: --precision_check, and --precision_<field>
// for each field of PrecisionOptions (docs/flags.md). Linking this library
// registers them; --flagfile is abseil's.

#include <string>

#include "absl/status/statusor.h"
#include "flaggems/config/precision_options.h"

namespace flaggems {

// Flag, else environment (FLAGGEMS_PRECISION_<FIELD>), else `base`: the profile
// first, then single fields on top. An empty value counts as none
// given. kInvalidArgument names the flag or variable, its text and what is
// allowed. Call it after absl::ParseCommandLine().
absl::StatusOr<PrecisionOptions> OptionsFromFlags(
    const PrecisionOptions& base = {});

// --precision_check, else FLAGGEMS_PRECISION_CHECK, else false.
absl::StatusOr<bool> PrecisionCheckFromFlags();

}  // namespace flaggems

#endif  // FLAGGEMS_CONFIG_FLAGS_H_
