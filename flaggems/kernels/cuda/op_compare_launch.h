// Comparisons of two tensors.

#ifndef FLAGGEMS_KERNELS_CUDA_OP_COMPARE_LAUNCH_H_
#define FLAGGEMS_KERNELS_CUDA_OP_COMPARE_LAUNCH_H_

#include "flaggems/kernels/cuda/elementwise_launch.h"

namespace flaggems {
namespace kernels {
namespace cuda {

// The scalar's bits: what makes the result true, and whether it is negated
// (so that ne is true for NaN).
inline constexpr int kLess = 1;
inline constexpr int kEqual = 2;
inline constexpr int kGreater = 4;
inline constexpr int kNegated = 8;

// All numbers and bool; yields bools.
cudaError_t LaunchCompare(const ElementwiseCall& call, cudaStream_t stream);

}  // namespace cuda
}  // namespace kernels
}  // namespace flaggems

#endif  // FLAGGEMS_KERNELS_CUDA_OP_COMPARE_LAUNCH_H_
