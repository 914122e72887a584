// Conformance of the kernels of op_unary.h.

#include "flaggems/kernels/cuda/op_unary.h"

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
      KernelOf<&cuda::abs>("aten::abs"),
      KernelOf<&cuda::abs_>("aten::abs_"),
      KernelOf<&cuda::abs_out>("aten::abs.out"),
      KernelOf<&cuda::bitwise_not>("aten::bitwise_not"),
      KernelOf<&cuda::bitwise_not_>("aten::bitwise_not_"),
      KernelOf<&cuda::bitwise_not_out>("aten::bitwise_not.out"),
      KernelOf<&cuda::cos>("aten::cos"),
      KernelOf<&cuda::cos_>("aten::cos_"),
      KernelOf<&cuda::cos_out>("aten::cos.out"),
      KernelOf<&cuda::erf>("aten::erf"),
      KernelOf<&cuda::erf_>("aten::erf_"),
      KernelOf<&cuda::erf_out>("aten::erf.out"),
      KernelOf<&cuda::exp>("aten::exp"),
      KernelOf<&cuda::exp_>("aten::exp_"),
      KernelOf<&cuda::exp_out>("aten::exp.out"),
      KernelOf<&cuda::log>("aten::log"),
      KernelOf<&cuda::log_>("aten::log_"),
      KernelOf<&cuda::log_out>("aten::log.out"),
      KernelOf<&cuda::logical_not>("aten::logical_not"),
      KernelOf<&cuda::logical_not_>("aten::logical_not_"),
      KernelOf<&cuda::logical_not_out>("aten::logical_not.out"),
      KernelOf<&cuda::neg>("aten::neg"),
      KernelOf<&cuda::neg_>("aten::neg_"),
      KernelOf<&cuda::neg_out>("aten::neg.out"),
      KernelOf<&cuda::reciprocal>("aten::reciprocal"),
      KernelOf<&cuda::reciprocal_>("aten::reciprocal_"),
      KernelOf<&cuda::reciprocal_out>("aten::reciprocal.out"),
      KernelOf<&cuda::rsqrt>("aten::rsqrt"),
      KernelOf<&cuda::rsqrt_>("aten::rsqrt_"),
      KernelOf<&cuda::rsqrt_out>("aten::rsqrt.out"),
      KernelOf<&cuda::sigmoid>("aten::sigmoid"),
      KernelOf<&cuda::sigmoid_>("aten::sigmoid_"),
      KernelOf<&cuda::sigmoid_out>("aten::sigmoid.out"),
      KernelOf<&cuda::sin>("aten::sin"),
      KernelOf<&cuda::sin_>("aten::sin_"),
      KernelOf<&cuda::sin_out>("aten::sin.out"),
      KernelOf<&cuda::sqrt>("aten::sqrt"),
      KernelOf<&cuda::sqrt_>("aten::sqrt_"),
      KernelOf<&cuda::sqrt_out>("aten::sqrt.out"),
      KernelOf<&cuda::tanh>("aten::tanh"),
      KernelOf<&cuda::tanh_>("aten::tanh_"),
      KernelOf<&cuda::tanh_out>("aten::tanh.out"),
  };
}

INSTANTIATE_TEST_SUITE_P(
    Unary, ConformanceTest,
    ::testing::ValuesIn(CasesOf(
        Kernels(), Joined({ElementwiseUnaryOperators(), UnaryOperators()}),
        at::kCUDA)),
    NameOf);

}  // namespace
}  // namespace testing
}  // namespace kernels
}  // namespace flaggems
