#ifndef FLAGGEMS_JUDGE_FOLDED_NORM_H_
#define FLAGGEMS_JUDGE_FOLDED_NORM_H_

#include <ATen/core/Tensor.h>

#include <optional>

#include "absl/types/span.h"
#include "flaggems/judge/flat_values.h"
#include "flaggems/judge/kernel_call.h"

namespace flaggems {

// Of a layer, group or batch norm (with statistics of its own) over few
// elements: |x| r |w| of each element, r the reciprocal deviation of its group,
// in float64 and of the sizes of x. A kernel that computes x * (w r) + (b -
// mean * (w r)), as torch's do, rounds terms of this size. Of many elements a
// change of x shows them, of few it need not: over one the result is b whatever
// x is, over two about b +- w. `wide`: the results of the call in float64.
// nullopt: no such call. Costs a pass over x. Of arguments on the host.
std::optional<at::Tensor> FoldedNormTerms(const KernelCall& call,
                                          absl::Span<const FlatValue> wide);

}  // namespace flaggems

#endif  // FLAGGEMS_JUDGE_FOLDED_NORM_H_
