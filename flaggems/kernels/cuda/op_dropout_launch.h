// Device side of op_dropout.h.

#ifndef FLAGGEMS_KERNELS_CUDA_OP_DROPOUT_LAUNCH_H_
#define FLAGGEMS_KERNELS_CUDA_OP_DROPOUT_LAUNCH_H_

#include <cuda_runtime_api.h>

#include <cstdint>

#include "flaggems/kernels/cuda/element.h"

namespace flaggems {
namespace kernels {
namespace cuda {

// Seed and offset of a Philox generator: the values, or, where pointers are not
// null, what they point to when the kernel runs (a graph's replay).
struct PhiloxState {
  uint64_t seed = 0;
  uint64_t offset = 0;  // added to *offset_ptr
  const int64_t* seed_ptr = nullptr;
  const int64_t* offset_ptr = nullptr;
};

// How far a call moves the generator's offset.
inline constexpr uint64_t kDropoutOffset = 4;

// For i < numel: mask[i] is 1 with probability `keep` in (0, 1], else 0, and
// out[i] = in[i] * mask[i] / keep. Element i has word i % 4 of Philox4x32-10 at
// counter (offset / 4, i / 4): the same state gives the same mask, for any
// element type and any device.
cudaError_t LaunchDropout(Element element, const void* in, void* out,
                          uint8_t* mask, int64_t numel, double keep,
                          const PhiloxState& state, cudaStream_t stream);

// out[i] = mask[i] * grad[i] * scale.
cudaError_t LaunchDropoutBackward(Element element, const void* grad,
                                  const uint8_t* mask, void* out, int64_t numel,
                                  double scale, cudaStream_t stream);

}  // namespace cuda
}  // namespace kernels
}  // namespace flaggems

#endif  // FLAGGEMS_KERNELS_CUDA_OP_DROPOUT_LAUNCH_H_
