#include "flaggems/comparator/comparison.h"

#include <algorithm>
#include <limits>

namespace flaggems {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

// The lower of two positions, of which -1 is none.
int64_t First(int64_t a, int64_t b) {
  if (a < 0) return b;
  if (b < 0) return a;
  return std::min(a, b);
}

}  // namespace

PartialComparison Merge(const PartialComparison& a,
                        const PartialComparison& b) {
  PartialComparison joined;
  joined.numel = a.numel + b.numel;
  joined.value_mismatches = a.value_mismatches + b.value_mismatches;
  joined.special_mismatches = a.special_mismatches + b.special_mismatches;
  joined.want_nans = a.want_nans + b.want_nans;
  joined.flushed = a.flushed + b.flushed;
  joined.nan_mismatch = a.nan_mismatch || b.nan_mismatch;
  joined.max_abs_diff = std::max(a.max_abs_diff, b.max_abs_diff);
  joined.max_rel_diff = std::max(a.max_rel_diff, b.max_rel_diff);
  joined.score = std::max(a.score, b.score);
  // A part without elements has position -1 and score 0: First() drops it.
  if (a.score == b.score) {
    joined.worst_score = First(a.worst_score, b.worst_score);
  } else {
    joined.worst_score = a.score > b.score ? a.worst_score : b.worst_score;
  }
  joined.first_special = First(a.first_special, b.first_special);
  return joined;
}

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
