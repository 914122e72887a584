// Sums of slices that have the same key, in a fixed order: what the gradient of
// embedding and an accumulating index_put are made of. Sorts the keys (CUB,
// stable) and sums runs of equal ones.
//
// No torch header.

#ifndef FLAGGEMS_KERNELS_CUDA_SORTED_ADD_H_
#define FLAGGEMS_KERNELS_CUDA_SORTED_ADD_H_

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>

#include "flaggems/kernels/cuda/element.h"

namespace flaggems {
namespace kernels {
namespace cuda {

// For each b < before, a < inner and each key k that occurs:
//   out[b * before_stride + k * inner + a] =
//       (overwrite ? 0 : itself) + sum of values[b, i, a] over i with key k
// values is (before, count, inner), contiguous. 16-bit floating types and float
// are summed in float and rounded once; bools: or.
struct SortedAdd {
  Element element;
  int64_t count;   // of keys; below 2^31
  uint64_t limit;  // keys are below it; those that equal it are left out
  int64_t before;
  int64_t inner;
  int64_t before_stride;
  const void* values;
  void* out;
  bool overwrite;
  bool mean;  // the sum divided by the number of its terms
};

// Where in the scratch memory of `bytes` bytes the keys (uint64_t if `wide`,
// else uint32_t) and the ordinals 0, 1, ... (uint32_t) are to be put.
struct SortedAddScratch {
  size_t bytes;
  size_t keys;
  size_t ordinals;
  bool wide;
};
SortedAddScratch SortedAddScratchOf(const SortedAdd& add, int element_bytes);

// cudaErrorNotSupported for 2^31 keys and more.
cudaError_t LaunchSortedAdd(const SortedAdd& add, int element_bytes,
                            void* scratch, cudaStream_t stream);

}  // namespace cuda
}  // namespace kernels
}  // namespace flaggems

#endif  // FLAGGEMS_KERNELS_CUDA_SORTED_ADD_H_
