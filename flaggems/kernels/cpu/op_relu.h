// aten::relu(Tensor self) -> Tensor and its in-place form, CPU.

#ifndef FLAGGEMS_KERNELS_CPU_OP_RELU_H_
#define FLAGGEMS_KERNELS_CPU_OP_RELU_H_

#include <ATen/core/Tensor.h>

namespace flaggems {
namespace kernels {
namespace cpu {

// max(self, 0); NaN stays NaN and -0 stays -0.
at::Tensor relu(const at::Tensor& self);
at::Tensor& relu_(at::Tensor& self);

}  // namespace cpu
}  // namespace kernels
}  // namespace flaggems

#endif  // FLAGGEMS_KERNELS_CPU_OP_RELU_H_
