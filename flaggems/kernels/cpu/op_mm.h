// aten::mm(Tensor self, Tensor mat2) -> Tensor, CPU.

#ifndef FLAGGEMS_KERNELS_CPU_OP_MM_H_
#define FLAGGEMS_KERNELS_CPU_OP_MM_H_

#include <ATen/core/Tensor.h>

namespace flaggems {
namespace kernels {
namespace cpu {

// Matrix product; see gemm.h for types and accumulation.
at::Tensor mm(const at::Tensor& self, const at::Tensor& mat2);

}  // namespace cpu
}  // namespace kernels
}  // namespace flaggems

#endif  // FLAGGEMS_KERNELS_CPU_OP_MM_H_
