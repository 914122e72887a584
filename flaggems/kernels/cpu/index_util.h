// Copies of slices by index, shared by index_select and embedding.

#ifndef FLAGGEMS_KERNELS_CPU_INDEX_UTIL_H_
#define FLAGGEMS_KERNELS_CPU_INDEX_UTIL_H_

#include <ATen/core/Tensor.h>

#include <cstdint>

namespace flaggems {
namespace kernels {
namespace cpu {

// For each o < outer and i < count: copies the slice of `bytes` bytes number
// index[i] of the `slices` slices at in + o * slices * bytes to slice number i
// of out + o * count * bytes. index is contiguous, int32 or int64. Throws
// c10::IndexError for an index outside [0, slices), before it writes.
void CopySlices(const char* in, int64_t outer, int64_t slices, int64_t bytes,
                const at::Tensor& index, char* out);

}  // namespace cpu
}  // namespace kernels
}  // namespace flaggems

#endif  // FLAGGEMS_KERNELS_CPU_INDEX_UTIL_H_
