// Longer rows: one radix sort of all of them with the row in front of the key.

#include <algorithm>
#include <cstdint>
#include <cub/device/device_radix_sort.cuh>
#include <type_traits>

#include "flaggems/kernels/cuda/op_sort_launch.h"
#include "flaggems/kernels/cuda/sort_key.cuh"

namespace flaggems {
namespace kernels {
namespace cuda {
namespace {

constexpr int kThreads = 256;

unsigned Blocks(int64_t n) {
  return static_cast<unsigned>(
      std::min<int64_t>((n + kThreads - 1) / kThreads, 1 << 20));
}

// Several rows only with U narrower than K.
template <typename U, typename K>
__global__ void MakeKeys(SortKey<U> key, int64_t n, int64_t count,
                         const U* __restrict__ in, K* __restrict__ keys,
                         uint32_t* __restrict__ at) {
  for (int64_t i = int64_t{blockIdx.x} * kThreads + threadIdx.x; i < count;
       i += int64_t{gridDim.x} * kThreads) {
    // The division is dear.
    const int64_t row = n == count ? 0 : i / n;
    K k = key(in[i]);
    if constexpr (sizeof(K) > sizeof(U)) {
      k |= static_cast<K>(row) << (8 * sizeof(U));
    }
    keys[i] = k;
    at[i] = static_cast<uint32_t>(i - row * n);
  }
}

// Elements come from their keys, but for zeros and NaN, which are read again.
template <typename U, typename K>
__global__ void Unmake(SortKey<U> key, int64_t n, int64_t count,
                       const U* __restrict__ in, const K* __restrict__ keys,
                       const uint32_t* __restrict__ at, U* __restrict__ values,
                       int64_t* __restrict__ indices) {
  for (int64_t i = int64_t{blockIdx.x} * kThreads + threadIdx.x; i < count;
       i += int64_t{gridDim.x} * kThreads) {
    const uint32_t index = at[i];
    const U k = static_cast<U>(keys[i]);
    U bits = key.Bits(k);
    if (key.Ambiguous(k)) {
      bits = in[(n == count ? 0 : i / n * n) + index];
    }
    values[i] = bits;
    indices[i] = index;
  }
}

size_t Aligned(size_t bytes) { return (bytes + 255) / 256 * 256; }

// Keys and positions twice (cub goes to and fro), and cub's own.
template <typename K>
struct Layout {
  size_t keys, at, own;
  size_t Total() const { return 2 * (keys + at) + own; }
};

template <typename K>
cudaError_t LayoutOf(int64_t count, int bits, Layout<K>* layout) {
  layout->keys = Aligned(static_cast<size_t>(count) * sizeof(K));
  layout->at = Aligned(static_cast<size_t>(count) * sizeof(uint32_t));
  cub::DoubleBuffer<K> keys(nullptr, nullptr);
  cub::DoubleBuffer<uint32_t> at(nullptr, nullptr);
  layout->own = 0;
  return cub::DeviceRadixSort::SortPairs(nullptr, layout->own, keys, at, count,
                                         0, bits);
}

int BitsOf(int64_t rows) {
  int bits = 0;
  while ((int64_t{1} << bits) < rows) ++bits;
  return bits;
}

// The key of several rows at once. Rows of 8-byte elements, and more rows than
// it has room for, go one at a time.
template <typename U>
using WideKey = std::conditional_t<sizeof(U) < 4, uint32_t, uint64_t>;

// The key of one row.
template <typename U>
using LineKey = std::conditional_t<sizeof(U) == 1, uint32_t, U>;

template <typename U>
int64_t RowsTogether(int64_t rows) {
  return 8 * sizeof(U) + BitsOf(rows) <= 8 * sizeof(WideKey<U>) ? rows : 1;
}

template <typename U, typename K>
cudaError_t Sort(const SortKey<U>& key, int64_t rows, int64_t together,
                 int64_t n, const U* in, U* values, int64_t* indices,
                 char* scratch, size_t bytes, cudaStream_t stream) {
  const int64_t count = together * n;
  const int bits = 8 * sizeof(U) + BitsOf(together);
  Layout<K> layout;
  cudaError_t error = LayoutOf(count, bits, &layout);
  if (error != cudaSuccess) return error;
  if (bytes < layout.Total()) return cudaErrorInvalidValue;
  for (int64_t row = 0; row < rows; row += together) {
    cub::DoubleBuffer<K> keys(reinterpret_cast<K*>(scratch),
                              reinterpret_cast<K*>(scratch + layout.keys));
    char* const rest = scratch + 2 * layout.keys;
    cub::DoubleBuffer<uint32_t> at(
        reinterpret_cast<uint32_t*>(rest),
        reinterpret_cast<uint32_t*>(rest + layout.at));
    const int64_t offset = row * n;
    MakeKeys<U, K><<<Blocks(count), kThreads, 0, stream>>>(
        key, n, count, in + offset, keys.Current(), at.Current());
    size_t own = layout.own;
    error = cub::DeviceRadixSort::SortPairs(rest + 2 * layout.at, own, keys, at,
                                            count, 0, bits, stream);
    if (error != cudaSuccess) return error;
    Unmake<U, K><<<Blocks(count), kThreads, 0, stream>>>(
        key, n, count, in + offset, keys.Current(), at.Current(),
        values + offset, indices + offset);
    error = cudaGetLastError();
    if (error != cudaSuccess) return error;
  }
  return cudaSuccess;
}

bool FitsBlock(size_t bytes, int64_t n) {
  return n <= (bytes == 8 ? kMaxBlockSortWide : kMaxBlockSort);
}

}  // namespace

cudaError_t SortScratchBytes(Element type, int64_t rows, int64_t n,
                             size_t* bytes) {
  return ForSortWidth(type, [&](auto tag) {
    using U = typename decltype(tag)::Type;
    *bytes = 0;
    if (FitsBlock(sizeof(U), n)) return cudaSuccess;
    const int64_t together = RowsTogether<U>(rows);
    const int bits = 8 * sizeof(U) + BitsOf(together);
    const auto measure = [&](auto key_tag) {
      Layout<typename decltype(key_tag)::Type> layout;
      const cudaError_t error = LayoutOf(together * n, bits, &layout);
      *bytes = layout.Total();
      return error;
    };
    return together == 1 ? measure(TypeTag<LineKey<U>>())
                         : measure(TypeTag<WideKey<U>>());
  });
}

cudaError_t LaunchSort(Element type, bool descending, int64_t rows, int64_t n,
                       const void* in, void* values, int64_t* indices,
                       void* scratch, size_t scratch_bytes,
                       cudaStream_t stream) {
  return ForSortWidth(type, [&](auto tag) {
    using U = typename decltype(tag)::Type;
    if (FitsBlock(sizeof(U), n)) {
      return LaunchBlockSort(type, descending, rows, n, in, values, indices,
                             stream);
    }
    const int64_t together = RowsTogether<U>(rows);
    const auto run = [&](auto key_tag) {
      using K = typename decltype(key_tag)::Type;
      return Sort<U, K>(MakeSortKey<U>(type, descending), rows, together, n,
                        static_cast<const U*>(in), static_cast<U*>(values),
                        indices, static_cast<char*>(scratch), scratch_bytes,
                        stream);
    };
    return together == 1 ? run(TypeTag<LineKey<U>>())
                         : run(TypeTag<WideKey<U>>());
  });
}

}  // namespace cuda
}  // namespace kernels
}  // namespace flaggems
