// aten::where.self(Tensor condition, Tensor self, Tensor other) -> Tensor, CPU.

#ifndef FLAGGEMS_KERNELS_CPU_OP_WHERE_H_
#define FLAGGEMS_KERNELS_CPU_OP_WHERE_H_

#include <ATen/core/Tensor.h>

namespace flaggems {
namespace kernels {
namespace cpu {

// condition ? self : other, in the promoted type of both.
at::Tensor where(const at::Tensor& condition, const at::Tensor& self,
                 const at::Tensor& other);

}  // namespace cpu
}  // namespace kernels
}  // namespace flaggems

#endif  // FLAGGEMS_KERNELS_CPU_OP_WHERE_H_
