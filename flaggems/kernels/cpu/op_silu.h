// aten::silu(Tensor self) -> Tensor, CPU.

#ifndef FLAGGEMS_KERNELS_CPU_OP_SILU_H_
#define FLAGGEMS_KERNELS_CPU_OP_SILU_H_

#include <ATen/core/Tensor.h>

namespace flaggems {
namespace kernels {
namespace cpu {

// self * sigmoid(self), accurate in the negative tail.
at::Tensor silu(const at::Tensor& self);

}  // namespace cpu
}  // namespace kernels
}  // namespace flaggems

#endif  // FLAGGEMS_KERNELS_CPU_OP_SILU_H_
