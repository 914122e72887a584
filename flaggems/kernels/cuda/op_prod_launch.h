// Products, device side.

#ifndef FLAGGEMS_KERNELS_CUDA_OP_PROD_LAUNCH_H_
#define FLAGGEMS_KERNELS_CUDA_OP_PROD_LAUNCH_H_

#include <cuda_runtime_api.h>

#include "flaggems/kernels/cuda/element.h"
#include "flaggems/kernels/cuda/reduce_plan.h"

namespace flaggems {
namespace kernels {
namespace cuda {

// Product of `in_type` values as `out_type`: floating types give themselves,
// float16 and bfloat16 also float32; integers and bool any integer (wrapping)
// or bool (all). Others are cudaErrorNotSupported.
cudaError_t LaunchProd(const ReducePlan& plan, Element in_type,
                       Element out_type, const void* in, void* out,
                       void* scratch, cudaStream_t stream);

}  // namespace cuda
}  // namespace kernels
}  // namespace flaggems

#endif  // FLAGGEMS_KERNELS_CUDA_OP_PROD_LAUNCH_H_
