// aten::rsqrt(Tensor self) -> Tensor, CPU.

#ifndef FLAGGEMS_KERNELS_CPU_OP_RSQRT_H_
#define FLAGGEMS_KERNELS_CPU_OP_RSQRT_H_

#include <ATen/core/Tensor.h>

namespace flaggems {
namespace kernels {
namespace cpu {

// 1 / sqrt(self), two roundings; integers and bools compute as float.
at::Tensor rsqrt(const at::Tensor& self);

}  // namespace cpu
}  // namespace kernels
}  // namespace flaggems

#endif  // FLAGGEMS_KERNELS_CPU_OP_RSQRT_H_
