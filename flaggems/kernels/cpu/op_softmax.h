// aten::_softmax(Tensor self, int dim, bool half_to_float) -> Tensor, CPU.

#ifndef FLAGGEMS_KERNELS_CPU_OP_SOFTMAX_H_
#define FLAGGEMS_KERNELS_CPU_OP_SOFTMAX_H_

#include <ATen/core/Tensor.h>

#include <cstdint>

namespace flaggems {
namespace kernels {
namespace cpu {

// exp(self - max) / sum(exp(self - max)) along dim, in float or double.
at::Tensor softmax(const at::Tensor& self, int64_t dim, bool half_to_float);

}  // namespace cpu
}  // namespace kernels
}  // namespace flaggems

#endif  // FLAGGEMS_KERNELS_CPU_OP_SOFTMAX_H_
