// Larger and smaller of two, and clamping. NaN of any input is NaN.

#ifndef FLAGGEMS_KERNELS_CUDA_OP_CLAMP_LAUNCH_H_
#define FLAGGEMS_KERNELS_CUDA_OP_CLAMP_LAUNCH_H_

#include "flaggems/kernels/cuda/elementwise_launch.h"

namespace flaggems {
namespace kernels {
namespace cuda {

// The scalar: 1 for the larger, 0 for the smaller. All numbers and bool.
cudaError_t LaunchExtreme(const ElementwiseCall& call, cudaStream_t stream);

// Scalars: the bounds, and 1 for a lower one + 2 for an upper one. All numbers.
cudaError_t LaunchClamp(const ElementwiseCall& call, cudaStream_t stream);
// Inputs: the tensor, the bounds.
cudaError_t LaunchClampTensor(const ElementwiseCall& call, cudaStream_t stream);

}  // namespace cuda
}  // namespace kernels
}  // namespace flaggems

#endif  // FLAGGEMS_KERNELS_CUDA_OP_CLAMP_LAUNCH_H_
