#include <algorithm>
#include <cstdint>
#include <type_traits>

#include "flaggems/kernels/cuda/block_reduce.cuh"
#include "flaggems/kernels/cuda/numeric.cuh"
#include "flaggems/kernels/cuda/op_topk_launch.h"
#include "flaggems/kernels/cuda/sort_key.cuh"

namespace flaggems {
namespace kernels {
namespace cuda {
namespace {

constexpr int kThreads = 256;
constexpr int kWarps = kThreads / kWarp;
constexpr int kCandidates = static_cast<int>(kMaxTopK);
// The k-th largest of the threads' maxima bounds the k-th largest of the row
// from below: with fewer of them the bound is loose, and past this not at all.
constexpr int kMaxBoundedK = 128;
// Vectors of a row's beginning that a thread keeps in registers.
constexpr int kKept = 8;

// How a row is filtered. Floating types are compared as numbers, which costs
// less than making keys of all elements.
template <typename T>
struct FloatFilter {
  using U = std::conditional_t<sizeof(T) == 4, uint32_t, uint16_t>;
  using C = float;
  SortKey<U> key;
  bool smallest;

  __device__ __forceinline__ float Value(U bits) const {
    float x;
    if constexpr (sizeof(T) == 4) {
      x = __uint_as_float(bits);
    } else if constexpr (std::is_same<T, __nv_bfloat16>::value) {
      x = __uint_as_float(uint32_t{bits} << 16);
    } else {
      x = __half2float(__ushort_as_half(bits));
    }
    return x;
  }
  // What never is the wanted one of two.
  __device__ __forceinline__ C Least() const {
    return smallest ? __uint_as_float(0x7fffffffu)
                    : __uint_as_float(0xff800000u);
  }
  __device__ __forceinline__ C More(C a, C b) const {
    float c;
    if (smallest) {
      // NaN is the largest: it loses.
      c = fminf(a, b);
    } else {
      asm("max.NaN.f32 %0, %1, %2;" : "=f"(c) : "f"(a), "f"(b));
    }
    return c;
  }
  // Whether x is not behind a bound of that key. NaN bounds pass everything or
  // nothing, which the caller notices.
  __device__ __forceinline__ C Bound(U k) const { return Value(key.Bits(k)); }
  __device__ __forceinline__ bool Passes(C x, C bound) const {
    return smallest ? x <= bound : !(x < bound);
  }
  // The key of an extreme found by More.
  __device__ __forceinline__ U Key(C x) const {
    if constexpr (sizeof(T) == 4) {
      return key(__float_as_uint(x));
    } else if constexpr (std::is_same<T, __nv_bfloat16>::value) {
      return key(__bfloat16_as_ushort(__float2bfloat16_rn(x)));
    } else {
      return key(__half_as_ushort(__float2half_rn(x)));
    }
  }
};

// Other types are their keys.
template <typename U_>
struct KeyFilter {
  using U = U_;
  using C = U;
  SortKey<U> key;
  bool smallest;

  __device__ __forceinline__ C Value(U bits) const { return key(bits); }
  __device__ __forceinline__ C Least() const { return 0; }
  __device__ __forceinline__ C More(C a, C b) const { return a > b ? a : b; }
  __device__ __forceinline__ C Bound(U k) const { return k; }
  __device__ __forceinline__ bool Passes(C x, C bound) const {
    return x >= bound;
  }
  __device__ __forceinline__ U Key(C x) const { return x; }
};

// V elements as they came from memory: as keys they would take a register each.
template <typename U, int V>
struct Packed {
  static constexpr int kBytes = static_cast<int>(sizeof(U)) * V;
  static constexpr int kWords = kBytes < 4 ? 1 : kBytes / 4;
  uint32_t word[kWords];

