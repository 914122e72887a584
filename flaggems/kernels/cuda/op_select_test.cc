// Conformance of the kernels of op_select.h.

#include "flaggems/kernels/cuda/op_select.h"

#include <vector>

#include "flaggems/kernels/testing/conformance.h"
#include "flaggems/kernels/testing/joined.h"
#include "flaggems/kernels/testing/pointwise_cases.h"
#include "flaggems/kernels/testing/select_cases.h"

namespace flaggems {
namespace kernels {
namespace testing {
namespace {

std::vector<Kernel> Kernels() {
  return {
      KernelOf<&cuda::where>("aten::where.self"),
      KernelOf<&cuda::where_out>("aten::where.self_out"),
      KernelOf<&cuda::masked_fill>("aten::masked_fill.Scalar"),
      KernelOf<&cuda::masked_fill_>("aten::masked_fill_.Scalar"),
      KernelOf<&cuda::masked_fill_tensor>("aten::masked_fill.Tensor"),
      KernelOf<&cuda::masked_fill_tensor_>("aten::masked_fill_.Tensor"),
      KernelOf<&cuda::fill_>("aten::fill_.Scalar"),
      KernelOf<&cuda::fill_tensor_>("aten::fill_.Tensor"),
  };
}

INSTANTIATE_TEST_SUITE_P(
    Select, ConformanceTest,
    ::testing::ValuesIn(CasesOf(Kernels(),
                                Joined({FillOperators(), SelectOperators()}),
                                at::kCUDA)),
    NameOf);

}  // namespace
}  // namespace testing
}  // namespace kernels
}  // namespace flaggems
