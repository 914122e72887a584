// Conformance of the kernels of op_compare.h.

#include "flaggems/kernels/cuda/op_compare.h"

#include <vector>

#include "flaggems/kernels/testing/conformance.h"
#include "flaggems/kernels/testing/pointwise_cases.h"

namespace flaggems {
namespace kernels {
namespace testing {
namespace {

std::vector<Kernel> Kernels() {
  return {
      KernelOf<&cuda::eq>("aten::eq.Tensor"),
      KernelOf<&cuda::eq_>("aten::eq_.Tensor"),
      KernelOf<&cuda::eq_out>("aten::eq.Tensor_out"),
      KernelOf<&cuda::eq_scalar>("aten::eq.Scalar"),
      KernelOf<&cuda::eq_scalar_>("aten::eq_.Scalar"),
      KernelOf<&cuda::eq_scalar_out>("aten::eq.Scalar_out"),
      KernelOf<&cuda::ne>("aten::ne.Tensor"),
      KernelOf<&cuda::ne_>("aten::ne_.Tensor"),
      KernelOf<&cuda::ne_out>("aten::ne.Tensor_out"),
      KernelOf<&cuda::ne_scalar>("aten::ne.Scalar"),
      KernelOf<&cuda::ne_scalar_>("aten::ne_.Scalar"),
      KernelOf<&cuda::ne_scalar_out>("aten::ne.Scalar_out"),
      KernelOf<&cuda::lt>("aten::lt.Tensor"),
      KernelOf<&cuda::lt_>("aten::lt_.Tensor"),
      KernelOf<&cuda::lt_out>("aten::lt.Tensor_out"),
      KernelOf<&cuda::lt_scalar>("aten::lt.Scalar"),
      KernelOf<&cuda::lt_scalar_>("aten::lt_.Scalar"),
      KernelOf<&cuda::lt_scalar_out>("aten::lt.Scalar_out"),
      KernelOf<&cuda::le>("aten::le.Tensor"),
      KernelOf<&cuda::le_>("aten::le_.Tensor"),
      KernelOf<&cuda::le_out>("aten::le.Tensor_out"),
      KernelOf<&cuda::le_scalar>("aten::le.Scalar"),
      KernelOf<&cuda::le_scalar_>("aten::le_.Scalar"),
      KernelOf<&cuda::le_scalar_out>("aten::le.Scalar_out"),
      KernelOf<&cuda::gt>("aten::gt.Tensor"),
      KernelOf<&cuda::gt_>("aten::gt_.Tensor"),
      KernelOf<&cuda::gt_out>("aten::gt.Tensor_out"),
      KernelOf<&cuda::gt_scalar>("aten::gt.Scalar"),
      KernelOf<&cuda::gt_scalar_>("aten::gt_.Scalar"),
      KernelOf<&cuda::gt_scalar_out>("aten::gt.Scalar_out"),
      KernelOf<&cuda::ge>("aten::ge.Tensor"),
      KernelOf<&cuda::ge_>("aten::ge_.Tensor"),
      KernelOf<&cuda::ge_out>("aten::ge.Tensor_out"),
      KernelOf<&cuda::ge_scalar>("aten::ge.Scalar"),
      KernelOf<&cuda::ge_scalar_>("aten::ge_.Scalar"),
      KernelOf<&cuda::ge_scalar_out>("aten::ge.Scalar_out"),
  };
}

INSTANTIATE_TEST_SUITE_P(
    Compare, ConformanceTest,
    ::testing::ValuesIn(CasesOf(Kernels(), CompareOperators(), at::kCUDA)),
    NameOf);

}  // namespace
}  // namespace testing
}  // namespace kernels
}  // namespace flaggems