  __device__ __forceinline__ void Load(const U* p) {
    if constexpr (kBytes == 16) {
      const uint4 raw = __ldg(reinterpret_cast<const uint4*>(p));
      word[0] = raw.x;
      word[1] = raw.y;
      word[2] = raw.z;
      word[3] = raw.w;
    } else if constexpr (kBytes == 8) {
      const uint2 raw = __ldg(reinterpret_cast<const uint2*>(p));
      word[0] = raw.x;
      word[1] = raw.y;
    } else {
      word[0] = __ldg(p);
    }
  }
  __device__ __forceinline__ U At(int v) const {
    if constexpr (sizeof(U) == 8) {
      return uint64_t{word[2 * v + 1]} << 32 | word[2 * v];
    } else {
      constexpr int kInWord = 4 / static_cast<int>(sizeof(U));
      return static_cast<U>(word[v / kInWord] >>
                            (v % kInWord * 8 * static_cast<int>(sizeof(U))));
    }
  }
};

// Keys are such that the largest key is wanted.
template <typename U>
struct Row {
  const U* x;
  uint32_t n;
  SortKey<U> key;
};

// A key and where it stands; the better one is larger: of equal keys the first.
template <typename U>
struct Candidate {
  uint64_t packed;
  __device__ static Candidate Of(U key, uint32_t at) {
    return {uint64_t{key} << 32 | static_cast<uint32_t>(~at)};
  }
  __device__ uint32_t At() const { return ~static_cast<uint32_t>(packed); }
  __device__ bool Better(const Candidate& other) const {
    return packed > other.packed;
  }
};
template <>
struct Candidate<uint64_t> {
  uint64_t key;
  uint32_t at;
  __device__ static Candidate Of(uint64_t key, uint32_t at) {
    return {key, at};
  }
  __device__ uint32_t At() const { return at; }
  __device__ bool Better(const Candidate& other) const {
    return key > other.key || (key == other.key && at < other.at);
  }
};

template <typename U>
struct Shared {
  Candidate<U> candidate[kCandidates];
  uint32_t count;
  uint32_t histogram[256];
  uint32_t warp[kWarps];
  U digits;
  uint32_t wanted;
};

// Exact: the k-th largest key by 8 bits at a time, then all above it and the
// first of those equal to it.
template <typename U>
__device__ void SelectExactly(const Row<U>& row, uint32_t k, Shared<U>* s) {
  U prefix = 0;
  U known = 0;  // mask of the bits in prefix
  uint32_t wanted = k;
  for (int shift = 8 * sizeof(U) - 8; shift >= 0; shift -= 8) {
    __syncthreads();
    s->histogram[threadIdx.x] = 0;
    __syncthreads();
    // Neighbours often have the same leading digits: one lane adds for all of
    // its warp that agree.
    const uint32_t limit = (row.n + kWarp - 1) / kWarp * kWarp;
    for (uint32_t i = threadIdx.x; i < limit; i += kThreads) {
      const U key = i < row.n ? row.key(__ldg(row.x + i)) : U(0);
      const bool counts = i < row.n && (key & known) == prefix;
      const uint32_t digit =
          counts ? static_cast<uint32_t>(key >> shift) & 255u : 256u;
      const unsigned peers = __match_any_sync(kFullWarp, digit);
      if (counts &&
          (__ffs(peers) - 1) == static_cast<int>(threadIdx.x % kWarp)) {
        atomicAdd(&s->histogram[digit], __popc(peers));
      }
    }
    __syncthreads();
    if (threadIdx.x < kWarp) {
      // Lane l: digits 255 - 8 l down to 248 - 8 l.
      const int top = 255 - 8 * static_cast<int>(threadIdx.x);
      uint32_t own = 0;
      for (int d = 0; d < 8; ++d) own += s->histogram[top - d];
      uint32_t up_to = own;
      for (int d = 1; d < kWarp; d *= 2) {
        const uint32_t other = __shfl_up_sync(kFullWarp, up_to, d);
        if (static_cast<int>(threadIdx.x) >= d) up_to += other;
      }
      uint32_t above = up_to - own;
      if (above < wanted && wanted <= up_to) {
        int d = 0;
        while (above + s->histogram[top - d] < wanted) {
          above += s->histogram[top - d];
          ++d;
        }
        s->digits = static_cast<U>(top - d);
        s->wanted = wanted - above;
      }
    }
    __syncthreads();
    prefix |= static_cast<U>(s->digits << shift);
    known |= static_cast<U>(U{255} << shift);
    wanted = s->wanted;
  }
  // `wanted` of those equal to prefix, the first; k - wanted are larger.
  if (threadIdx.x == 0) s->count = 0;
  __syncthreads();
  uint32_t equal_before = 0;
  const int lane = threadIdx.x % kWarp;
  for (uint32_t start = 0; start < row.n; start += kThreads) {
    const uint32_t i = start + threadIdx.x;
    const U key = i < row.n ? row.key(__ldg(row.x + i)) : U(0);
    if (i < row.n && key > prefix) {
      const uint32_t slot = atomicAdd(&s->count, 1u);
      s->candidate[slot] = Candidate<U>::Of(key, i);
    }
    if (equal_before >= wanted) continue;  // the same in all threads
    const bool equal = i < row.n && key == prefix;
    const unsigned mask = __ballot_sync(kFullWarp, equal);
    if (lane == 0) s->warp[threadIdx.x / kWarp] = __popc(mask);
    __syncthreads();
    uint32_t position = equal_before + __popc(mask & ((1u << lane) - 1));
    for (int w = 0; w < kWarps; ++w) {
      if (w < static_cast<int>(threadIdx.x / kWarp)) position += s->warp[w];
      equal_before += s->warp[w];
    }
    if (equal && position < wanted) {
      s->candidate[k - wanted + position] = Candidate<U>::Of(key, i);
    }
    __syncthreads();
  }
  __syncthreads();
  if (threadIdx.x == 0) s->count = k;
  __syncthreads();
}

// All that may be among the k best, if they are few: what is not behind the
// k-th best of the threads' own best ones. False if they do not fit.
template <typename F, int V>
__device__ __forceinline__ bool Filter(const F& filter,
                                       const Row<typename F::U>& row,
                                       uint32_t k, Shared<typename F::U>* s) {
  using U = typename F::U;
  using C = typename F::C;
  const uint32_t vectors = row.n / V;
  constexpr uint32_t kInRegisters = kKept * kThreads;
  Packed<U, V> kept[kKept];
#pragma unroll
  for (int j = 0; j < kKept; ++j) {
    const uint32_t i = j * kThreads + threadIdx.x;
    if (i < vectors) kept[j].Load(row.x + int64_t{i} * V);
  }
  C most = filter.Least();
#pragma unroll
  for (int j = 0; j < kKept; ++j) {
    const uint32_t i = j * kThreads + threadIdx.x;
    if (i >= vectors) break;
#pragma unroll
    for (int v = 0; v < V; ++v) {
      most = filter.More(most, filter.Value(kept[j].At(v)));
    }
  }
  for (uint32_t i = kInRegisters + threadIdx.x; i < vectors; i += kThreads) {
    Packed<U, V> load;
    load.Load(row.x + int64_t{i} * V);
#pragma unroll
    for (int v = 0; v < V; ++v) {
      most = filter.More(most, filter.Value(load.At(v)));
    }
  }
  for (uint32_t i = vectors * V + threadIdx.x; i < row.n; i += kThreads) {
    most = filter.More(most, filter.Value(__ldg(row.x + i)));
  }
  // To 16 bits.
  const U key = filter.Key(most);
  U bound = 0;
  constexpr int kBits = 8 * sizeof(U);
  for (int bit = kBits - 1; bit >= (kBits > 16 ? kBits - 16 : 0); --bit) {
    const U higher = static_cast<U>(bound | (U{1} << bit));
    if (__syncthreads_count(key >= higher) >= static_cast<int>(k)) {
      bound = higher;
    }
  }
  const C limit = filter.Bound(bound);
  const auto take = [&](U bits, uint32_t index) {
    const uint32_t slot = atomicAdd(&s->count, 1u);
    if (slot < kCandidates) {
      s->candidate[slot] = Candidate<U>::Of(row.key(bits), index);
    }
  };
  const auto take_vector = [&](const Packed<U, V>& load, uint32_t i) {
    bool some = false;
#pragma unroll
    for (int v = 0; v < V; ++v) {
      some = some || filter.Passes(filter.Value(load.At(v)), limit);
    }
    if (!some) return;
#pragma unroll
    for (int v = 0; v < V; ++v) {
      if (filter.Passes(filter.Value(load.At(v)), limit)) {
        take(load.At(v), i * V + v);
      }
    }
  };
  // Nothing of a thread whose best is behind the bound.
  if (key >= bound) {
#pragma unroll
    for (int j = 0; j < kKept; ++j) {
      const uint32_t i = j * kThreads + threadIdx.x;
      if (i < vectors) take_vector(kept[j], i);
    }
    for (uint32_t i = kInRegisters + threadIdx.x; i < vectors; i += kThreads) {
      Packed<U, V> load;
      load.Load(row.x + int64_t{i} * V);
      take_vector(load, i);
    }
    for (uint32_t i = vectors * V + threadIdx.x; i < row.n; i += kThreads) {
      const U bits = __ldg(row.x + i);
      if (filter.Passes(filter.Value(bits), limit)) take(bits, i);
    }
  }
  __syncthreads();
  return s->count >= k && s->count <= kCandidates;
}

// One block a part of a row. `origin`, if not null, says where the elements of
// the rows stood before: [rows][n].
template <typename F, int V>
__global__ void __launch_bounds__(kThreads)
    TopK(F filter, int64_t n, int64_t parts, int k,
         const typename F::U* __restrict__ in,
         const int64_t* __restrict__ origin, typename F::U* __restrict__ values,
         int64_t* __restrict__ indices) {
  using U = typename F::U;
  __shared__ Shared<U> shared;
  Shared<U>* const s = &shared;
  const int64_t r = blockIdx.x / parts;
  const int64_t part = blockIdx.x - r * parts;
  // Parts are equally long, but for the last, which takes what is left over;
  // whole vectors, so that all are as aligned as the rows.
  const int64_t length = n / parts / 16 * 16;
  const int64_t begin = part * length;
  const Row<U> row = {in + r * n + begin,
                      static_cast<uint32_t>(parts == 1          ? n
                                            : part == parts - 1 ? n - begin
                                                                : length),
                      filter.key};
  if (threadIdx.x == 0) s->count = 0;
  __syncthreads();
  const bool found = k <= kMaxBoundedK && row.n >= 4 * kThreads &&
                     Filter<F, V>(filter, row, k, s);
  if (!found) SelectExactly(row, k, s);
  const int count = s->count;
  // Each candidate counts the better ones; `ways` threads share the counting.
  const int ways = count <= 32 ? 8 : count <= 64 ? 4 : count <= 128 ? 2 : 1;
  const int way = threadIdx.x % ways;
  for (int start = 0; start < count; start += kThreads / ways) {
    const int c = start + threadIdx.x / ways;
    const Candidate<U> mine = s->candidate[min(c, count - 1)];
    int rank = 0;
#pragma unroll 4
    for (int other = way; other < count; other += ways) {
      rank += s->candidate[other].Better(mine);
    }
    for (int mask = ways / 2; mask > 0; mask /= 2) {
      rank += __shfl_xor_sync(kFullWarp, rank, mask);
    }
    if (c >= count || rank >= k || way != 0) continue;
    const uint32_t at = mine.At();
    const int64_t to = int64_t{blockIdx.x} * k + rank;
    values[to] = __ldg(row.x + at);
    indices[to] = origin != nullptr ? __ldg(origin + r * n + begin + at)
                                    : static_cast<int64_t>(begin + at);
  }
}

template <typename F>
cudaError_t Launch(const F& filter, int64_t rows, int64_t n, int64_t parts,
                   int k, const typename F::U* in, const int64_t* origin,
                   typename F::U* values, int64_t* indices,
                   cudaStream_t stream) {
  constexpr int V = kVecWidth<typename F::U>;
  if (rows * parts > INT32_MAX) return cudaErrorInvalidConfiguration;
  const unsigned blocks = static_cast<unsigned>(rows * parts);
  if (IsAligned(in, 16) && (n % V == 0 || rows == 1)) {
    TopK<F, V><<<blocks, kThreads, 0, stream>>>(filter, n, parts, k, in, origin,
                                                values, indices);
  } else {
    TopK<F, 1><<<blocks, kThreads, 0, stream>>>(filter, n, parts, k, in, origin,
                                                values, indices);
  }
  return cudaGetLastError();
}

template <typename F>
cudaError_t LaunchParts(const F& filter, const TopKPlan& plan, const void* in,
                        void* values, int64_t* indices, void* scratch,
                        cudaStream_t stream) {
  using U = typename F::U;
  const U* const x = static_cast<const U*>(in);
  U* const out = static_cast<U*>(values);
  const int k = static_cast<int>(plan.k);
  if (plan.parts == 1) {
    return Launch(filter, plan.rows, plan.n, 1, k, x, nullptr, out, indices,
                  stream);
  }
  const int64_t count = plan.rows * plan.parts * plan.k;
  int64_t* const part_indices = static_cast<int64_t*>(scratch);
  U* const part_values = reinterpret_cast<U*>(part_indices + count);
  const cudaError_t error = Launch(filter, plan.rows, plan.n, plan.parts, k, x,
                                   nullptr, part_values, part_indices, stream);
  if (error != cudaSuccess) return error;
  return Launch(filter, plan.rows, plan.parts * plan.k, 1, k, part_values,
                part_indices, out, indices, stream);
}

}  // namespace

TopKPlan PlanTopK(int64_t rows, int64_t n, int64_t k, int multiprocessors) {
  TopKPlan plan = {rows, n, k};
  const int64_t wanted = int64_t{multiprocessors} * 4;
  const int64_t shortest = std::max<int64_t>(8192, 16 * k);
  if (rows * 2 > wanted || n < 4 * shortest) return plan;
  plan.parts = std::max<int64_t>(1, std::min(wanted / rows, n / shortest));
  return plan;
}

cudaError_t LaunchTopK(const TopKPlan& plan, Element type, bool largest,
                       const void* in, void* values, int64_t* indices,
                       void* scratch, cudaStream_t stream) {
  const auto run = [&](const auto& filter) {
    return LaunchParts(filter, plan, in, values, indices, scratch, stream);
  };
  switch (type) {
    case Element::kFloat32:
    case Element::kFloat16:
    case Element::kBFloat16:
      return ForFloats(type, [&](auto tag) {
        using F = FloatFilter<typename decltype(tag)::Type>;
        return run(F{MakeSortKey<typename F::U>(type, !largest), !largest});
      });
    default:
      return ForSortWidth(type, [&](auto tag) {
        using U = typename decltype(tag)::Type;
        return run(KeyFilter<U>{MakeSortKey<U>(type, !largest), !largest});
      });
  }
}

}  // namespace cuda
}  // namespace kernels
}  // namespace flaggems
