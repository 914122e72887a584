// Conformance of the softmax family.

#include "flaggems/kernels/cuda/op_softmax.h"

#include <vector>

#include "flaggems/kernels/testing/conformance.h"
#include "flaggems/kernels/testing/joined.h"
#include "flaggems/kernels/testing/softmax_cases.h"
#include "flaggems/kernels/testing/softmax_rows_cases.h"

namespace flaggems {
namespace kernels {
namespace testing {
namespace {

// The kernels of a GPU, native or ours, round the sum of the exponentials,
// which is at least 1, to float before they take its logarithm: a few roundings
// of numbers of about 1 each, however close to 0 the result is.
std::vector<Operator> WithRoundedSums(std::vector<Operator> operators) {
  for (Operator& op : operators) {
    if (op.schema == "aten::_log_softmax" ||
        op.schema == "aten::_log_softmax.out") {
      op.bound.least_condition = 0.25;
    }
  }
  return operators;
}

INSTANTIATE_TEST_SUITE_P(
    Softmax, ConformanceTest,
    ::testing::ValuesIn(CasesOf(
        {KernelOf<&cuda::softmax>("aten::_softmax"),
         KernelOf<&cuda::softmax_out>("aten::_softmax.out"),
         KernelOf<&cuda::log_softmax>("aten::_log_softmax"),
         KernelOf<&cuda::log_softmax_out>("aten::_log_softmax.out"),
         KernelOf<&cuda::softmax_backward_data>("aten::_softmax_backward_data"),
         KernelOf<&cuda::softmax_backward_data_out>(
             "aten::_softmax_backward_data.out"),
         KernelOf<&cuda::log_softmax_backward_data>(
             "aten::_log_softmax_backward_data"),
         KernelOf<&cuda::log_softmax_backward_data_out>(
             "aten::_log_softmax_backward_data.out")},
        WithRoundedSums(Joined({SoftmaxOperators(), SoftmaxRowsOperators()})),
        at::kCUDA)),
    NameOf);

}  // namespace
}  // namespace testing
}  // namespace kernels
}  // namespace flaggems
