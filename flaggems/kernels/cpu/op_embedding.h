// aten::embedding(Tensor weight, Tensor indices, SymInt padding_idx=-1,
// bool scale_grad_by_freq=False, bool sparse=False) -> Tensor, CPU.

#ifndef FLAGGEMS_KERNELS_CPU_OP_EMBEDDING_H_
#define FLAGGEMS_KERNELS_CPU_OP_EMBEDDING_H_

#include <ATen/core/Tensor.h>

#include <cstdint>

namespace flaggems {
namespace kernels {
namespace cpu {

// Rows of weight. The last three arguments matter for the gradient only.
at::Tensor embedding(const at::Tensor& weight, const at::Tensor& indices,
                     int64_t padding_idx, bool scale_grad_by_freq, bool sparse);

}  // namespace cpu
}  // namespace kernels
}  // namespace flaggems

#endif  // FLAGGEMS_KERNELS_CPU_OP_EMBEDDING_H_
