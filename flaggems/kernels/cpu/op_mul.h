// aten::mul.Tensor(Tensor self, Tensor other) -> Tensor and its in-place form,
// CPU.

#ifndef FLAGGEMS_KERNELS_CPU_OP_MUL_H_
#define FLAGGEMS_KERNELS_CPU_OP_MUL_H_

#include <ATen/core/Tensor.h>

namespace flaggems {
namespace kernels {
namespace cpu {

// self * other.
at::Tensor mul(const at::Tensor& self, const at::Tensor& other);
at::Tensor& mul_(at::Tensor& self, const at::Tensor& other);

}  // namespace cpu
}  // namespace kernels
}  // namespace flaggems

#endif  // FLAGGEMS_KERNELS_CPU_OP_MUL_H_
