#include "flaggems/config/environment.h"

#include <optional>
#include <string>
#include <utility>

#include "absl/status/statusor.h"
#include "flaggems/core/env.h"

namespace flaggems {

std::optional<SourcedText> FieldFromEnvironment(const OptionField& field) {
  std::string name = field.EnvironmentName();
  std::optional<std::string> text = GetEnv(name);
  if (!text.has_value() || text->empty()) return std::nullopt;
  return SourcedText{std::move(name), *std::move(text)};
}

absl::StatusOr<PrecisionOptions> OptionsFromEnvironment(
    const PrecisionOptions& base) {
  return ResolveOptions(base, FieldFromEnvironment);
}

}  // namespace flaggems
