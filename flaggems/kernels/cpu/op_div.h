// aten::div.Tensor(Tensor self, Tensor other) -> Tensor, CPU.

#ifndef FLAGGEMS_KERNELS_CPU_OP_DIV_H_
#define FLAGGEMS_KERNELS_CPU_OP_DIV_H_

#include <ATen/core/Tensor.h>

namespace flaggems {
namespace kernels {
namespace cpu {

// self / other; integers and bools are divided as float.
at::Tensor div(const at::Tensor& self, const at::Tensor& other);

}  // namespace cpu
}  // namespace kernels
}  // namespace flaggems

#endif  // FLAGGEMS_KERNELS_CPU_OP_DIV_H_
