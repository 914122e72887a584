// aten::neg(Tensor self) -> Tensor, CPU.

#ifndef FLAGGEMS_KERNELS_CPU_OP_NEG_H_
#define FLAGGEMS_KERNELS_CPU_OP_NEG_H_

#include <ATen/core/Tensor.h>

namespace flaggems {
namespace kernels {
namespace cpu {

// -self; bools are refused.
at::Tensor neg(const at::Tensor& self);

}  // namespace cpu
}  // namespace kernels
}  // namespace flaggems

#endif  // FLAGGEMS_KERNELS_CPU_OP_NEG_H_
