// Launches of the attention kernels.

#ifndef FLAGGEMS_KERNELS_CUDA_OP_ATTENTION_LAUNCH_H_
#define FLAGGEMS_KERNELS_CUDA_OP_ATTENTION_LAUNCH_H_

#include <cuda_runtime_api.h>

#include "flaggems/kernels/cuda/attention.h"

namespace flaggems {
namespace kernels {
namespace cuda {

// Largest head_size and value_size.
inline constexpr int64_t kMaxHeadSize = 256;

// Online softmax over tiles of keys: one pass, no matrix of scores in memory.
// Scores and sums are float32. A row that sees no key is zero, its lse is
// hidden_lse; the lse of rows from `queries` up to lse_rows is +Inf.

// float16, bfloat16: tensor cores; the weights are rounded to the type.
cudaError_t LaunchAttention16(const Attention& attention, cudaStream_t stream);

// float32: plain multiply-adds, no TF32.
cudaError_t LaunchAttention32(const Attention& attention, cudaStream_t stream);

// Each of `count` numbers that is -Inf becomes `value`.
cudaError_t LaunchReplaceMinusInf(float* numbers, int64_t count, float value,
                                  cudaStream_t stream);

}  // namespace cuda
}  // namespace kernels
}  // namespace flaggems

#endif  // FLAGGEMS_KERNELS_CUDA_OP_ATTENTION_LAUNCH_H_
