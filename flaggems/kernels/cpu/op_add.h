// aten::add.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor, its
// in-place form and its out form, CPU.

#ifndef FLAGGEMS_KERNELS_CPU_OP_ADD_H_
#define FLAGGEMS_KERNELS_CPU_OP_ADD_H_

#include <ATen/core/Tensor.h>
#include <c10/core/Scalar.h>

namespace flaggems {
namespace kernels {
namespace cpu {

// self + alpha * other: one multiply-add in the compute type (a fused one where
// the machine has it), rounded once.
at::Tensor add(const at::Tensor& self, const at::Tensor& other,
               const at::Scalar& alpha);
at::Tensor& add_(at::Tensor& self, const at::Tensor& other,
                 const at::Scalar& alpha);
at::Tensor& add_out(const at::Tensor& self, const at::Tensor& other,
                    const at::Scalar& alpha, at::Tensor& out);

}  // namespace cpu
}  // namespace kernels
}  // namespace flaggems

#endif  // FLAGGEMS_KERNELS_CPU_OP_ADD_H_
