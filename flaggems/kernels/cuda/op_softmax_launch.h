// Launches of the softmax kernels (op_softmax*.cu). Tensors are contiguous,
// seen as (outer, n, inner); the softmax is over n. Everything goes to `stream`
// of the current device.

#ifndef FLAGGEMS_KERNELS_CUDA_OP_SOFTMAX_LAUNCH_H_
#define FLAGGEMS_KERNELS_CUDA_OP_SOFTMAX_LAUNCH_H_

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>

#include "flaggems/kernels/cuda/element.h"

namespace flaggems {
namespace kernels {
namespace cuda {

struct SoftmaxShape {
  int64_t outer;
  int64_t n;
  int64_t inner;
  // Of the device: 90 for Hopper, and its multiprocessors.
  int capability;
  int multiprocessors;
};

// Bytes of scratch that suffice for a forward call of any element type; 0
// unless rows are few and long.
inline size_t SoftmaxScratchBytes(const SoftmaxShape& shape) {
  // Partial results of 16 bytes, up to 512 slices a row (row_tile.cuh).
  if (shape.inner > 1 || shape.n <= 8192 ||
      shape.outer >= shape.multiprocessors) {
    return 0;
  }
  return static_cast<size_t>(shape.outer) * 512 * 16;
}

// out = softmax or log softmax of in. Element pairs (in, out): equal ones of
// float32, float16, bfloat16, float64; (float16, float32).
cudaError_t LaunchSoftmax(const SoftmaxShape& shape, Element in_type,
                          Element out_type, const void* in, void* out,
                          void* scratch, cudaStream_t stream);
cudaError_t LaunchLogSoftmax(const SoftmaxShape& shape, Element in_type,
                             Element out_type, const void* in, void* out,
                             void* scratch, cudaStream_t stream);

// grad_in from grad_out and the forward's result. Element pairs (type of both
// inputs, type of grad_in): equal ones, (float32, float16).
cudaError_t LaunchSoftmaxBackward(const SoftmaxShape& shape, Element in_type,
                                  Element out_type, const void* grad_out,
                                  const void* result, void* grad_in,
                                  cudaStream_t stream);
cudaError_t LaunchLogSoftmaxBackward(const SoftmaxShape& shape, Element in_type,
                                     Element out_type, const void* grad_out,
                                     const void* result, void* grad_in,
                                     cudaStream_t stream);

}  // namespace cuda
}  // namespace kernels
}  // namespace flaggems

#endif  // FLAGGEMS_KERNELS_CUDA_OP_SOFTMAX_LAUNCH_H_
