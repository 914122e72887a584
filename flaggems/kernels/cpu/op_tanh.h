// aten::tanh(Tensor self) -> Tensor, CPU.

#ifndef FLAGGEMS_KERNELS_CPU_OP_TANH_H_
#define FLAGGEMS_KERNELS_CPU_OP_TANH_H_

#include <ATen/core/Tensor.h>

namespace flaggems {
namespace kernels {
namespace cpu {

// Hyperbolic tangent; integers and bools compute as float.
at::Tensor tanh(const at::Tensor& self);

}  // namespace cpu
}  // namespace kernels
}  // namespace flaggems

#endif  // FLAGGEMS_KERNELS_CPU_OP_TANH_H_
