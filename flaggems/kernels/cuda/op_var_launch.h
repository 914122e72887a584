// Variances, device side.

#ifndef FLAGGEMS_KERNELS_CUDA_OP_VAR_LAUNCH_H_
#define FLAGGEMS_KERNELS_CUDA_OP_VAR_LAUNCH_H_

#include <cuda_runtime_api.h>

#include "flaggems/kernels/cuda/element.h"
#include "flaggems/kernels/cuda/reduce_plan.h"

namespace flaggems {
namespace kernels {
namespace cuda {

// Variance with n - correction in the denominator (0 if that is negative), its
// root if `root`; the mean goes to `mean` if that is not null. Floating types,
// results in the same type.
cudaError_t LaunchVar(const ReducePlan& plan, Element type, double correction,
                      bool root, const void* in, void* out, void* mean,
                      void* scratch, cudaStream_t stream);

}  // namespace cuda
}  // namespace kernels
}  // namespace flaggems

#endif  // FLAGGEMS_KERNELS_CUDA_OP_VAR_LAUNCH_H_
