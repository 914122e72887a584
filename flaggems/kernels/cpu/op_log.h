// aten::log(Tensor self) -> Tensor, CPU.

#ifndef FLAGGEMS_KERNELS_CPU_OP_LOG_H_
#define FLAGGEMS_KERNELS_CPU_OP_LOG_H_

#include <ATen/core/Tensor.h>

namespace flaggems {
namespace kernels {
namespace cpu {

// Natural logarithm; integers and bools compute as float.
at::Tensor log(const at::Tensor& self);

}  // namespace cpu
}  // namespace kernels
}  // namespace flaggems

#endif  // FLAGGEMS_KERNELS_CPU_OP_LOG_H_
