// aten::embedding_dense_backward(Tensor grad_output, Tensor indices,
//   SymInt num_weights, SymInt padding_idx, bool scale_grad_by_freq)
//   -> Tensor, CUDA.
// Sums are in float (double for double), in the order of the indices.

#ifndef FLAGGEMS_KERNELS_CUDA_OP_EMBEDDING_BACKWARD_H_
#define FLAGGEMS_KERNELS_CUDA_OP_EMBEDDING_BACKWARD_H_

#include <ATen/core/Tensor.h>

#include <cstdint>

namespace flaggems {
namespace kernels {
namespace cuda {

at::Tensor embedding_dense_backward(const at::Tensor& grad_output,
                                    const at::Tensor& indices,
                                    int64_t num_weights, int64_t padding_idx,
                                    bool scale_grad_by_freq);

}  // namespace cuda
}  // namespace kernels
}  // namespace flaggems

#endif  // FLAGGEMS_KERNELS_CUDA_OP_EMBEDDING_BACKWARD_H_
