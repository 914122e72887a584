// Launches of op_rms_norm*.cu. Everything goes to `stream` of the current
// device.

#ifndef FLAGGEMS_KERNELS_CUDA_OP_RMS_NORM_LAUNCH_H_
#define FLAGGEMS_KERNELS_CUDA_OP_RMS_NORM_LAUNCH_H_

#include <cuda_runtime_api.h>

#include "flaggems/kernels/cuda/element.h"
#include "flaggems/kernels/cuda/norm_backward_shape.h"
#include "flaggems/kernels/cuda/norm_shape.h"

namespace flaggems {
namespace kernels {
namespace cuda {

// out = in rstd gamma with rstd = 1 / sqrt(mean of in^2 + eps), of contiguous
// rows. gamma has n elements of in's type or is null; rstd has one element a
// row, float (double for float64). scratch: NormScratchBytes.
// Types: float32, float16, bfloat16, float64.
cudaError_t LaunchRmsNorm(const NormShape& shape, Element element,
                          const void* in, const void* gamma, double eps,
                          void* out, void* rstd, void* scratch,
                          cudaStream_t stream);

// The gradients that are not null. Types as above.
cudaError_t LaunchRmsNormBackward(const NormShape& shape, Element element,
                                  const NormGradients& gradients,
                                  cudaStream_t stream);

}  // namespace cuda
}  // namespace kernels
}  // namespace flaggems

#endif  // FLAGGEMS_KERNELS_CUDA_OP_RMS_NORM_LAUNCH_H_
