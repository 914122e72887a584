#ifndef FLAGGEMS_JUDGE_DESCRIBE_COMPARISON_H_
#define FLAGGEMS_JUDGE_DESCRIBE_COMPARISON_H_

// From numbers to a judgement.

#include <ATen/core/Tensor.h>

#include "flaggems/comparator/comparison.h"
#include "flaggems/judge/judgement.h"

namespace flaggems {

// The judgement that a comparison of these two host tensors is, with the index
// and the text of the worst element.
Judgement DescribeComparison(const Comparison& comparison,
                             const at::Tensor& got, const at::Tensor& want);

}  // namespace flaggems

#endif  // FLAGGEMS_JUDGE_DESCRIBE_COMPARISON_H_
