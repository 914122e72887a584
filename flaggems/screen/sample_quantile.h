#ifndef FLAGGEMS_SCREEN_SAMPLE_QUANTILE_H_
#define FLAGGEMS_SCREEN_SAMPLE_QUANTILE_H_

// The arithmetic of LaunchConditions() (conditions_launch.h), which host
// and device share.

#include <cmath>
#include <cstdint>

#include "flaggems/core/host_device.h"
#include "flaggems/core/split_mix.h"
#include "flaggems/screen/conditions_formula.h"

namespace flaggems {

// What there is a quantile of; the order is that in memory.
enum class SampledValue : int { kChange, kChanged, kRatio };
inline constexpr int kSampledValues = 3;

struct Quantiles {
  double change = 0;
  double changed = 0;
  double ratio = 0;
};

// Elements that are looked at, of n. One alone has no quantile.
FG_HOST_DEVICE inline int64_t SampleSize(int64_t n) {
  if (n < 2) return 0;
  return n < kConditionsSample ? n : kConditionsSample;
}

// Of the i-th of them.
FG_HOST_DEVICE inline int64_t SamplePosition(int64_t n, int64_t i) {
  if (n <= kConditionsSample) return i;
  // begin(i) = i * n / kConditionsSample, without a product that may overflow.
  const auto begin = [n](int64_t part) {
    return part * (n / kConditionsSample) +
           part * (n % kConditionsSample) / kConditionsSample;
  };
  const int64_t first = begin(i);
  return first +
         static_cast<int64_t>(SplitMix(static_cast<uint64_t>(i)) %
                              static_cast<uint64_t>(begin(i + 1) - first));
}

// Whether an element with |want| = w and the effect p has such a value, and
// which.
FG_HOST_DEVICE inline bool ValueOfSample(SampledValue which, bool pointwise,
                                         double w, double p, double* value) {
  if (!std::isfinite(w) || !std::isfinite(p)) return false;
  switch (which) {
    case SampledValue::kChange:
      *value = p;
      return !pointwise;
    case SampledValue::kChanged:
      *value = p;
      return !pointwise && p > 0;
    case SampledValue::kRatio:
      *value = w > 0 ? p / w : 0;
      return w > 0;
  }
  return false;
}

// Of the quantile among `count` values in rising order; count > 0.
FG_HOST_DEVICE inline int QuantileRank(int count) {
  return static_cast<int>(kConditionsQuantile * count);
}

FG_HOST_DEVICE inline double ConditionOf(const ConditionsFormula& formula,
                                         const Quantiles& quantiles, double w,
                                         double p) {
  // The left one where the right one is NaN.
  const auto larger = [](double a, double b) { return a < b ? b : a; };
  const double floor =
      larger(p > 0 ? quantiles.changed : quantiles.change, w * quantiles.ratio);
  const double change = (p > floor ? p : floor) * formula.scale;
  return w + larger(change, formula.underflow) / formula.unit_roundoff;
}

}  // namespace flaggems

#endif  // FLAGGEMS_SCREEN_SAMPLE_QUANTILE_H_
