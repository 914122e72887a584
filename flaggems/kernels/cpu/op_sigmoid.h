// aten::sigmoid(Tensor self) -> Tensor, CPU.

#ifndef FLAGGEMS_KERNELS_CPU_OP_SIGMOID_H_
#define FLAGGEMS_KERNELS_CPU_OP_SIGMOID_H_

#include <ATen/core/Tensor.h>

namespace flaggems {
namespace kernels {
namespace cpu {

// 1 / (1 + exp(-self)), accurate in both tails.
at::Tensor sigmoid(const at::Tensor& self);

}  // namespace cpu
}  // namespace kernels
}  // namespace flaggems

#endif  // FLAGGEMS_KERNELS_CPU_OP_SIGMOID_H_
