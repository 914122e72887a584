// Stable sorting of rows, device side.

#ifndef FLAGGEMS_KERNELS_CUDA_OP_SORT_LAUNCH_H_
#define FLAGGEMS_KERNELS_CUDA_OP_SORT_LAUNCH_H_

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>

#include "flaggems/kernels/cuda/element.h"

namespace flaggems {
namespace kernels {
namespace cuda {

// Scratch that LaunchSort needs; 0 for rows that a block holds.
cudaError_t SortScratchBytes(Element type, int64_t rows, int64_t n,
                             size_t* bytes);

// Sorts dense rows of n elements, n < 2^31, each row by itself and stable: NaN
// is the largest, the two zeros are equal. Values keep their bits. Every
// element type. `in` may not be `values`.
cudaError_t LaunchSort(Element type, bool descending, int64_t rows, int64_t n,
                       const void* in, void* values, int64_t* indices,
                       void* scratch, size_t scratch_bytes,
                       cudaStream_t stream);

// Rows that one block sorts.
inline constexpr int64_t kMaxBlockSort = 16384;
inline constexpr int64_t kMaxBlockSortWide = 8192;  // of 8-byte elements

cudaError_t LaunchBlockSort(Element type, bool descending, int64_t rows,
                            int64_t n, const void* in, void* values,
                            int64_t* indices, cudaStream_t stream);

}  // namespace cuda
}  // namespace kernels
}  // namespace flaggems

#endif  // FLAGGEMS_KERNELS_CUDA_OP_SORT_LAUNCH_H_
