#ifndef FLAGGEMS_CONFIG_ENVIRONMENT_H_
#define FLAGGEMS_CONFIG_ENVIRONMENT_H_

// Options from FLAGGEMS_PRECISION_<FIELD>, for programs without flags.

#include <optional>

#include "absl/status/statusor.h"
#include "flaggems/config/options_table.h"
#include "flaggems/config/precision_options.h"

namespace flaggems {

// The field's variable; nullopt if it is not set or empty.
std::optional<SourcedText> FieldFromEnvironment(const OptionField& field);

// `base` with what the environment says on top: the profile first, which
// replaces all of `base`, then single fields. kInvalidArgument names the
// variable, its text and what is allowed.
absl::StatusOr<PrecisionOptions> OptionsFromEnvironment(
    const PrecisionOptions& base = {});

}  // namespace flaggems

#endif  // FLAGGEMS_CONFIG_ENVIRONMENT_H_
