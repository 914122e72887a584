// Launches of op_layer_norm*.cu. Everything goes to `stream` of the current
// device.

#ifndef FLAGGEMS_KERNELS_CUDA_OP_LAYER_NORM_LAUNCH_H_
#define FLAGGEMS_KERNELS_CUDA_OP_LAYER_NORM_LAUNCH_H_

#include <cuda_runtime_api.h>

#include "flaggems/kernels/cuda/element.h"
#include "flaggems/kernels/cuda/norm_backward_shape.h"
#include "flaggems/kernels/cuda/norm_shape.h"

namespace flaggems {
namespace kernels {
namespace cuda {

// out = (in - mean) rstd gamma + beta, of contiguous rows. gamma and beta have
// n elements of in's type or are null; mean and rstd have one element a row,
// float (double for float64). scratch: NormScratchBytes.
// Types: float32, float16, bfloat16, float64.
cudaError_t LaunchLayerNorm(const NormShape& shape, Element element,
                            const void* in, const void* gamma, const void* beta,
                            double eps, void* out, void* mean, void* rstd,
                            void* scratch, cudaStream_t stream);

// The gradients that are not null. Types as above.
cudaError_t LaunchLayerNormBackward(const NormShape& shape, Element element,
                                    const NormGradients& gradients,
                                    cudaStream_t stream);

}  // namespace cuda
}  // namespace kernels
}  // namespace flaggems

#endif  // FLAGGEMS_KERNELS_CUDA_OP_LAYER_NORM_LAUNCH_H_
