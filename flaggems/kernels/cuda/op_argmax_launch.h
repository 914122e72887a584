// Positions of maxima and minima, device side.

#ifndef FLAGGEMS_KERNELS_CUDA_OP_ARGMAX_LAUNCH_H_
#define FLAGGEMS_KERNELS_CUDA_OP_ARGMAX_LAUNCH_H_

#include <cuda_runtime_api.h>

#include "flaggems/kernels/cuda/element.h"
#include "flaggems/kernels/cuda/reduce_plan.h"

namespace flaggems {
namespace kernels {
namespace cuda {

// Position of the first maximum (minimum) in the reduced dimension, of the
// first NaN if there is one; `values`, if not null, receives the element
// itself. The plan reduces one dimension. Every element type.
cudaError_t LaunchArgExtremum(const ReducePlan& plan, Element type,
                              bool minimum, const void* in, void* values,
                              int64_t* indices, void* scratch,
                              cudaStream_t stream);

}  // namespace cuda
}  // namespace kernels
}  // namespace flaggems

#endif  // FLAGGEMS_KERNELS_CUDA_OP_ARGMAX_LAUNCH_H_
