// aten::exp(Tensor self) -> Tensor, CPU.

#ifndef FLAGGEMS_KERNELS_CPU_OP_EXP_H_
#define FLAGGEMS_KERNELS_CPU_OP_EXP_H_

#include <ATen/core/Tensor.h>

namespace flaggems {
namespace kernels {
namespace cpu {

// e^self; integers and bools compute as float.
at::Tensor exp(const at::Tensor& self);

}  // namespace cpu
}  // namespace kernels
}  // namespace flaggems

#endif  // FLAGGEMS_KERNELS_CPU_OP_EXP_H_
