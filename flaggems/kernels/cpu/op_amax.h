// aten::amax(Tensor self, int[1] dim=[], bool keepdim=False) -> Tensor, CPU.

#ifndef FLAGGEMS_KERNELS_CPU_OP_AMAX_H_
#define FLAGGEMS_KERNELS_CPU_OP_AMAX_H_

#include <ATen/core/Tensor.h>

namespace flaggems {
namespace kernels {
namespace cpu {

// Maximum over dim (all if empty); NaN if there is one.
at::Tensor amax(const at::Tensor& self, at::IntArrayRef dim, bool keepdim);

}  // namespace cpu
}  // namespace kernels
}  // namespace flaggems

#endif  // FLAGGEMS_KERNELS_CPU_OP_AMAX_H_
