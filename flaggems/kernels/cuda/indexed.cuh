// Device side of indexed.h, shared by its .cu files.

#ifndef FLAGGEMS_KERNELS_CUDA_INDEXED_CUH_
#define FLAGGEMS_KERNELS_CUDA_INDEXED_CUH_

#include <cstdint>

#include "flaggems/kernels/cuda/device_assert.cuh"
#include "flaggems/kernels/cuda/fast_divide.cuh"
#include "flaggems/kernels/cuda/indexed.h"

namespace flaggems {
namespace kernels {
namespace cuda {

inline constexpr int kIndexedThreads = 256;

// What a kernel gets of an Indexed of fewer than 2^31 positions, up to kMaxDims
// dimensions and kMaxIndices index tensors. Parameters that are used together
// lie together: the first call of a kernel waits for each line of them.
template <int kMaxDims, int kMaxIndices>
struct IndexedParamsOf {
  IndexedParamsOf() {}
  // The same with other room, which has to be enough.
  template <int kDims, int kIndices>
  explicit IndexedParamsOf(const IndexedParamsOf<kDims, kIndices>& from)
      : positions(from.positions),
        dims(from.dims),
        indices(from.indices),
        wraps(from.wraps),
        to(from.to),
        from(from.from) {
    for (int d = 0; d < from.dims; ++d) {
      dim[d].size = from.dim[d].size;
      dim[d].to_stride = from.dim[d].to_stride;
      dim[d].from_stride = from.dim[d].from_stride;
      dim[d].index_stride = from.dim[d].index_stride;
    }
    for (int k = 0; k < from.indices; ++k) index[k] = from.index[k];
  }

  struct Dim {
    FastDivide size;
    int64_t to_stride;
    int64_t from_stride;
    int64_t index_stride;
  };

  uint32_t positions;
  int dims;
  int indices;
  bool wraps;
  char* to;
  const char* from;
  // In a union, so that those that are not used cost nothing.
  union {
    Dim dim[kMaxDims];
  };
  Indexed::Index index[kMaxIndices];
};
using IndexedParams = IndexedParamsOf<kMaxIndexedDims, kMaxIndexedDims>;

struct IndexedOffsets {
  int64_t to = 0;
  int64_t from = 0;
  int64_t index = 0;
};

// Of a position in the dimensions from `first` on. kDims: their number, if the
// compiler is to know it, else 0.
template <int kDims = 0, typename Params>
__device__ __forceinline__ IndexedOffsets OffsetsAt(const Params& params,
                                                    uint32_t position,
                                                    int first = 0) {
  IndexedOffsets offsets;
  const auto add = [&](int d, int64_t at) {
    offsets.to += at * params.dim[d].to_stride;
    offsets.from += at * params.dim[d].from_stride;
    offsets.index += at * params.dim[d].index_stride;
  };
  // The outermost dimension has the whole rest.
  if constexpr (kDims > 0) {
#pragma unroll
    for (int d = 0; d < kDims - 1; ++d) {
      add(d, params.dim[d].size.DivideInPlace(&position));
    }
    add(kDims - 1, position);
  } else {
#pragma unroll 1
    for (int d = first; d < params.dims - 1; ++d) {
      add(d, params.dim[d].size.DivideInPlace(&position));
    }
    if (params.dims > first) add(params.dims - 1, position);
  }
  return offsets;
}

template <typename Index>
__device__ __forceinline__ int64_t ChosenAt(const IndexedParams& params,
                                            int64_t index_offset) {
  int64_t chosen = 0;
#pragma unroll 1
  for (int k = 0; k < params.indices; ++k) {
    const Indexed::Index& index = params.index[k];
    int64_t i = *reinterpret_cast<const Index*>(
        static_cast<const char*>(index.data) + index_offset);
    if (params.wraps && i < 0) i += index.size;
    FG_DEVICE_ASSERT(i >= 0 && i < index.size && "index out of bounds");
    chosen += i * index.stride;
  }
  return chosen;
}

// Drops dimensions of size 1 and merges those that are one run in all operands.
void Collapse(Indexed* indexed);

int64_t PositionsOf(const Indexed& indexed);

// f(params) for parts of fewer than 2^31 positions, in order; no dimension
// below first_cut is cut.
template <typename F>
cudaError_t ForEachPart(const Indexed& indexed, F f, int first_cut = 0) {
  const int64_t positions = PositionsOf(indexed);
  if (positions == 0) return cudaSuccess;
  if (positions < (int64_t{1} << 31)) {
    IndexedParams params;
    params.positions = static_cast<uint32_t>(positions);
    params.dims = indexed.dims;
    params.indices = indexed.indices;
    params.wraps = indexed.wraps;
    for (int d = 0; d < indexed.dims; ++d) {
      params.dim[d].size = FastDivide(static_cast<uint32_t>(indexed.sizes[d]));
      params.dim[d].to_stride = indexed.to_stride[d];
      params.dim[d].from_stride = indexed.from_stride[d];
      params.dim[d].index_stride = indexed.index_stride[d];
    }
    for (int k = 0; k < indexed.indices; ++k) {
      params.index[k] = indexed.index[k];
    }
    params.to = static_cast<char*>(indexed.to);
    params.from = static_cast<const char*>(indexed.from);
    return f(params);
  }
  // Two halves of the longest dimension.
  int longest = first_cut;
  for (int d = first_cut + 1; d < indexed.dims; ++d) {
    if (indexed.sizes[d] > indexed.sizes[longest]) longest = d;
  }
  const int64_t half = indexed.sizes[longest] / 2;
  Indexed part = indexed;
  part.sizes[longest] = half;
  const cudaError_t error = ForEachPart(part, f, first_cut);
  if (error != cudaSuccess) return error;
  part.sizes[longest] = indexed.sizes[longest] - half;
  part.to = static_cast<char*>(part.to) + half * indexed.to_stride[longest];
  part.from =
      static_cast<const char*>(part.from) + half * indexed.from_stride[longest];
  for (int k = 0; k < part.indices; ++k) {
    part.index[k].data = static_cast<const char*>(part.index[k].data) +
                         half * indexed.index_stride[longest];
  }
  return ForEachPart(part, f, first_cut);
}

}  // namespace cuda
}  // namespace kernels
}  // namespace flaggems

#endif  // FLAGGEMS_KERNELS_CUDA_INDEXED_CUH_
