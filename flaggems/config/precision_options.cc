#include "flaggems/config/precision_options.h"

#include "absl/status/status.h"
#include "flaggems/config/options_table.h"
#include "flaggems/core/status_macros.h"

namespace flaggems {

PrecisionOptions PrecisionOptions::Original() { return {}; }

absl::Status PrecisionOptions::Validate() const {
  for (const OptionField& field : OptionFields()) {
    FG_RETURN_IF_ERROR(ValidateField(field, *this));
  }
  return absl::OkStatus();
}

}  // namespace flaggems
