// Conformance of the kernels of op_arithmetic.h.

#include "flaggems/kernels/cuda/op_arithmetic.h"

#include <vector>

#include "flaggems/kernels/testing/binary_cases.h"
#include "flaggems/kernels/testing/conformance.h"
#include "flaggems/kernels/testing/joined.h"
#include "flaggems/kernels/testing/pointwise_cases.h"

namespace flaggems {
namespace kernels {
namespace testing {
namespace {

std::vector<Kernel> Kernels() {
  return {
      KernelOf<&cuda::add>("aten::add.Tensor"),
      KernelOf<&cuda::add_>("aten::add_.Tensor"),
      KernelOf<&cuda::add_out>("aten::add.out"),
      KernelOf<&cuda::sub>("aten::sub.Tensor"),
      KernelOf<&cuda::sub_>("aten::sub_.Tensor"),
      KernelOf<&cuda::sub_out>("aten::sub.out"),
      KernelOf<&cuda::mul>("aten::mul.Tensor"),
      KernelOf<&cuda::mul_>("aten::mul_.Tensor"),
      KernelOf<&cuda::mul_out>("aten::mul.out"),
      KernelOf<&cuda::div>("aten::div.Tensor"),
      KernelOf<&cuda::div_>("aten::div_.Tensor"),
      KernelOf<&cuda::div_out>("aten::div.out"),
      KernelOf<&cuda::rsub>("aten::rsub.Tensor"),
      KernelOf<&cuda::div_mode>("aten::div.Tensor_mode"),
      KernelOf<&cuda::div_mode_>("aten::div_.Tensor_mode"),
      KernelOf<&cuda::div_mode_out>("aten::div.out_mode"),
      KernelOf<&cuda::floor_divide>("aten::floor_divide"),
      KernelOf<&cuda::floor_divide_>("aten::floor_divide_.Tensor"),
      KernelOf<&cuda::floor_divide_out>("aten::floor_divide.out"),
  };
}

INSTANTIATE_TEST_SUITE_P(Arithmetic, ConformanceTest,
                         ::testing::ValuesIn(CasesOf(
                             Kernels(),
                             Joined({ArithmeticOperators(), BinaryOperators()}),
                             at::kCUDA)),
                         NameOf);

}  // namespace
}  // namespace testing
}  // namespace kernels
}  // namespace flaggems
