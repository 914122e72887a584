// Maxima and minima, device side.

#ifndef FLAGGEMS_KERNELS_CUDA_OP_AMAX_LAUNCH_H_
#define FLAGGEMS_KERNELS_CUDA_OP_AMAX_LAUNCH_H_

#include <cuda_runtime_api.h>

#include "flaggems/kernels/cuda/element.h"
#include "flaggems/kernels/cuda/reduce_plan.h"

namespace flaggems {
namespace kernels {
namespace cuda {

// Maximum or minimum of every element type, in that type; a NaN wins.
cudaError_t LaunchExtremum(const ReducePlan& plan, Element type, bool minimum,
                           const void* in, void* out, void* scratch,
                           cudaStream_t stream);

}  // namespace cuda
}  // namespace kernels
}  // namespace flaggems

#endif  // FLAGGEMS_KERNELS_CUDA_OP_AMAX_LAUNCH_H_
