// Copies and additions between a tensor and another whose elements are chosen
// by index tensors: what index_select, embedding, gather, index, index_put and
// scatter_add are made of.
//
// No torch header.

#ifndef FLAGGEMS_KERNELS_CUDA_INDEXED_H_
#define FLAGGEMS_KERNELS_CUDA_INDEXED_H_

#include <cuda_runtime_api.h>

#include <cstdint>

#include "flaggems/kernels/cuda/element.h"

namespace flaggems {
namespace kernels {
namespace cuda {

// As many as aten's iterator has for CUDA.
inline constexpr int kMaxIndexedDims = 25;

// A loop over `dims` dimensions, the innermost first. At position p:
//   chosen = sum over k of indices[k].data[p . index_stride] *
//   indices[k].stride to[p . to_stride + chosen] = from[p . from_stride]
//   (IndexedSide::kTo) to[p . to_stride] = from[p . from_stride + chosen]
//   (IndexedSide::kFrom)
// All strides are in bytes; those of `to` and `from` leave the chosen part out.
struct Indexed {
  struct Index {
    const void* data;
    int64_t size;    // valid: [0, size), or [-size, size) if `wraps`
    int64_t stride;  // of the chosen dimension
  };

  int dims = 0;
  int64_t sizes[kMaxIndexedDims];
  int64_t to_stride[kMaxIndexedDims];
  int64_t from_stride[kMaxIndexedDims];
  int64_t index_stride[kMaxIndexedDims];
  int indices = 0;
  Index index[kMaxIndexedDims];
  bool int32_indices = false;  // else int64
  bool wraps = false;          // negative indices count from the end
  void* to = nullptr;
  const void* from = nullptr;
};

enum class IndexedSide { kFrom, kTo };

// Moves elements of `bytes` (1, 2, 4, 8, 16) bytes; contiguous runs that all
// have one index move up to 16 bytes a thread. An index out of range is a
// device assertion. Where several positions have one target, any of them wins.
cudaError_t LaunchIndexedCopy(const Indexed& indexed, int bytes,
                              IndexedSide side, cudaStream_t stream);

// Adds in place of assigning (IndexedSide::kTo, one index tensor), with atomic
// operations of the element type: in no fixed order. A sum of 16-bit floating
// elements is rounded at each addition. Bools: or. See SumsFewTargets for what
// is done otherwise. Targets of different positions in the other dimensions
// must differ.
cudaError_t LaunchIndexedAdd(const Indexed& indexed, Element element,
                             cudaStream_t stream);

// Whether LaunchIndexedAdd sums the terms of each target in float before it
// adds them: for float and 16-bit floating elements, long rows of indices along
// the chosen dimension and few targets in it. 16-bit elements are then rounded
// once, in a fixed order; float, too, where there are many rows.
bool SumsFewTargets(const Indexed& indexed, Element element);

// For a later sort: keys[i] = the chosen offset (strides of the indices are in
// whatever the caller counts in; `to` and `from` are not used) of position i,
// counted with the innermost dimension first, or limit where the first index
// equals `skipped`; ordinals[i] = i. Keys are uint64_t if `wide`, else
// uint32_t.
struct IndexKeys {
  void* keys;
  uint32_t* ordinals;
  uint64_t limit;
  int64_t skipped;
  bool has_skipped;
  bool wide;
};
cudaError_t LaunchIndexKeys(const Indexed& indexed, const IndexKeys& keys,
                            cudaStream_t stream);

}  // namespace cuda
}  // namespace kernels
}  // namespace flaggems

#endif  // FLAGGEMS_KERNELS_CUDA_INDEXED_H_
