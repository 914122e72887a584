// The k largest or smallest of rows, device side.

#ifndef FLAGGEMS_KERNELS_CUDA_OP_TOPK_LAUNCH_H_
#define FLAGGEMS_KERNELS_CUDA_OP_TOPK_LAUNCH_H_

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>

#include "flaggems/kernels/cuda/element.h"

namespace flaggems {
namespace kernels {
namespace cuda {

// The largest k of LaunchTopK; beyond it, sort.
inline constexpr int64_t kMaxTopK = 1024;

// Few long rows are cut into parts whose own k largest are ranked together.
struct TopKPlan {
  int64_t rows;
  int64_t n;
  int64_t k;
  int64_t parts = 1;

  size_t ScratchBytes(int element_bytes) const {
    return parts == 1 ? 0
                      : static_cast<size_t>(rows * parts * k) *
                            (sizeof(int64_t) + element_bytes);
  }
};
TopKPlan PlanTopK(int64_t rows, int64_t n, int64_t k, int multiprocessors);

// For each dense row of n elements its k largest (smallest) in order, and where
// they stand; of equal ones the first. NaN is the largest. 1 <= k <= n, k <=
// kMaxTopK, n < 2^31. Every element type.
cudaError_t LaunchTopK(const TopKPlan& plan, Element type, bool largest,
                       const void* in, void* values, int64_t* indices,
                       void* scratch, cudaStream_t stream);

}  // namespace cuda
}  // namespace kernels
}  // namespace flaggems

#endif  // FLAGGEMS_KERNELS_CUDA_OP_TOPK_LAUNCH_H_
