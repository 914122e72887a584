// aten::addmm(Tensor self, Tensor mat1, Tensor mat2, *, Scalar beta=1,
// Scalar alpha=1) -> Tensor, CPU.

#ifndef FLAGGEMS_KERNELS_CPU_OP_ADDMM_H_
#define FLAGGEMS_KERNELS_CPU_OP_ADDMM_H_

#include <ATen/core/Tensor.h>
#include <c10/core/Scalar.h>

namespace flaggems {
namespace kernels {
namespace cpu {

// beta * self + alpha * (mat1 @ mat2); with beta 0, self is not read.
at::Tensor addmm(const at::Tensor& self, const at::Tensor& mat1,
                 const at::Tensor& mat2, const at::Scalar& beta,
                 const at::Scalar& alpha);

}  // namespace cpu
}  // namespace kernels
}  // namespace flaggems

#endif  // FLAGGEMS_KERNELS_CPU_OP_ADDMM_H_
