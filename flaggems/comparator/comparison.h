#ifndef FLAGGEMS_COMPARATOR_COMPARISON_H_
#define FLAGGEMS_COMPARATOR_COMPARISON_H_

// What a comparison found: of a part of the elements, and of all of them.

#include <cstdint>

#include "flaggems/core/host_device.h"
#include "flaggems/core/verdict.h"

namespace flaggems {

// What one pass over two arrays found. Fixed size: a comparison allocates
// nothing.
struct Comparison {
  // kPass, kFailValue, kFailSpecial, kFailShape or kUntrusted*. With elements
  // of both kinds, special wins: its reason is the more specific one.
  Verdict verdict = Verdict::kPass;

  int64_t numel = 0;               // of `want` where the shapes differ
  int64_t value_mismatches = 0;    // finite pairs beyond the tolerance
  int64_t special_mismatches = 0;  // pairs of different class or sign of Inf
  int64_t want_nans = 0;           // elements where the reference is NaN

  // Over finite pairs max |got - want| and |got - want| / (|want| + 1e-12).
  // After a special mismatch NaN if a NaN stands against something else, else
  // Inf. Inf also where the difference of two finite doubles overflows. NaN
  // after kFailShape.
  double max_abs_diff = 0;
  double max_rel_diff = 0;

  // max |got - want| / (the error that the tolerance allows) over finite pairs,
  // 0 for an error of 0, Inf for a
  // special mismatch, for unequal integers, where the tolerance is 0 and the
  // error is not, and after kFailShape.
  double score = 0;

  // The mean of got - want and the square root of the mean of (got - want)^2,
  // both in spacings of got's dtype at `want` (ulp.h), over the pairs of finite
  // floating numbers; the two parts of a complex number are two. An error is
  // clamped to +-65,536 spacings and rounded to 1/1,024 of one (ulp_error.h). 0
  // without such a pair, as of integers; NaN after kFailShape.
  double mean_error_ulps = 0;
  double rms_error_ulps = 0;
  int64_t finite_numbers = 0;  // pairs that these two are of

  // Elements that agree only because subnormal results may be flushed to zero;
  // 0 where no tolerance allows that (see budget.h).
  int64_t flushed = 0;

  // Row-major position of the worst element: the first special mismatch, else
  // the element with the highest score (the first of equals); -1 without
  // elements to compare.
  int64_t worst = -1;
};

// Holds sums of 2^40 errors, and of their squares.
__extension__ typedef __int128 Int128;

// The same of a subset of the elements, in a form that can be joined.
struct PartialComparison {
  int64_t numel = 0;
  int64_t value_mismatches = 0;
  int64_t special_mismatches = 0;
  int64_t want_nans = 0;
  bool nan_mismatch = false;  // a special mismatch with one NaN

  // Over pairs of finite elements only, hence never NaN.
  double max_abs_diff = 0;
  double max_rel_diff = 0;
  double score = 0;

  int64_t worst_score = -1;    // position of `score`, the lowest of equals
  int64_t first_special = -1;  // lowest position of a special mismatch

  int64_t flushed = 0;

  // Pairs of finite floating numbers; of a complex number each part counts.
  int64_t finite_numbers = 0;
  // Of them, the sum of the errors in units of kUlpErrorUnit spacings
  // (ulp_error.h), and the sum of the squares of those integers.
  Int128 ulp_errors = 0;
  Int128 ulp_error_squares = 0;
};

namespace internal_comparison {

// The lower of two positions, of which -1 is none.
FG_HOST_DEVICE inline int64_t First(int64_t a, int64_t b) {
  if (a < 0) return b;
  if (b < 0) return a;
  return a < b ? a : b;
}

FG_HOST_DEVICE inline double Larger(double a, double b) {
  return a < b ? b : a;
}

}  // namespace internal_comparison

// Joins what was found in two disjoint sets of positions. Associative and
// commutative to the bit: how the elements were cut up and in which order the
// parts finished does not show.
FG_HOST_DEVICE inline PartialComparison Merge(const PartialComparison& a,
                                              const PartialComparison& b) {
  PartialComparison joined;
  joined.numel = a.numel + b.numel;
  joined.value_mismatches = a.value_mismatches + b.value_mismatches;
  joined.special_mismatches = a.special_mismatches + b.special_mismatches;
  joined.want_nans = a.want_nans + b.want_nans;
  joined.flushed = a.flushed + b.flushed;
  joined.finite_numbers = a.finite_numbers + b.finite_numbers;
  joined.ulp_errors = a.ulp_errors + b.ulp_errors;
  joined.ulp_error_squares = a.ulp_error_squares + b.ulp_error_squares;
  joined.nan_mismatch = a.nan_mismatch || b.nan_mismatch;
  joined.max_abs_diff =
      internal_comparison::Larger(a.max_abs_diff, b.max_abs_diff);
  joined.max_rel_diff =
      internal_comparison::Larger(a.max_rel_diff, b.max_rel_diff);
  joined.score = internal_comparison::Larger(a.score, b.score);
  // A part without elements has position -1 and score 0: First() drops it.
  if (a.score == b.score) {
    joined.worst_score =
        internal_comparison::First(a.worst_score, b.worst_score);
  } else {
    joined.worst_score = a.score > b.score ? a.worst_score : b.worst_score;
  }
  joined.first_special =
      internal_comparison::First(a.first_special, b.first_special);
  return joined;
}

// The verdict on all elements.
Comparison Finish(const PartialComparison& all);

// The result for arrays of different shapes.
Comparison ShapeMismatch(int64_t want_numel);

}  // namespace flaggems

#endif  // FLAGGEMS_COMPARATOR_COMPARISON_H_
