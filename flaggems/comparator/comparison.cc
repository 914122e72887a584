#include "flaggems/comparator/comparison.h"

#include <cmath>
#include <limits>

#include "flaggems/comparator/ulp_error.h"

namespace flaggems {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

}  // namespace

Comparison Finish(const PartialComparison& all) {
  Comparison result;
  result.numel = all.numel;
  result.value_mismatches = all.value_mismatches;
  result.special_mismatches = all.special_mismatches;
  result.want_nans = all.want_nans;
  result.flushed = all.flushed;
  result.finite_numbers = all.finite_numbers;
  if (all.finite_numbers > 0) {
    const auto count = static_cast<double>(all.finite_numbers);
    result.mean_error_ulps =
        static_cast<double>(all.ulp_errors) / count * kUlpErrorUnit;
    result.rms_error_ulps =
        std::sqrt(static_cast<double>(all.ulp_error_squares) / count) *
        kUlpErrorUnit;
  }
  if (all.special_mismatches > 0) {
    result.max_abs_diff = all.nan_mismatch ? kNan : kInfinity;
    result.max_rel_diff = result.max_abs_diff;
    result.score = kInfinity;
    result.worst = all.first_special;
  } else {
    result.max_abs_diff = all.max_abs_diff;
    result.max_rel_diff = all.max_rel_diff;
    result.score = all.score;
    result.worst = all.worst_score;
  }

  if (all.numel == 0) {
    result.verdict = Verdict::kUntrustedEmpty;
  } else if (all.special_mismatches > 0) {
    result.verdict = Verdict::kFailSpecial;
  } else if (all.value_mismatches > 0) {
    result.verdict = Verdict::kFailValue;
  } else if (all.want_nans == all.numel) {
    result.verdict = Verdict::kUntrustedAllNan;
  }
  return result;
}

Comparison ShapeMismatch(int64_t want_numel) {
  Comparison result;
  result.verdict = Verdict::kFailShape;
  result.numel = want_numel;
  result.max_abs_diff = kNan;
  result.max_rel_diff = kNan;
  result.mean_error_ulps = kNan;
  result.rms_error_ulps = kNan;
  result.score = kInfinity;
  return result;
}

}  // namespace flaggems
