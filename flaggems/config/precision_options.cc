#include "flaggems/config/precision_options.h"

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "flaggems/config/options_table.h"
#include "flaggems/core/status_macros.h"

namespace flaggems {

PrecisionOptions PrecisionOptions::Original() { return {}; }

PrecisionOptions PrecisionOptions::Strict() {
  PrecisionOptions options;
  options.profile = "strict";
  options.tolerance = ToleranceModel::kBudget;
  options.reference_dtype = ReferenceDtype::kDouble;
  options.throttle = Throttle::kSpread;
  options.max_checks = 16;
  options.max_numel = 0;
  options.memory_mb = 4096;
  options.poison = true;
  options.log_once = false;
  return options;
}

absl::Status PrecisionOptions::Validate() const {
  for (const OptionField& field : OptionFields()) {
    FG_RETURN_IF_ERROR(ValidateField(field, *this));
  }
  if (tolerance == ToleranceModel::kBudget &&
      reference_dtype != ReferenceDtype::kDouble) {
    return absl::InvalidArgumentError(
        "tolerance is \"budget\" and reference_dtype is \"same\": a budget "
        "judges against a float64 reference; set reference_dtype to double, or "
        "tolerance to fixed (profile strict has budget and double)");
  }
  if (tolerance == ToleranceModel::kFixed &&
      reference_dtype != ReferenceDtype::kSame) {
    return absl::InvalidArgumentError(
        "tolerance is \"fixed\" and reference_dtype is \"double\": fixed "
        "tolerances compare with the native kernel in the call's own types; "
        "set reference_dtype to same, or tolerance to budget");
  }
  if (tolerance == ToleranceModel::kFixed &&
      reference != ReferencePlace::kCpu) {
    return absl::InvalidArgumentError(absl::StrCat(
        "tolerance is \"fixed\" and reference is \"",
        reference == ReferencePlace::kAuto ? "auto" : "device",
        "\": fixed tolerances are judged on the CPU alone; set reference to "
        "cpu, or tolerance to budget and reference_dtype to double (profile "
        "strict has both)"));
  }
  if (tolerance == ToleranceModel::kFixed && !policy_file.empty()) {
    return absl::InvalidArgumentError(absl::StrCat(
        "tolerance is \"fixed\" and policy_file is \"", policy_file,
        "\": its rows are error budgets, which fixed tolerances do not use; "
        "leave policy_file out, or set tolerance to budget and reference_dtype "
        "to double (profile strict has both)"));
  }
  return absl::OkStatus();
}

}  // namespace flaggems
