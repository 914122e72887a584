// aten::sqrt(Tensor self) -> Tensor, CPU.

#ifndef FLAGGEMS_KERNELS_CPU_OP_SQRT_H_
#define FLAGGEMS_KERNELS_CPU_OP_SQRT_H_

#include <ATen/core/Tensor.h>

namespace flaggems {
namespace kernels {
namespace cpu {

// Square root, correctly rounded; integers and bools compute as float.
at::Tensor sqrt(const at::Tensor& self);

}  // namespace cpu
}  // namespace kernels
}  // namespace flaggems

#endif  // FLAGGEMS_KERNELS_CPU_OP_SQRT_H_
