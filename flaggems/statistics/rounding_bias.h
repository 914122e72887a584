#ifndef FLAGGEMS_STATISTICS_ROUNDING_BIAS_H_
#define FLAGGEMS_STATISTICS_ROUNDING_BIAS_H_

// Errors too small for one call to show, found over many calls.

#include <cstdint>
#include <optional>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_set.h"
#include "absl/types/span.h"
#include "flaggems/comparator/ulp.h"
#include "flaggems/core/mutex.h"

namespace flaggems {

// What one output element says about how a kernel rounds.
struct RoundingStep {
  double want = 0;  // the unrounded reference
  // How many steps of the output's format the result is above the correctly
  // rounded reference; 0 if it is the same value.
  double steps = 0;
  // An upper bound of the probability that a right kernel gives anything but
  // the correctly rounded reference.
  double flip_probability = 0;
};

// A right kernel computes in a wider type, with an error of at most
// `arithmetic_error` (>= 0, value units), and rounds once. So its result is
// another than the correctly rounded reference only if `want` lies that close
// to the middle between two values of `format`. Where `want` lies between them
// is chance, uniform in good approximation for the formats of 16 bits and
// fewer, so that happens with a probability of at most
// min(1, 2 arithmetic_error / ulp).
//
// nullopt where that reasoning does not hold: `got` or `want` not finite,
// beyond the format's normal numbers, or `want` in the very middle (within
// 2^-20 ulp: structured data, such as sums of a few numbers of the format, are
// there more often than by chance).
std::optional<RoundingStep> RoundingStepOf(double got, double want,
                                           double arithmetic_error,
                                           const FloatFormat& format);

// RoundingBias
//
// Judges one operator by the elements of all its calls: a kernel that is wrong
// by a fraction of an ulp, a mean over n - 1 instead of n say, rounds the wrong
// way more often than a right one may, and always to the same side.
//
// Elements that are nearly equal are not independent: data that repeat would
// let one unlucky value count a million times. So of all elements whose `want`
// agrees in its 14 leading fraction bits (1/128 ulp of bfloat16, 1/16 of
// float16) only the first counts. At most 65,536 are counted; after that
// nothing more is.
//
// The flips to one side are independent events whose probabilities sum to at
// most the sum of flip_probability. Significant is a number of them that has a
// probability below 1e-9 (PoissonUpper()), and at least 8: what lies in a
// handful of cells is not spread by chance.
//
// Memory: at most about 1 MiB. Cost of an element: one hash lookup; none when
// full. Thread-safe.
class RoundingBias {
 public:
  static constexpr int64_t kMaxElements = 65536;
  static constexpr int64_t kMinFlips = 8;
  static constexpr double kSignificance = 1e-9;

  struct Summary {
    int64_t counted = 0;
    double expected_flips = 0;  // at most, of a right kernel
    int64_t ups = 0;            // results above the correctly rounded reference
    int64_t downs = 0;          // below
    double mean_ulps = 0;       // the mean of `steps`; 0 without elements
    double p_value = 1;         // of the side with more flips
    bool significant = false;
  };

  // The elements of one call.
  void Add(absl::Span<const RoundingStep> steps);
  Summary summary() const;
  // True for exactly one caller: the one that reports the operator.
  bool MarkReported();
  // As new.
  void Reset();

 private:
  mutable Mutex mutex_;
  absl::flat_hash_set<uint32_t> seen_ ABSL_GUARDED_BY(mutex_);
  double expected_flips_ ABSL_GUARDED_BY(mutex_) = 0;
  double sum_steps_ ABSL_GUARDED_BY(mutex_) = 0;
  int64_t ups_ ABSL_GUARDED_BY(mutex_) = 0;
  int64_t downs_ ABSL_GUARDED_BY(mutex_) = 0;
  bool reported_ ABSL_GUARDED_BY(mutex_) = false;
};

}  // namespace flaggems

#endif  // FLAGGEMS_STATISTICS_ROUNDING_BIAS_H_
