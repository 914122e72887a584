// Sums and means, device side.

#ifndef FLAGGEMS_KERNELS_CUDA_OP_SUM_LAUNCH_H_
#define FLAGGEMS_KERNELS_CUDA_OP_SUM_LAUNCH_H_

#include <cuda_runtime_api.h>

#include "flaggems/kernels/cuda/element.h"
#include "flaggems/kernels/cuda/reduce_plan.h"

namespace flaggems {
namespace kernels {
namespace cuda {

// Sum / divisor of `in_type` values as `out_type`. float16 and bfloat16 give
// themselves or float32, float32 and float64 themselves, integers and bool any
// integer (wrapping) or bool (any). Others are cudaErrorNotSupported.
cudaError_t LaunchSum(const ReducePlan& plan, Element in_type, Element out_type,
                      double divisor, const void* in, void* out, void* scratch,
                      cudaStream_t stream);

}  // namespace cuda
}  // namespace kernels
}  // namespace flaggems

#endif  // FLAGGEMS_KERNELS_CUDA_OP_SUM_LAUNCH_H_
