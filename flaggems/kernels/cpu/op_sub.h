// aten::sub.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor,
// CPU.

#ifndef FLAGGEMS_KERNELS_CPU_OP_SUB_H_
#define FLAGGEMS_KERNELS_CPU_OP_SUB_H_

#include <ATen/core/Tensor.h>
#include <c10/core/Scalar.h>

namespace flaggems {
namespace kernels {
namespace cpu {

// self - alpha * other, rounded once.
at::Tensor sub(const at::Tensor& self, const at::Tensor& other,
               const at::Scalar& alpha);

}  // namespace cpu
}  // namespace kernels
}  // namespace flaggems

#endif  // FLAGGEMS_KERNELS_CPU_OP_SUB_H_
