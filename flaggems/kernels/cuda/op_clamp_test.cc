// Conformance of the kernels of op_clamp.h.

#include "flaggems/kernels/cuda/op_clamp.h"

#include <vector>

#include "flaggems/kernels/testing/conformance.h"
#include "flaggems/kernels/testing/joined.h"
#include "flaggems/kernels/testing/pointwise_cases.h"
#include "flaggems/kernels/testing/unary_cases.h"

namespace flaggems {
namespace kernels {
namespace testing {
namespace {

std::vector<Kernel> Kernels() {
  return {
      KernelOf<&cuda::maximum>("aten::maximum"),
      KernelOf<&cuda::maximum_out>("aten::maximum.out"),
      KernelOf<&cuda::minimum>("aten::minimum"),
      KernelOf<&cuda::minimum_out>("aten::minimum.out"),
      KernelOf<&cuda::relu>("aten::relu"),
      KernelOf<&cuda::relu_>("aten::relu_"),
      KernelOf<&cuda::clamp>("aten::clamp"),
      KernelOf<&cuda::clamp_>("aten::clamp_"),
      KernelOf<&cuda::clamp_out>("aten::clamp.out"),
      KernelOf<&cuda::clamp_tensor>("aten::clamp.Tensor"),
      KernelOf<&cuda::clamp_tensor_>("aten::clamp_.Tensor"),
      KernelOf<&cuda::clamp_tensor_out>("aten::clamp.Tensor_out"),
      KernelOf<&cuda::clamp_min>("aten::clamp_min"),
      KernelOf<&cuda::clamp_min_>("aten::clamp_min_"),
      KernelOf<&cuda::clamp_min_out>("aten::clamp_min.out"),
      KernelOf<&cuda::clamp_min_tensor>("aten::clamp_min.Tensor"),
      KernelOf<&cuda::clamp_min_tensor_>("aten::clamp_min_.Tensor"),
      KernelOf<&cuda::clamp_min_tensor_out>("aten::clamp_min.Tensor_out"),
      KernelOf<&cuda::clamp_max>("aten::clamp_max"),
      KernelOf<&cuda::clamp_max_>("aten::clamp_max_"),
      KernelOf<&cuda::clamp_max_out>("aten::clamp_max.out"),
      KernelOf<&cuda::clamp_max_tensor>("aten::clamp_max.Tensor"),
      KernelOf<&cuda::clamp_max_tensor_>("aten::clamp_max_.Tensor"),
      KernelOf<&cuda::clamp_max_tensor_out>("aten::clamp_max.Tensor_out"),
  };
}

INSTANTIATE_TEST_SUITE_P(Clamp, ConformanceTest,
                         ::testing::ValuesIn(CasesOf(Kernels(),
                                                     Joined({ClampOperators(),
                                                             UnaryOperators()}),
                                                     at::kCUDA)),
                         NameOf);

}  // namespace
}  // namespace testing
}  // namespace kernels
}  // namespace flaggems
