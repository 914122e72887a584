// Device side of sorted_add.h, shared by its .cu files.

#ifndef FLAGGEMS_KERNELS_CUDA_SORTED_ADD_CUH_
#define FLAGGEMS_KERNELS_CUDA_SORTED_ADD_CUH_

#include <cstdint>
#include <type_traits>

#include "flaggems/kernels/cuda/numeric.cuh"
#include "flaggems/kernels/cuda/sorted_add.h"

namespace flaggems {
namespace kernels {
namespace cuda {

inline constexpr int kSumThreads = 256;

// Keys in order are cut into chunks. A thread sums the runs of one chunk for
// `width` neighbouring columns; runs that go on in the next chunk leave their
// part in `partials`, [chunk][head of the chunk, tail][column], for a second
// kernel.
struct SumParams {
  const void* keys;          // sorted
  const uint32_t* ordinals;  // of the values, in that order
  const void* values;
  void* out;
  void* partials;
  uint64_t limit;
  int64_t columns;  // before * inner / width
  int64_t inner;    // in vectors of `width`
  int64_t before_stride;
  uint32_t count;
  uint32_t chunk;
  uint32_t chunks;
  int lanes;  // threads of a block side by side in a chunk, a power of two
  bool overwrite;
  bool mean;
};

// Defined in sorted_add_float.cu and sorted_add_integer.cu.
cudaError_t LaunchSums(Element element, bool wide, bool vectorised,
                       const SumParams& params, cudaStream_t stream);
cudaError_t LaunchIntegerSums(Element element, bool wide,
                              const SumParams& params, cudaStream_t stream);

template <typename T>
using SumOf = std::conditional_t<std::is_same_v<T, bool>, int32_t, Compute<T>>;

// Compute<bool> is bool: its sums are counts.
template <typename T>
__device__ __forceinline__ SumOf<T> ToSum(T x) {
  return static_cast<SumOf<T>>(ToCompute(x));
}

template <typename T, int V>
__device__ __forceinline__ void WriteSum(const SumParams& params, uint64_t key,
                                         int64_t b, int64_t a,
                                         const SumOf<T>* sum, uint32_t terms) {
  T* const out = static_cast<T*>(params.out) + b * params.before_stride +
                 (static_cast<int64_t>(key) * params.inner + a) * V;
  Vec<T, V> result;
  if (!params.overwrite) result = LoadVec<V>(out);
#pragma unroll
  for (int i = 0; i < V; ++i) {
    SumOf<T> value = sum[i];
    if (params.mean) value /= static_cast<SumOf<T>>(terms);
    if (!params.overwrite) value += ToSum(result.at[i]);
    if constexpr (std::is_same_v<T, bool>) {
      result.at[i] = value != 0;
    } else {
      result.at[i] = FromCompute<T>(value);
    }
  }
  StoreVec(out, result);
}

template <typename T, int V, typename Key>
__global__ void __launch_bounds__(kSumThreads)
    ChunkSumKernel(const __grid_constant__ SumParams params) {
  using Sum = SumOf<T>;
  constexpr int kUnroll = 4;
  const int lane = threadIdx.x & (params.lanes - 1);
  const uint32_t chunk =
      blockIdx.x * (kSumThreads / params.lanes) + threadIdx.x / params.lanes;
  if (chunk >= params.chunks) return;
  const Key* const keys = static_cast<const Key*>(params.keys);
  const uint32_t begin = chunk * params.chunk;
  const uint32_t end = min(params.count, begin + params.chunk);
  const Key limit = static_cast<Key>(params.limit);
  for (int64_t column = int64_t{blockIdx.y} * params.lanes + lane;
       column < params.columns; column += int64_t{gridDim.y} * params.lanes) {
    const int64_t b =
        params.columns == params.inner ? 0 : column / params.inner;
    const int64_t a = column - b * params.inner;
    const T* const values = static_cast<const T*>(params.values) +
                            (b * params.count * params.inner + a) * V;
    Sum* const partials = static_cast<Sum*>(params.partials);
    Sum sum[V] = {};
    Key key = keys[begin];
    uint32_t start = begin;
    bool is_head = begin > 0 && keys[begin - 1] == key;
    const auto write_partial = [&](int which) {
      Sum* const to =
          partials +
          ((int64_t{chunk} * 2 + which) * params.columns + column) * V;
#pragma unroll
      for (int i = 0; i < V; ++i) to[i] = sum[i];
    };
    for (uint32_t j = begin; j < end; j += kUnroll) {
      Key next[kUnroll];
      Vec<T, V> loaded[kUnroll];
#pragma unroll
      for (int u = 0; u < kUnroll; ++u) {
        if (j + u < end) {
          next[u] = keys[j + u];
          if (next[u] != limit) {
            loaded[u] = LoadVec<V>(values + int64_t{params.ordinals[j + u]} *
                                                params.inner * V);
          }
        }
      }
#pragma unroll
      for (int u = 0; u < kUnroll; ++u) {
        if (j + u >= end) break;
        if (next[u] != key) {
          if (is_head) {
            write_partial(0);
          } else if (key != limit) {
            WriteSum<T, V>(params, key, b, a, sum, j + u - start);
          }
          is_head = false;
          key = next[u];
          start = j + u;
#pragma unroll
          for (int i = 0; i < V; ++i) sum[i] = 0;
        }
        if (key == limit) break;
#pragma unroll
        for (int i = 0; i < V; ++i) sum[i] += ToSum(loaded[u].at[i]);
      }
      if (key == limit) break;
    }
    if (key == limit) continue;
    if (is_head) {
      write_partial(0);
    } else if (end < params.count && keys[end] == key) {
      write_partial(1);
    } else {
      WriteSum<T, V>(params, key, b, a, sum, end - start);
    }
  }
}

// First position from `low` on whose key is not less than (or, `above`, greater
// than) key.
template <typename Key>
__device__ __forceinline__ uint32_t FindKey(const Key* keys, uint32_t low,
                                            uint32_t high, Key key,
                                            bool above) {
  while (low < high) {
    const uint32_t middle = low + (high - low) / 2;
    if (keys[middle] < key || (above && keys[middle] == key)) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low;
}

// The sums of runs over several chunks, by the chunk where they begin.
template <typename T, int V, typename Key>
__global__ void __launch_bounds__(kSumThreads)
    RunSumKernel(const __grid_constant__ SumParams params) {
  using Sum = SumOf<T>;
  const int lane = threadIdx.x & (params.lanes - 1);
  const uint32_t chunk =
      blockIdx.x * (kSumThreads / params.lanes) + threadIdx.x / params.lanes;
  if (chunk >= params.chunks) return;
  const Key* const keys = static_cast<const Key*>(params.keys);
  const uint32_t begin = chunk * params.chunk;
  const uint32_t end = min(params.count, begin + params.chunk);
  if (end >= params.count) return;
  const Key key = keys[end - 1];
  if (keys[end] != key || key == static_cast<Key>(params.limit)) return;
  // Begun in an earlier chunk?
  if (begin > 0 && keys[begin] == key && keys[begin - 1] == key) return;
  const uint32_t first = FindKey(keys, begin, end, key, false);
  const uint32_t last = FindKey(keys, end, params.count, key, true);
  const uint32_t last_chunk = (last - 1) / params.chunk;
  const Sum* const partials = static_cast<const Sum*>(params.partials);
  for (int64_t column = int64_t{blockIdx.y} * params.lanes + lane;
       column < params.columns; column += int64_t{gridDim.y} * params.lanes) {
    const int64_t b =
        params.columns == params.inner ? 0 : column / params.inner;
    const int64_t a = column - b * params.inner;
    const auto partial = [&](uint32_t c, int which) {
      return partials +
             ((int64_t{c} * 2 + which) * params.columns + column) * V;
    };
    Sum sum[V];
#pragma unroll
    for (int i = 0; i < V; ++i) sum[i] = partial(chunk, 1)[i];
#pragma unroll 4
    for (uint32_t c = chunk + 1; c <= last_chunk; ++c) {
#pragma unroll
      for (int i = 0; i < V; ++i) sum[i] += partial(c, 0)[i];
    }
    WriteSum<T, V>(params, key, b, a, sum, last - first);
  }
}

template <typename T, int V, typename Key>
cudaError_t LaunchSumsOf(const SumParams& params, cudaStream_t stream) {
  const uint32_t per_block = kSumThreads / params.lanes;
  const int64_t columns = (params.columns - 1) / params.lanes + 1;
  const dim3 grid((params.chunks - 1) / per_block + 1,
                  static_cast<unsigned>(columns < 65535 ? columns : 65535));
  ChunkSumKernel<T, V, Key><<<grid, kSumThreads, 0, stream>>>(params);
  if (params.chunks > 1) {
    RunSumKernel<T, V, Key><<<grid, kSumThreads, 0, stream>>>(params);
  }
  return cudaGetLastError();
}

}  // namespace cuda
}  // namespace kernels
}  // namespace flaggems

#endif  // FLAGGEMS_KERNELS_CUDA_SORTED_ADD_CUH_
