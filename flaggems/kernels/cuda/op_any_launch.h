// Whether any or all elements are true, device side.

#ifndef FLAGGEMS_KERNELS_CUDA_OP_ANY_LAUNCH_H_
#define FLAGGEMS_KERNELS_CUDA_OP_ANY_LAUNCH_H_

#include <cuda_runtime_api.h>

#include "flaggems/kernels/cuda/element.h"
#include "flaggems/kernels/cuda/reduce_plan.h"

namespace flaggems {
namespace kernels {
namespace cuda {

// Whether all, or any, elements differ from 0; NaN does. Every element type;
// one byte an output, 0 or 1.
cudaError_t LaunchAny(const ReducePlan& plan, Element type, bool all,
                      const void* in, uint8_t* out, void* scratch,
                      cudaStream_t stream);

}  // namespace cuda
}  // namespace kernels
}  // namespace flaggems

#endif  // FLAGGEMS_KERNELS_CUDA_OP_ANY_LAUNCH_H_
