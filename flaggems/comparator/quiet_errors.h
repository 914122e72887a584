#ifndef FLAGGEMS_COMPARATOR_QUIET_ERRORS_H_
#define FLAGGEMS_COMPARATOR_QUIET_ERRORS_H_

// Bounds below which an error changes no statistics: the first look of a walk
// over elements, without a division. Compiled without contraction: the bounds
// and the rule must round alike.

#include <cmath>

#include "flaggems/comparator/comparison.h"
#include "flaggems/comparator/element_rule.h"
#include "flaggems/core/host_device.h"

namespace flaggems {
namespace internal_rule {

// Below this a factor of a bound may underflow: the bound is then 0, which only
// sends more elements to the second look.
inline constexpr double kQuietTiny = 1e-260;

// The bounds that every rule has on the error of an element with |want| = a:
// not more than `abs` and `rel_slope * a + rel_base`. An error within them
// raises neither max_abs_diff nor max_rel_diff.
struct QuietErrors {
  double abs = 0;
  double rel_slope = 0;
  double rel_base = 0;

  FG_HOST_DEVICE explicit QuietErrors(const PartialComparison& stats)
      // Finite always: a difference that is Inf or NaN is never quiet.
      : abs(std::fmin(stats.max_abs_diff, kMaxDouble)) {
    if (stats.max_rel_diff > kMaxDouble) {
      rel_base = kMaxDouble;
    } else if (stats.max_rel_diff > kQuietTiny) {
      rel_slope = stats.max_rel_diff * kLowered;
      rel_base = stats.max_rel_diff * kRelFloor * kLowered;
    }
  }
};

// The share of its limit that the error of a quiet element may have: that of
// the worst so far, and above 1 every element counts, because it is a mismatch.
FG_HOST_DEVICE inline double QuietScore(const PartialComparison& stats) {
  const double score = std::fmin(stats.score, 1.0);
  return score > kQuietTiny ? score * kLowered : 0;
}

}  // namespace internal_rule
}  // namespace flaggems

#endif  // FLAGGEMS_COMPARATOR_QUIET_ERRORS_H_
