// Running sums, device side.

#ifndef FLAGGEMS_KERNELS_CUDA_OP_CUMSUM_LAUNCH_H_
#define FLAGGEMS_KERNELS_CUDA_OP_CUMSUM_LAUNCH_H_

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>

#include "flaggems/kernels/cuda/element.h"

namespace flaggems {
namespace kernels {
namespace cuda {

// How [outer, n, inner] is cut: lines of n into `parts` of `length` elements.
struct ScanPlan {
  int64_t outer;
  int64_t n;
  int64_t inner;
  int multiprocessors;
  int64_t parts = 1;
  int64_t length = 0;

  // Enough for any type and alignment.
  size_t ScratchBytes() const;
};
ScanPlan PlanScan(int64_t outer, int64_t n, int64_t inner, int multiprocessors);

// out[o, i, j] = sum of in[o, 0..i, j]; dense arrays, in may be out. Floating
// types add up in double and are rounded once; integers give their own type
// and wrap. scratch: ScratchBytes() bytes.
cudaError_t LaunchCumsum(const ScanPlan& plan, Element type, const void* in,
                         void* out, void* scratch, cudaStream_t stream);

}  // namespace cuda
}  // namespace kernels
}  // namespace flaggems

#endif  // FLAGGEMS_KERNELS_CUDA_OP_CUMSUM_LAUNCH_H_
