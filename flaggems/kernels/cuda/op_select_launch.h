// Choosing and filling: elements are moved as bits, by their size.

#ifndef FLAGGEMS_KERNELS_CUDA_OP_SELECT_LAUNCH_H_
#define FLAGGEMS_KERNELS_CUDA_OP_SELECT_LAUNCH_H_

#include "flaggems/kernels/cuda/elementwise_launch.h"

namespace flaggems {
namespace kernels {
namespace cuda {

// Inputs: the condition (bool), the values for true and for false.
cudaError_t LaunchWhere(const ElementwiseCall& call, cudaStream_t stream);
// Inputs: the mask (bool) and the values; the scalar's bits go where it is
// true.
cudaError_t LaunchMaskedFill(const ElementwiseCall& call, cudaStream_t stream);
// The first input, a constant or one element, everywhere; the second is none.
cudaError_t LaunchFill(const ElementwiseCall& call, cudaStream_t stream);

}  // namespace cuda
}  // namespace kernels
}  // namespace flaggems

#endif  // FLAGGEMS_KERNELS_CUDA_OP_SELECT_LAUNCH_H_
