#ifndef FLAGGEMS_SCREEN_CONDITIONS_FORMULA_H_
#define FLAGGEMS_SCREEN_CONDITIONS_FORMULA_H_

// How a screen makes the conditions of a budget (comparator/budget.h) from
// measured effects.

namespace flaggems {

// C = |want| + P / u, from the effects P (all 0 if no run succeeded), in their
// place. As the full judge makes them, but for three quantiles in place of its
// medians. With w = |want[i]| and p = effect[i]:
//
//   floor      = max(p > 0 ? changed : change, w * ratio)
//   effect[i] := w + max(max(p, floor) * scale, underflow) / unit_roundoff
//
//   change   quantile of p; 0 if pointwise
//   changed  quantile of those p that are not 0; 0 if pointwise
//   ratio    quantile of p / w, where w is not 0
//
// each of the elements whose w and p are finite, in a sample: of
// kConditionsSample equal parts of the array one element each, at a random
// place (the same in every call; a fixed step could be that of a row), or all
// of n if that is less. All three are 0 if n < 2. The quantile of m values is
// the one of rank floor(kConditionsQuantile * m) in rising order, 0 without
// values.
//
// Why not the median: a screen must not accept what the full judge would not,
// and the median of a sample lies above that of the whole as often as below.
// The 0.45 quantile of 1,024 values lies above it with a probability of 7e-4,
// of fewer values more often; where n is up to kConditionsSample, never.
inline constexpr int kConditionsSample = 1024;
inline constexpr double kConditionsQuantile = 0.45;

// The members are those of Measurement (judge/value_budget.h).
struct ConditionsFormula {
  double scale = 1;
  double underflow = 0;
  double unit_roundoff = 0x1p-24;  // the budget's
  bool pointwise = false;  // elements depend on elements of their own alone
};

}  // namespace flaggems

#endif  // FLAGGEMS_SCREEN_CONDITIONS_FORMULA_H_
