// Activation functions and their backwards; float64, float32 and 16 bits.

#ifndef FLAGGEMS_KERNELS_CUDA_OP_ACTIVATION_LAUNCH_H_
#define FLAGGEMS_KERNELS_CUDA_OP_ACTIVATION_LAUNCH_H_

#include "flaggems/kernels/cuda/elementwise_launch.h"

namespace flaggems {
namespace kernels {
namespace cuda {

cudaError_t LaunchGelu(const ElementwiseCall& call, cudaStream_t stream);
cudaError_t LaunchGeluTanh(const ElementwiseCall& call, cudaStream_t stream);
cudaError_t LaunchSilu(const ElementwiseCall& call, cudaStream_t stream);
// Scalar: the slope.
cudaError_t LaunchLeakyRelu(const ElementwiseCall& call, cudaStream_t stream);
// Scalars: beta and the threshold of beta x.
cudaError_t LaunchSoftplus(const ElementwiseCall& call, cudaStream_t stream);
// Scalars: threshold and value. Integers, too.
cudaError_t LaunchThreshold(const ElementwiseCall& call, cudaStream_t stream);

// Inputs: the gradient, then the forward's input (output for sigmoid and tanh).
cudaError_t LaunchGeluBackward(const ElementwiseCall& call,
                               cudaStream_t stream);
cudaError_t LaunchGeluTanhBackward(const ElementwiseCall& call,
                                   cudaStream_t stream);
cudaError_t LaunchSiluBackward(const ElementwiseCall& call,
                               cudaStream_t stream);
cudaError_t LaunchSigmoidBackward(const ElementwiseCall& call,
                                  cudaStream_t stream);
cudaError_t LaunchTanhBackward(const ElementwiseCall& call,
                               cudaStream_t stream);
// Scalar: the threshold. Integers, too.
cudaError_t LaunchThresholdBackward(const ElementwiseCall& call,
                                    cudaStream_t stream);

}  // namespace cuda
}  // namespace kernels
}  // namespace flaggems

#endif  // FLAGGEMS_KERNELS_CUDA_OP_ACTIVATION_LAUNCH_H_
