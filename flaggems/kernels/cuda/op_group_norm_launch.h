// Launches of op_group_norm*.cu. Everything goes to `stream` of the current
// device.

#ifndef FLAGGEMS_KERNELS_CUDA_OP_GROUP_NORM_LAUNCH_H_
#define FLAGGEMS_KERNELS_CUDA_OP_GROUP_NORM_LAUNCH_H_

#include <cuda_runtime_api.h>

#include <cstdint>

#include "flaggems/kernels/cuda/element.h"
#include "flaggems/kernels/cuda/norm_shape.h"

namespace flaggems {
namespace kernels {
namespace cuda {

// out = (in - mean) rstd gamma + beta, of contiguous tensors (samples, groups,
// channels, channel_size): shape.rows = samples * groups, shape.n = channels *
// channel_size. gamma and beta have groups * channels elements or are null;
// mean and rstd have one element a row. All are of one type: float32, float16,
// bfloat16 or float64. scratch: NormScratchBytes.
cudaError_t LaunchGroupNorm(const NormShape& shape, int64_t groups,
                            int64_t channels, int64_t channel_size,
                            Element element, const void* in, const void* gamma,
                            const void* beta, double eps, void* out, void* mean,
                            void* rstd, void* scratch, cudaStream_t stream);

}  // namespace cuda
}  // namespace kernels
}  // namespace flaggems

#endif  // FLAGGEMS_KERNELS_CUDA_OP_GROUP_NORM_LAUNCH_H_
