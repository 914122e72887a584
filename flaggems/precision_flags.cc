#include "flaggems/precision_flags.h"

#include "flaggems/config/flags.h"
#include "flaggems/core/status_macros.h"
#include "flaggems/precision.h"

namespace flaggems {

absl::Status EnablePrecisionCheckFromFlags() {
  FG_ASSIGN_OR_RETURN(const bool enabled, PrecisionCheckFromFlags());
  if (!enabled) return absl::OkStatus();
  FG_ASSIGN_OR_RETURN(const PrecisionOptions options, OptionsFromFlags());
  return EnablePrecisionCheck(options);
}

}  // namespace flaggems
