#include <type_traits>

#include "flaggems/kernels/cuda/indexed.cuh"
#include "flaggems/kernels/cuda/indexed.h"
#include "flaggems/kernels/cuda/numeric.cuh"

namespace flaggems {
namespace kernels {
namespace cuda {
namespace {

constexpr int kUnroll = 4;

// Integers narrower than a word: exchange of the word that holds them.
template <typename T>
__device__ __forceinline__ void AtomicAddNarrow(T* target, T value) {
  const uintptr_t address = reinterpret_cast<uintptr_t>(target);
  unsigned int* const word =
      reinterpret_cast<unsigned int*>(address & ~uintptr_t{3});
  const unsigned int shift = static_cast<unsigned int>(address & 3) * 8;
  constexpr unsigned int kMask = sizeof(T) == 1 ? 0xffu : 0xffffu;
  unsigned int seen = *word;
  unsigned int expected;
  do {
    expected = seen;
    const unsigned int old = (expected >> shift) & kMask;
    unsigned int sum;
    if (std::is_same_v<T, bool>) {
      sum = (old != 0 || value) ? 1u : 0u;
    } else {
      sum = (old + static_cast<unsigned int>(value)) & kMask;
    }
    seen = atomicCAS(word, expected,
                     (expected & ~(kMask << shift)) | (sum << shift));
  } while (seen != expected);
}

// 16-bit floating types: pairs have an atomic addition that is faster than that
// of one. The other of the pair gets -0, which changes no number.
template <typename Pair, typename T>
__device__ __forceinline__ void AtomicAddPair(T* target, T value,
                                              T minus_zero) {
  const uintptr_t address = reinterpret_cast<uintptr_t>(target);
  Pair pair;
  const bool is_high = (address & 2) != 0;
  pair.x = is_high ? minus_zero : value;
  pair.y = is_high ? value : minus_zero;
  atomicAdd(reinterpret_cast<Pair*>(address & ~uintptr_t{3}), pair);
}

template <typename T>
__device__ __forceinline__ void AtomicAdd(T* target, T value) {
  if constexpr (std::is_same_v<T, __half>) {
    AtomicAddPair<__half2>(target, value, __ushort_as_half(0x8000));
  } else if constexpr (std::is_same_v<T, __nv_bfloat16>) {
    AtomicAddPair<__nv_bfloat162>(target, value, __ushort_as_bfloat16(0x8000));
  } else if constexpr (std::is_same_v<T, int64_t>) {
    // Two's complement: the same sum.
    atomicAdd(reinterpret_cast<unsigned long long*>(target),
              static_cast<unsigned long long>(value));
  } else if constexpr (sizeof(T) == 1 || std::is_same_v<T, int16_t>) {
    AtomicAddNarrow(target, value);
  } else {
    atomicAdd(target, value);
  }
}

template <typename T, typename Index>
__global__ void __launch_bounds__(kIndexedThreads)
    IndexedAddKernel(const __grid_constant__ IndexedParams params) {
  const uint32_t first = blockIdx.x * (kIndexedThreads * kUnroll) + threadIdx.x;
  T values[kUnroll];
  char* targets[kUnroll];
  int64_t chosen[kUnroll];
#pragma unroll
  for (int u = 0; u < kUnroll; ++u) {
    const uint32_t position = first + u * kIndexedThreads;
    targets[u] = nullptr;
    chosen[u] = 0;
    if (position < params.positions) {
      const IndexedOffsets offsets = OffsetsAt(params, position);
      values[u] = *reinterpret_cast<const T*>(params.from + offsets.from);
      chosen[u] = *reinterpret_cast<const Index*>(
          static_cast<const char*>(params.index[0].data) + offsets.index);
      targets[u] = params.to + offsets.to;
    }
  }
  const int64_t size = params.index[0].size;
  bool valid = true;
#pragma unroll
  for (int u = 0; u < kUnroll; ++u) {
    if (params.wraps && chosen[u] < 0) chosen[u] += size;
    valid =
        valid && static_cast<uint64_t>(chosen[u]) < static_cast<uint64_t>(size);
  }
  FG_DEVICE_ASSERT((valid || first >= params.positions) &&
                   "index out of bounds");
#pragma unroll
  for (int u = 0; u < kUnroll; ++u) {
    if (targets[u] != nullptr) {
      AtomicAdd(
          reinterpret_cast<T*>(targets[u] + chosen[u] * params.index[0].stride),
          values[u]);
    }
  }
}

// Few targets, for which atomic additions wait for each other: a block has one
// row of indices, or a part of it, and each thread sums of its own in shared
// memory, [target][thread], where no two threads of a warp meet in a bank.
constexpr int kFewThreads = 128;
constexpr int kFewUnroll = 8;
constexpr int kMaxFewTargets = 96;  // 48 KiB of sums
constexpr int64_t kMinFewRow = 512;
constexpr int64_t kFewRowPerTarget = 16;
// Fewer rows are cut in parts of at least kMinFewPart, about kFewBlocks in all.
constexpr int64_t kMinFewRows = 264;
constexpr int64_t kFewBlocks = 1056;
constexpr int64_t kMinFewPart = 2048;

// Dimension 0 is the chosen one. `is_atomic`: several blocks have a row.
template <typename T, typename Index>
__global__ void __launch_bounds__(kFewThreads)
    FewTargetsKernel(const __grid_constant__ IndexedParams params,
                     uint32_t row_size, uint32_t part_size, FastDivide parts,
                     bool is_atomic) {
  extern __shared__ float few_sums[];
  constexpr int kWarps = kFewThreads / 32;
  const int targets = static_cast<int>(params.index[0].size);
  float* const own = few_sums + threadIdx.x;
  // -0 changes no number: a target without terms keeps its sign.
  for (int t = 0; t < targets; ++t) own[t * kFewThreads] = -0.0f;
  uint32_t row = blockIdx.x;
  const uint32_t begin = parts.DivideInPlace(&row) * part_size;
  const uint32_t end = min(row_size, begin + part_size);
  const IndexedOffsets offsets = OffsetsAt(params, row, 1);
  const char* const from = params.from + offsets.from;
  const char* const index =
      static_cast<const char*>(params.index[0].data) + offsets.index;
  for (uint32_t i = begin + threadIdx.x; i < end;
       i += kFewThreads * kFewUnroll) {
    T values[kFewUnroll];
    int64_t chosen[kFewUnroll];
#pragma unroll
    for (int u = 0; u < kFewUnroll; ++u) {
      const int64_t at = i + u * kFewThreads;
      chosen[u] = 0;
      values[u] = FromCompute<T>(0.0f);
      if (at < end) {
        chosen[u] = *reinterpret_cast<const Index*>(
            index + at * params.dim[0].index_stride);
        values[u] =
            *reinterpret_cast<const T*>(from + at * params.dim[0].from_stride);
      }
    }
    bool valid = true;
#pragma unroll
    for (int u = 0; u < kFewUnroll; ++u) {
      if (params.wraps && chosen[u] < 0) chosen[u] += targets;
      valid = valid &&
              static_cast<uint64_t>(chosen[u]) < static_cast<uint64_t>(targets);
    }
    FG_DEVICE_ASSERT(valid && "index out of bounds");
#pragma unroll
    for (int u = 0; u < kFewUnroll; ++u) {
      if (i + u * kFewThreads < end) {
        own[static_cast<int>(chosen[u]) * kFewThreads] += ToCompute(values[u]);
      }
    }
  }
  __syncthreads();
  // A warp sums the threads of a target, into the first one's place.
  const int lane = threadIdx.x % 32;
  for (int t = threadIdx.x / 32; t < targets; t += kWarps) {
    float* const sums = few_sums + t * kFewThreads;
    float sum = -0.0f;
#pragma unroll
    for (int w = 0; w < kWarps; ++w) sum += sums[w * 32 + lane];
#pragma unroll
    for (int delta = 16; delta > 0; delta /= 2) {
      sum += __shfl_xor_sync(0xffffffffu, sum, delta);
    }
    if (lane == 0) sums[0] = sum;
  }
  __syncthreads();
  if (threadIdx.x >= targets) return;
  T* const to = reinterpret_cast<T*>(params.to + offsets.to +
                                     threadIdx.x * params.index[0].stride);
  const float sum = few_sums[threadIdx.x * kFewThreads];
  if constexpr (std::is_same_v<T, float>) {
    if (is_atomic) {
      atomicAdd(to, sum);
      return;
    }
  }
  *to = FromCompute<T>(ToCompute(*to) + sum);
}

// Of a collapsed loop.
bool IsFewTargets(const Indexed& collapsed, Element element) {
  if (element != Element::kFloat32 && element != Element::kFloat16 &&
      element != Element::kBFloat16) {
    return false;
  }
  if (collapsed.indices != 1 || collapsed.dims == 0 ||
      collapsed.to_stride[0] != 0 || collapsed.index_stride[0] == 0) {
    return false;
  }
  const int64_t row = collapsed.sizes[0];
  const int64_t targets = collapsed.index[0].size;
  const int64_t positions = PositionsOf(collapsed);
  if (targets < 1 || targets > kMaxFewTargets || row < kMinFewRow ||
      row < kFewRowPerTarget * targets || positions >= (int64_t{1} << 31)) {
    return false;
  }
  // A part of a row would be one more rounding.
  return element == Element::kFloat32 || positions / row >= kMinFewRows;
}

template <typename T>
cudaError_t LaunchFewTargets(const Indexed& collapsed, cudaStream_t stream) {
  const int64_t row = collapsed.sizes[0];
  const int64_t rows = PositionsOf(collapsed) / row;
  int64_t parts = 1;
  if (rows < kMinFewRows) {
    const int64_t wanted = (kFewBlocks - 1) / rows + 1;
    const int64_t most = (row - 1) / kMinFewPart + 1;
    parts = wanted < most ? wanted : most;
  }
  const int64_t part_size = (row - 1) / parts + 1;
  const int shared = static_cast<int>(collapsed.index[0].size) * kFewThreads *
                     static_cast<int>(sizeof(float));
  return ForEachPart(collapsed, [&](const IndexedParams& params) {
    const auto kernel = collapsed.int32_indices ? FewTargetsKernel<T, int32_t>
                                                : FewTargetsKernel<T, int64_t>;
    kernel<<<static_cast<unsigned>(rows * parts), kFewThreads, shared,
             stream>>>(params, static_cast<uint32_t>(row),
                       static_cast<uint32_t>(part_size),
                       FastDivide(static_cast<uint32_t>(parts)), parts > 1);
    return cudaGetLastError();
  });
}

template <typename Index, typename Key>
__global__ void __launch_bounds__(kIndexedThreads)
    IndexKeysKernel(const __grid_constant__ IndexedParams params, Key* keys,
                    uint32_t* ordinals, Key limit, int64_t skipped,
                    bool has_skipped) {
  const uint32_t position = blockIdx.x * kIndexedThreads + threadIdx.x;
  if (position >= params.positions) return;
  const IndexedOffsets offsets = OffsetsAt(params, position);
  Key key = limit;
  if (!has_skipped || *reinterpret_cast<const Index*>(
                          static_cast<const char*>(params.index[0].data) +
                          offsets.index) != skipped) {
    key = static_cast<Key>(ChosenAt<Index>(params, offsets.index));
  }
  keys[position] = key;
  ordinals[position] = position;
}

}  // namespace

bool SumsFewTargets(const Indexed& indexed, Element element) {
  if (PositionsOf(indexed) == 0) return false;
  Indexed collapsed = indexed;
  Collapse(&collapsed);
  return IsFewTargets(collapsed, element);
}

cudaError_t LaunchIndexedAdd(const Indexed& indexed, Element element,
                             cudaStream_t stream) {
  if (indexed.indices != 1) return cudaErrorInvalidValue;
  if (PositionsOf(indexed) == 0) return cudaSuccess;
  Indexed collapsed = indexed;
  Collapse(&collapsed);
  if (IsFewTargets(collapsed, element)) {
    return ForFloats(element, [&](auto tag) {
      return LaunchFewTargets<typename decltype(tag)::Type>(collapsed, stream);
    });
  }
  return ForEachPart(collapsed, [&](const IndexedParams& params) {
    const uint32_t blocks =
        (params.positions - 1) / (kIndexedThreads * kUnroll) + 1;
    const auto launch = [&](auto tag) {
      using T = typename decltype(tag)::Type;
      if (collapsed.int32_indices) {
        IndexedAddKernel<T, int32_t>
            <<<blocks, kIndexedThreads, 0, stream>>>(params);
      } else {
        IndexedAddKernel<T, int64_t>
            <<<blocks, kIndexedThreads, 0, stream>>>(params);
      }
      return cudaGetLastError();
    };
    if (element == Element::kBool) return launch(TypeTag<bool>());
    return ForNumbers(element, launch);
  });
}

cudaError_t LaunchIndexKeys(const Indexed& indexed, const IndexKeys& keys,
                            cudaStream_t stream) {
  if (PositionsOf(indexed) == 0) return cudaSuccess;
  if (PositionsOf(indexed) >= (int64_t{1} << 31)) return cudaErrorNotSupported;
  return ForEachPart(indexed, [&](const IndexedParams& params) {
    const uint32_t blocks = (params.positions - 1) / kIndexedThreads + 1;
    const auto launch = [&](auto index_tag, auto key_tag) {
      using Index = typename decltype(index_tag)::Type;
      using Key = typename decltype(key_tag)::Type;
      IndexKeysKernel<Index, Key><<<blocks, kIndexedThreads, 0, stream>>>(
          params, static_cast<Key*>(keys.keys), keys.ordinals,
          static_cast<Key>(keys.limit), keys.skipped, keys.has_skipped);
      return cudaGetLastError();
    };
    if (indexed.int32_indices) {
      return keys.wide ? launch(TypeTag<int32_t>(), TypeTag<uint64_t>())
                       : launch(TypeTag<int32_t>(), TypeTag<uint32_t>());
    }
    return keys.wide ? launch(TypeTag<int64_t>(), TypeTag<uint64_t>())
                     : launch(TypeTag<int64_t>(), TypeTag<uint32_t>());
  });
}

}  // namespace cuda
}  // namespace kernels
}  // namespace flaggems
