#include "flaggems/comparator/comparison.h"

#include <limits>

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
  result.score = kInfinity;
  return result;
}

}  // namespace flaggems
