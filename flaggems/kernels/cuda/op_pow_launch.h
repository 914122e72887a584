// Powers.

#ifndef FLAGGEMS_KERNELS_CUDA_OP_POW_LAUNCH_H_
#define FLAGGEMS_KERNELS_CUDA_OP_POW_LAUNCH_H_

#include "flaggems/kernels/cuda/elementwise_launch.h"

namespace flaggems {
namespace kernels {
namespace cuda {

// All numbers; of integers, a negative power is 0 unless the base is 1 or -1.
cudaError_t LaunchPow(const ElementwiseCall& call, cudaStream_t stream);
// Of one tensor; the scalar is the exponent.
cudaError_t LaunchPowerOf(const ElementwiseCall& call, cudaStream_t stream);
// The same; the scalar is 2, 3 or -2 (the latter for floating types only).
cudaError_t LaunchSmallPower(const ElementwiseCall& call, cudaStream_t stream);

}  // namespace cuda
}  // namespace kernels
}  // namespace flaggems

#endif  // FLAGGEMS_KERNELS_CUDA_OP_POW_LAUNCH_H_
