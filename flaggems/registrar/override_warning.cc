#include "flaggems/registrar/override_warning.h"

#include "absl/strings/match.h"

namespace flaggems {

NoOverrideWarning::NoOverrideWarning() : guard_(&filter_) {}

void NoOverrideWarning::Filter::process(const c10::Warning& warning) {
  if (absl::StrContains(warning.msg(), "Overriding a previously registered")) {
    return;
  }
  c10::WarningHandler::process(warning);
}

}  // namespace flaggems
