// Conformance of the kernels of op_activation.h.

#include "flaggems/kernels/cuda/op_activation.h"

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
      KernelOf<&cuda::gelu>("aten::gelu"),
      KernelOf<&cuda::gelu_>("aten::gelu_"),
      KernelOf<&cuda::gelu_out>("aten::gelu.out"),
      KernelOf<&cuda::leaky_relu>("aten::leaky_relu"),
      KernelOf<&cuda::leaky_relu_>("aten::leaky_relu_"),
      KernelOf<&cuda::leaky_relu_out>("aten::leaky_relu.out"),
      KernelOf<&cuda::silu>("aten::silu"),
      KernelOf<&cuda::silu_>("aten::silu_"),
      KernelOf<&cuda::silu_out>("aten::silu.out"),
      KernelOf<&cuda::softplus>("aten::softplus"),
      KernelOf<&cuda::softplus_out>("aten::softplus.out"),
      KernelOf<&cuda::threshold>("aten::threshold"),
      KernelOf<&cuda::threshold_>("aten::threshold_"),
      KernelOf<&cuda::threshold_out>("aten::threshold.out"),
      KernelOf<&cuda::gelu_backward>("aten::gelu_backward"),
      KernelOf<&cuda::gelu_backward_out>("aten::gelu_backward.grad_input"),
      KernelOf<&cuda::silu_backward>("aten::silu_backward"),
      KernelOf<&cuda::silu_backward_out>("aten::silu_backward.grad_input"),
      KernelOf<&cuda::sigmoid_backward>("aten::sigmoid_backward"),
      KernelOf<&cuda::sigmoid_backward_out>(
          "aten::sigmoid_backward.grad_input"),
      KernelOf<&cuda::tanh_backward>("aten::tanh_backward"),
      KernelOf<&cuda::tanh_backward_out>("aten::tanh_backward.grad_input"),
      KernelOf<&cuda::threshold_backward>("aten::threshold_backward"),
      KernelOf<&cuda::threshold_backward_out>(
          "aten::threshold_backward.grad_input"),
  };
}

INSTANTIATE_TEST_SUITE_P(Activation, ConformanceTest,
                         ::testing::ValuesIn(CasesOf(
                             Kernels(),
                             Joined({ActivationOperators(), UnaryOperators()}),
                             at::kCUDA)),
                         NameOf);

}  // namespace
}  // namespace testing
}  // namespace kernels
}  // namespace flaggems
