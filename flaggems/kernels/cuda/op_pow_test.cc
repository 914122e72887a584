// Conformance of the kernels of op_pow.h.

#include "flaggems/kernels/cuda/op_pow.h"

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
      KernelOf<&cuda::pow>("aten::pow.Tensor_Scalar"),
      KernelOf<&cuda::pow_>("aten::pow_.Scalar"),
      KernelOf<&cuda::pow_out>("aten::pow.Tensor_Scalar_out"),
      KernelOf<&cuda::pow_tensor>("aten::pow.Tensor_Tensor"),
      KernelOf<&cuda::pow_tensor_>("aten::pow_.Tensor"),
      KernelOf<&cuda::pow_tensor_out>("aten::pow.Tensor_Tensor_out"),
      KernelOf<&cuda::pow_of_scalar>("aten::pow.Scalar"),
      KernelOf<&cuda::pow_of_scalar_out>("aten::pow.Scalar_out"),
  };
}

INSTANTIATE_TEST_SUITE_P(Pow, ConformanceTest,
                         ::testing::ValuesIn(CasesOf(Kernels(),
                                                     Joined({PowOperators(),
                                                             UnaryOperators()}),
                                                     at::kCUDA)),
                         NameOf);

}  // namespace
}  // namespace testing
}  // namespace kernels
}  // namespace flaggems
