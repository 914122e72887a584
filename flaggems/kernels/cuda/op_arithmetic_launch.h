// Sums, products and quotients of two tensors.

#ifndef FLAGGEMS_KERNELS_CUDA_OP_ARITHMETIC_LAUNCH_H_
#define FLAGGEMS_KERNELS_CUDA_OP_ARITHMETIC_LAUNCH_H_

#include "flaggems/kernels/cuda/elementwise_launch.h"

namespace flaggems {
namespace kernels {
namespace cuda {

// a + alpha b, alpha the scalar: all numbers, and bool (or).
cudaError_t LaunchAdd(const ElementwiseCall& call, cudaStream_t stream);
// All numbers, and bool (and).
cudaError_t LaunchMul(const ElementwiseCall& call, cudaStream_t stream);
// float64, float32 and 16 bits.
cudaError_t LaunchDiv(const ElementwiseCall& call, cudaStream_t stream);
// All numbers; rounded towards zero and down. An integer divided by 0 is any.
cudaError_t LaunchDivTrunc(const ElementwiseCall& call, cudaStream_t stream);
cudaError_t LaunchDivFloor(const ElementwiseCall& call, cudaStream_t stream);

}  // namespace cuda
}  // namespace kernels
}  // namespace flaggems

#endif  // FLAGGEMS_KERNELS_CUDA_OP_ARITHMETIC_LAUNCH_H_
