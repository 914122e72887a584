// aten::bmm(Tensor self, Tensor mat2) -> Tensor, CPU.

#ifndef FLAGGEMS_KERNELS_CPU_OP_BMM_H_
#define FLAGGEMS_KERNELS_CPU_OP_BMM_H_

#include <ATen/core/Tensor.h>

namespace flaggems {
namespace kernels {
namespace cpu {

// One matrix product for each index of the first dimension.
at::Tensor bmm(const at::Tensor& self, const at::Tensor& mat2);

}  // namespace cpu
}  // namespace kernels
}  // namespace flaggems

#endif  // FLAGGEMS_KERNELS_CPU_OP_BMM_H_
