// Functions of one tensor, element by element.

#ifndef FLAGGEMS_KERNELS_CUDA_OP_UNARY_LAUNCH_H_
#define FLAGGEMS_KERNELS_CUDA_OP_UNARY_LAUNCH_H_

#include "flaggems/kernels/cuda/elementwise_launch.h"

namespace flaggems {
namespace kernels {
namespace cuda {

// All numbers; abs of bool, too.
cudaError_t LaunchAbs(const ElementwiseCall& call, cudaStream_t stream);
cudaError_t LaunchNeg(const ElementwiseCall& call, cudaStream_t stream);
// Integers and bool.
cudaError_t LaunchBitwiseNot(const ElementwiseCall& call, cudaStream_t stream);
// All; yields bools.
cudaError_t LaunchLogicalNot(const ElementwiseCall& call, cudaStream_t stream);
// float64, float32 and 16 bits.
cudaError_t LaunchCos(const ElementwiseCall& call, cudaStream_t stream);
cudaError_t LaunchErf(const ElementwiseCall& call, cudaStream_t stream);
cudaError_t LaunchExp(const ElementwiseCall& call, cudaStream_t stream);
cudaError_t LaunchLog(const ElementwiseCall& call, cudaStream_t stream);
cudaError_t LaunchReciprocal(const ElementwiseCall& call, cudaStream_t stream);
cudaError_t LaunchRsqrt(const ElementwiseCall& call, cudaStream_t stream);
cudaError_t LaunchSigmoid(const ElementwiseCall& call, cudaStream_t stream);
cudaError_t LaunchSin(const ElementwiseCall& call, cudaStream_t stream);
cudaError_t LaunchSqrt(const ElementwiseCall& call, cudaStream_t stream);
cudaError_t LaunchTanh(const ElementwiseCall& call, cudaStream_t stream);

}  // namespace cuda
}  // namespace kernels
}  // namespace flaggems

#endif  // FLAGGEMS_KERNELS_CUDA_OP_UNARY_LAUNCH_H_
