// Rows that fit in the shared memory of a block.

#include <cstdint>
#include <cub/block/block_radix_sort.cuh>
#include <type_traits>

#include "flaggems/kernels/cuda/op_sort_launch.h"
#include "flaggems/kernels/cuda/sort_key.cuh"

namespace flaggems {
namespace kernels {
namespace cuda {
namespace {

template <typename U, int kThreads, int kItems>
__global__ void __launch_bounds__(kThreads)
    BlockSort(SortKey<U> key, int64_t n, const U* __restrict__ in,
              U* __restrict__ values, int64_t* __restrict__ indices) {
  using Sort = cub::BlockRadixSort<U, kThreads, kItems, uint16_t>;
  extern __shared__ __align__(16) unsigned char memory[];
  auto& storage = *reinterpret_cast<typename Sort::TempStorage*>(memory);
  const U* const x = in + blockIdx.x * n;
  U keys[kItems];
  uint16_t at[kItems];
#pragma unroll
  for (int i = 0; i < kItems; ++i) {
    const int index = threadIdx.x * kItems + i;
    // What stands behind the row comes last: the sort is stable.
    keys[i] = index < n ? key(__ldg(x + index)) : static_cast<U>(~U{0});
    at[i] = static_cast<uint16_t>(index);
  }
  Sort(storage).SortBlockedToStriped(keys, at);
  U* const v = values + blockIdx.x * n;
  int64_t* const p = indices + blockIdx.x * n;
#pragma unroll
  for (int i = 0; i < kItems; ++i) {
    const int index = i * kThreads + threadIdx.x;
    if (index < n) {
      v[index] = __ldg(x + at[i]);
      p[index] = at[i];
    }
  }
}

template <typename U, int kThreads, int kItems>
cudaError_t Launch(const SortKey<U>& key, int64_t rows, int64_t n,
                   const void* in, void* values, int64_t* indices,
                   cudaStream_t stream) {
  using Sort = cub::BlockRadixSort<U, kThreads, kItems, uint16_t>;
  constexpr int kBytes = static_cast<int>(sizeof(typename Sort::TempStorage));
  if (kBytes > 48 * 1024) {
    const cudaError_t error = cudaFuncSetAttribute(
        BlockSort<U, kThreads, kItems>,
        cudaFuncAttributeMaxDynamicSharedMemorySize, kBytes);
    if (error != cudaSuccess) return error;
  }
  BlockSort<U, kThreads, kItems>
      <<<static_cast<unsigned>(rows), kThreads, kBytes, stream>>>(
          key, n, static_cast<const U*>(in), static_cast<U*>(values), indices);
  return cudaGetLastError();
}

}  // namespace

cudaError_t LaunchBlockSort(Element type, bool descending, int64_t rows,
                            int64_t n, const void* in, void* values,
                            int64_t* indices, cudaStream_t stream) {
  if (rows > INT32_MAX) return cudaErrorInvalidConfiguration;
  return ForSortWidth(type, [&](auto tag) -> cudaError_t {
    using U = typename decltype(tag)::Type;
    const SortKey<U> key = MakeSortKey<U>(type, descending);
    if (n <= 128) {
      return Launch<U, 64, 2>(key, rows, n, in, values, indices, stream);
    }
    if (n <= 1024) {
      return Launch<U, 128, 8>(key, rows, n, in, values, indices, stream);
    }
    if (n <= 4096) {
      return Launch<U, 256, 16>(key, rows, n, in, values, indices, stream);
    }
    if (n <= 8192) {
      return Launch<U, 512, 16>(key, rows, n, in, values, indices, stream);
    }
    if constexpr (sizeof(U) < 8) {
      return Launch<U, 1024, 16>(key, rows, n, in, values, indices, stream);
    }
    return cudaErrorInvalidConfiguration;
  });
}

}  // namespace cuda
}  // namespace kernels
}  // namespace flaggems
