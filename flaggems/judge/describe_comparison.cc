#include "flaggems/judge/describe_comparison.h"

#include "flaggems/aten/array_view_of.h"
#include "flaggems/comparator/compare.h"
#include "flaggems/judge/flat_values.h"

namespace flaggems {

Judgement DescribeComparison(const Comparison& comparison,
                             const at::Tensor& got, const at::Tensor& want) {
  Judgement judgement;
  judgement.verdict = comparison.verdict;
  judgement.max_abs_diff = comparison.max_abs_diff;
  judgement.max_rel_diff = comparison.max_rel_diff;
  if (comparison.finite_numbers > 0) {
    judgement.mean_error_ulps = comparison.mean_error_ulps;
    judgement.rms_error_ulps = comparison.rms_error_ulps;
  }
  judgement.score = comparison.score;
  if (comparison.worst >= 0) {
    judgement.worst_index = IndexOf(comparison.worst, want.sizes());
    judgement.got = FormatElement(ArrayViewOf(got), comparison.worst);
    judgement.want = FormatElement(ArrayViewOf(want), comparison.worst);
  }
  return judgement;
}

}  // namespace flaggems
