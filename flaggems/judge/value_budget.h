#ifndef FLAGGEMS_JUDGE_VALUE_BUDGET_H_
#define FLAGGEMS_JUDGE_VALUE_BUDGET_H_

// The error budget of one result of a call, as far as dtypes, shapes and the
// operator's row say it: what is left open is the condition, which needs the
// elements. Formulas and measured constants: docs/tolerance.md.

#include <ATen/core/Tensor.h>
#include <c10/core/ScalarType.h>

#include <optional>

#include "flaggems/comparator/budget.h"
#include "flaggems/judge/kernel_call.h"

namespace flaggems {

// Unit roundoff of the type that a kernel accumulates in.
double UnitRoundoff(c10::ScalarType type);
// Float16, bfloat16, float8.
bool IsReducedPrecision(c10::ScalarType type);
// The largest unit roundoff among the types of the arguments; that of a result
// of type `got` without floating arguments.
double InputRoundoff(const KernelCall& call, c10::ScalarType got);

// All but the condition. Looks at dtype and sizes of `got`, not at elements.
// `wide_is_native`: the reference has the roundings of a kernel of this dtype.
Budget BaseBudget(const KernelCall& call, const at::Tensor& got,
                  bool wide_is_native);

// What the rounding of the output and two of the arithmetic explain: a result
// within it needs no condition.
Budget QuickBudget(const KernelCall& call, const Budget& base);

// How the condition of a class that is measured is made: C = |want| + P / u,
// where P is the largest change of the element over `draws` float64 runs whose
// inputs were changed by `step`, times `scale`, but at least `underflow`.
struct Measurement {
  double step = 0;
  double scale = 1;
  double underflow = 0;
  int draws = 0;
  bool pointwise = false;  // elements depend on elements of their own alone
};
Measurement MeasurementOf(const KernelCall& call, const at::Tensor& got,
                          const Budget& base);

// What torch's own kernel of this operator may lose by rounding in between, as
// a multiple of the condition; 0: nothing.
double NativeLoss(const KernelCall& call, const at::Tensor& got,
                  const Budget& base);
// Whether that loss is allowed to the kernel under test: it is torch's own, or
// every kernel of the operator has it.
bool MayLoseAsNative(const KernelCall& call);

}  // namespace flaggems

#endif  // FLAGGEMS_JUDGE_VALUE_BUDGET_H_
