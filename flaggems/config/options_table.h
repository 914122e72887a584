#ifndef FLAGGEMS_CONFIG_OPTIONS_TABLE_H_
#define FLAGGEMS_CONFIG_OPTIONS_TABLE_H_

// Every field of PrecisionOptions, described once: flags, environment,
// docs/flags.md and the messages of Validate() come from here.

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "flaggems/config/precision_options.h"

namespace flaggems {

struct OptionField {
  absl::string_view name;          // "rtol"
  absl::string_view type;          // "float", "int", "bool", "string", "list"
  absl::string_view default_text;  // as `get` prints it
  absl::string_view unit;          // "ratio"; empty without one
  absl::string_view allowed;  // after "must be ": "finite and not negative"
  absl::string_view help;     // one sentence

  // Sets the field from text; kInvalidArgument quotes the text.
  absl::Status (*set)(absl::string_view text, PrecisionOptions* options);
  // The inverse of `set`.
  std::string (*get)(const PrecisionOptions& options);
  // Whether the field's value is what `allowed` says.
  bool (*valid)(const PrecisionOptions& options);

  std::string FlagName() const;         // "precision_rtol"
  std::string EnvironmentName() const;  // "FLAGGEMS_PRECISION_RTOL"
};

// In the order of the struct; "profile" is the first.
absl::Span<const OptionField> OptionFields();

// The names of the profiles that exist.
std::vector<std::string> ProfileNames();

// The options of a named profile; kInvalidArgument names those that exist.
absl::StatusOr<PrecisionOptions> OptionsOfProfile(absl::string_view name);

// kInvalidArgument, "rtol is -1.0; it must be ...", unless the field is valid.
absl::Status ValidateField(const OptionField& field,
                           const PrecisionOptions& options);

// A field's value from outside, and where it stands, for messages.
struct SourcedText {
  std::string source;  // "--precision_rtol", "FLAGGEMS_PRECISION_RTOL"
  std::string text;
};

// `base`, or if "profile" is given the options of that profile, with each
// given field on top. Errors name the source.
absl::StatusOr<PrecisionOptions> ResolveOptions(
    const PrecisionOptions& base,
    const std::function<std::optional<SourcedText>(const OptionField&)>&
        lookup);

}  // namespace flaggems

#endif  // FLAGGEMS_CONFIG_OPTIONS_TABLE_H_
