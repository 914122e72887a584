#include <algorithm>
#include <cstdint>
#include <type_traits>

#include "flaggems/kernels/cuda/block_reduce.cuh"
#include "flaggems/kernels/cuda/numeric.cuh"
#include "flaggems/kernels/cuda/op_cumsum_launch.h"
#include "flaggems/kernels/cuda/scan_line.cuh"
#include "flaggems/kernels/cuda/scan_once.cuh"

namespace flaggems {
namespace kernels {
namespace cuda {

using namespace internal_scan;  // NOLINT: of this operator

namespace {

constexpr int kThreads = 256;
// Vectors of a thread in a tile. A tile of a row is [kVectors][threads]
// vectors, so that neighbours read side by side.
constexpr int kVectors = 4;
static_assert(kVectors * kThreads / kWarp <= kWarp,
              "one warp scans a tile's totals");
// Rows of a column that a thread reads ahead.
constexpr int kAhead = 8;

// A vector of V elements at position i of a line of n.
template <typename T, int V>
__device__ __forceinline__ Vec<T, V> LoadPart(const T* x, int64_t i,
                                              int64_t n) {
  Vec<T, V> v;
  if (i + V <= n) {
    v = LoadVec<V>(x + i);
  } else {
#pragma unroll
    for (int k = 0; k < V; ++k) {
      v.at[k] = i + k < n ? x[i + k] : FromCompute<T>(Compute<T>(0));
    }
  }
  return v;
}

// Blocks of a multiprocessor, 0 for as many as there are: vectors of 16 bits
// take so many registers that fewer than 768 threads would be left, too few to
// keep the memory busy.
template <typename T, int V, int kBlock>
inline constexpr int kScanBlocks = sizeof(T) == 2 && V > 1 ? 768 / kBlock : 0;

// One block scans one part of one row. kParts: rows have several, whose sums
// are `sums`. V is 1 where rows are not aligned.
template <typename T, int V, int kBlock, bool kParts>
__global__ void __launch_bounds__(kBlock, kScanBlocks<T, V, kBlock>)
    ScanRows(const T* in, T* out, int64_t n, int64_t parts, int64_t length,
             const Total<T>* __restrict__ sums) {
  using S = Total<T>;
  constexpr int kWarps = kBlock / kWarp;
  constexpr int64_t kTile = int64_t{kVectors} * kBlock * V;
  __shared__ S totals[2][kWarp];
  // Backwards after the sums of parts: the last ones are still in the cache.
  const int64_t block = kParts ? gridDim.x - 1 - blockIdx.x : blockIdx.x;
  const int64_t row = block / parts;
  const int64_t part = block - row * parts;
  const int64_t begin = part * length;
  const int64_t end = min(n, begin + length) - begin;
  const T* const x = in + row * n + begin;
  T* const y = out + row * n + begin;
  const int lane = threadIdx.x % kWarp;
  const int warp = threadIdx.x / kWarp;
  Vec<T, V> next[kVectors];
#pragma unroll
  for (int u = 0; u < kVectors; ++u) {
    next[u] = LoadPart<T, V>(x, (int64_t{u} * kBlock + threadIdx.x) * V, end);
  }
  // Each block adds up the parts before its own: a kernel for them all would
  // leave the device idle meanwhile.
  S carry = 0;
  if constexpr (kParts) {
    __shared__ S reduce_slots[kWarp];
    for (int64_t p = threadIdx.x; p < part; p += kBlock) {
      carry += sums[row * parts + p];
    }
    carry = BlockReduce(carry, Sum(), S(0), reduce_slots);
  }
  int parity = 0;
  for (int64_t start = 0; start < end; start += kTile) {
    Vec<T, V> load[kVectors];
    S before_own[kVectors];  // what comes before a vector in its warp
#pragma unroll
    for (int u = 0; u < kVectors; ++u) {
      load[u] = next[u];
      const S sum = SumOf<T, V>(load[u]);
      const S inclusive = WarpInclusiveScan(sum, lane);
      before_own[u] = ExclusiveOf(inclusive, lane);
      if (lane == kWarp - 1) totals[parity][u * kWarps + warp] = inclusive;
    }
    // The next tile is on its way while this one is finished.
    if (start + kTile < end) {
#pragma unroll
      for (int u = 0; u < kVectors; ++u) {
        next[u] = LoadPart<T, V>(
            x, start + kTile + (int64_t{u} * kBlock + threadIdx.x) * V, end);
      }
    }
    __syncthreads();
    const S scanned = WarpInclusiveScan(
        lane < kVectors * kWarps ? totals[parity][lane] : S(0), lane);
    const S before_warp = ExclusiveOf(scanned, lane);
#pragma unroll
    for (int u = 0; u < kVectors; ++u) {
      const int slot = u * kWarps + warp;
      const S up_to = __shfl_sync(kFullWarp, before_warp, slot);
      const Vec<T, V> result =
          ScanVec<T, V>(load[u], carry + up_to + before_own[u]);
      const int64_t i = start + (int64_t{u} * kBlock + threadIdx.x) * V;
      if (i + V <= end) {
        StoreVec<V>(y + i, result);
      } else {
#pragma unroll
        for (int k = 0; k < V; ++k) {
          if (i + k < end) y[i + k] = result.at[k];
        }
      }
    }
    carry += __shfl_sync(kFullWarp, scanned, kWarp - 1);
    parity ^= 1;
  }
}

// 2^log lanes scan a row, so that a warp may have several short ones.
template <typename T, int V>
__global__ void __launch_bounds__(kThreads)
    ScanShortRows(const T* in, T* out, int64_t n, int64_t rows, int log) {
  using S = Total<T>;
  const int lanes = 1 << log;
  const int lane = threadIdx.x & (lanes - 1);
  const int64_t row = (int64_t{blockIdx.x} * kThreads + threadIdx.x) >> log;
  const bool active = row < rows;
  const T* const x = in + (active ? row : 0) * n;
  T* const y = out + (active ? row : 0) * n;
  const int64_t end = active ? n : 0;
  const int64_t step = int64_t{V} << log;
  S carry = 0;
  Vec<T, V> next = LoadPart<T, V>(x, lane * V, end);
  for (int64_t start = 0; start < n; start += step) {
    const Vec<T, V> load = next;
    if (start + step < n)
      next = LoadPart<T, V>(x, start + step + lane * V, end);
    const S own = SumOf<T, V>(load);
    S scanned = own;
    for (int d = 1; d < lanes; d *= 2) {
      const S other = __shfl_up_sync(kFullWarp, scanned, d, lanes);
      if (lane >= d) scanned += other;
    }
    const Vec<T, V> result =
        ScanVec<T, V>(load, carry + ExclusiveOf(scanned, lane, lanes));
    const int64_t i = start + lane * V;
    if (i + V <= end) {
      StoreVec<V>(y + i, result);
    } else {
#pragma unroll
      for (int k = 0; k < V; ++k) {
        if (i + k < end) y[i + k] = result.at[k];
      }
    }
    carry += __shfl_sync(kFullWarp, scanned, lanes - 1, lanes);
  }
}

// Sums of the parts of rows, one block each.
template <typename T, int V>
__global__ void __launch_bounds__(kThreads)
    SumRows(const T* __restrict__ in, int64_t n, int64_t parts, int64_t length,
            Total<T>* __restrict__ sums) {
  using S = Total<T>;
  __shared__ S shared[kWarp];
  const int64_t row = blockIdx.x / parts;
  const int64_t part = blockIdx.x - row * parts;
  const int64_t begin = part * length;
  const int64_t end = min(n, begin + length) - begin;
  const T* const x = in + row * n + begin;
  S sum = 0;
  for (int64_t i = threadIdx.x * V; i < end; i += kThreads * V * kVectors) {
    Vec<T, V> v[kVectors];
#pragma unroll
    for (int u = 0; u < kVectors; ++u) {
      v[u] = LoadPart<T, V>(x, i + int64_t{u} * kThreads * V, end);
    }
#pragma unroll
    for (int u = 0; u < kVectors; ++u) {
      sum += SumOf<T, V>(v[u]);
    }
  }
  sum = BlockReduce(sum, Sum(), S(0), shared);
  if (threadIdx.x == 0) sums[blockIdx.x] = sum;
}

// Sums of a line's parts to sums of what comes before each; a warp a line.
// Element (line, part) is at outer * parts * inner + part * inner + j, line =
// outer * inner + j.
template <typename S>
__global__ void ScanParts(S* sums, int64_t lines, int64_t parts,
                          int64_t inner) {
  const int64_t line = (int64_t{blockIdx.x} * blockDim.x + threadIdx.x) / kWarp;
  if (line >= lines) return;
  const int lane = threadIdx.x % kWarp;
  S* const s = sums + line / inner * parts * inner + line % inner;
  S carry = 0;
  for (int64_t start = 0; start < parts; start += kWarp) {
    const int64_t i = start + lane;
    const S own = i < parts ? s[i * inner] : S(0);
    const S scanned = WarpInclusiveScan(own, lane);
    const S before = carry + ExclusiveOf(scanned, lane);
    if (i < parts) s[i * inner] = before;
    carry += __shfl_sync(kFullWarp, scanned, kWarp - 1);
  }
}

// A thread has V columns of one part of the lines; it writes their running
// sums, or, with kTotals, only what they end with.
template <typename T, int V, bool kTotals>
__global__ void __launch_bounds__(kThreads)
    ScanColumns(const T* in, T* out, int64_t n, int64_t inner, int64_t parts,
                int64_t length, int64_t tasks, Total<T>* sums) {
  using S = Total<T>;
  const int64_t task = int64_t{blockIdx.x} * kThreads + threadIdx.x;
  if (task >= tasks) return;
  const int64_t across = inner / V;
  const int64_t line = task / across;  // outer * parts + part
  const int64_t column = (task - line * across) * V;
  const int64_t outer = line / parts;
  const int64_t begin = (line - outer * parts) * length;
  const int64_t end = min(n, begin + length);
  const int64_t offset = outer * n * inner + column;
  S sum[V];
#pragma unroll
  for (int k = 0; k < V; ++k) {
    sum[k] =
        !kTotals && sums != nullptr ? sums[line * inner + column + k] : S(0);
  }
  for (int64_t i = begin; i < end; i += kAhead) {
    Vec<T, V> v[kAhead];
#pragma unroll
    for (int u = 0; u < kAhead; ++u) {
      if (i + u < end) v[u] = LoadVec<V>(in + offset + (i + u) * inner);
    }
#pragma unroll
    for (int u = 0; u < kAhead; ++u) {
      if (i + u >= end) break;
#pragma unroll
      for (int k = 0; k < V; ++k) {
        sum[k] += static_cast<S>(ToCompute(v[u].at[k]));
        if constexpr (!kTotals) v[u].at[k] = Round<T>(sum[k]);
      }
      if constexpr (!kTotals) StoreVec<V>(out + offset + (i + u) * inner, v[u]);
    }
  }
  if constexpr (kTotals) {
#pragma unroll
    for (int k = 0; k < V; ++k) sums[line * inner + column + k] = sum[k];
  }
}

unsigned Blocks(int64_t n, int64_t of) {
  return static_cast<unsigned>((n + of - 1) / of);
}

// Long rows of whole vectors, or one of any length.
template <typename T>
cudaError_t RowsOnce(const ScanPlan& p, const T* in, T* out, void* scratch,
                     cudaStream_t stream) {
  const OncePlan plan = PlanOnce<T>(p.outer, p.n);
  const OnceScratch parts = OnceScratchAt(plan, p.outer, scratch);
  cudaError_t error = cudaMemsetAsync(scratch, 0, parts.bytes, stream);
  if (error != cudaSuccess) return error;
  const auto kernel = &ScanOnce<T>;
  error = cudaFuncSetAttribute(
      kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, kOnceBytes);
  if (error != cudaSuccess) return error;
  const unsigned blocks = static_cast<unsigned>(
      std::min<int64_t>(plan.tiles, int64_t{kOnceBlocks} * p.multiprocessors));
  kernel<<<blocks, kOnceThreads, kOnceBytes, stream>>>(in, out, plan, parts);
  return cudaGetLastError();
}

template <typename T, int V>
cudaError_t Rows(const ScanPlan& p, const T* in, T* out, Total<T>* sums,
                 cudaStream_t stream) {
  if constexpr (V > 1) {
    // 16 bytes of what is not 16-bit are summed in the time in which they are
    // read: where the memory is not waited for, reading twice is faster.
    constexpr int64_t kFewElements = int64_t{1} << 22;
    if (p.parts > 1 && (sizeof(T) == 2 || p.outer * p.n <= kFewElements)) {
      return RowsOnce(p, in, out, sums, stream);
    }
  }
  // Where rows alone fill the machine, 16-bit ones of any usual length go by a
  // warp each: nothing waits for a block, which costs them more than the bytes.
  const bool by_warps = sizeof(T) == 2 && V > 1 && p.outer >= 4096;
  if (p.parts == 1 && p.n <= (by_warps ? 2048 : 256) * V) {
    int log = 0;
    while (log < 5 && (int64_t{V} << log) < p.n) ++log;
    ScanShortRows<T, V>
        <<<Blocks(p.outer << log, kThreads), kThreads, 0, stream>>>(
            in, out, p.n, p.outer, log);
    return cudaGetLastError();
  }
  const unsigned blocks = static_cast<unsigned>(p.outer * p.parts);
  if (p.parts > 1) {
    SumRows<T, V>
        <<<blocks, kThreads, 0, stream>>>(in, p.n, p.parts, p.length, sums);
    ScanRows<T, V, kThreads, true><<<blocks, kThreads, 0, stream>>>(
        in, out, p.n, p.parts, p.length, sums);
  } else if (p.n <= kThreads / 2 * kVectors * V) {
    // As many threads as one tile of the row has work for.
    ScanRows<T, V, kThreads / 2, false><<<blocks, kThreads / 2, 0, stream>>>(
        in, out, p.n, p.parts, p.length, nullptr);
  } else {
    ScanRows<T, V, kThreads, false><<<blocks, kThreads, 0, stream>>>(
        in, out, p.n, p.parts, p.length, nullptr);
  }
  return cudaGetLastError();
}

template <typename T, int V>
cudaError_t Columns(const ScanPlan& p, const T* in, T* out, Total<T>* sums,
                    cudaStream_t stream) {
  const int64_t tasks = p.outer * p.parts * (p.inner / V);
  const unsigned blocks = Blocks(tasks, kThreads);
  if (p.parts > 1) {
    ScanColumns<T, V, true><<<blocks, kThreads, 0, stream>>>(
        in, out, p.n, p.inner, p.parts, p.length, tasks, sums);
    ScanParts<<<Blocks(p.outer * p.inner * kWarp, kThreads), kThreads, 0,
                stream>>>(sums, p.outer * p.inner, p.parts, p.inner);
  }
  ScanColumns<T, V, false><<<blocks, kThreads, 0, stream>>>(
      in, out, p.n, p.inner, p.parts, p.length, tasks, sums);
  return cudaGetLastError();
}

}  // namespace

size_t ScanPlan::ScratchBytes() const {
  if (parts == 1) return 0;
  const size_t sums = static_cast<size_t>(outer * inner * parts) * 8;
  if (inner > 1) return sums;
  // Of double, whose tiles have the fewest elements.
  return std::max(
      sums, OnceScratchAt(PlanOnce<double>(outer, n), outer, nullptr).bytes);
}

ScanPlan PlanScan(int64_t outer, int64_t n, int64_t inner,
                  int multiprocessors) {
  ScanPlan plan = {outer, n, inner, multiprocessors, 1, n};
  // Blocks (rows) or threads of four columns at once, against the machine.
  const int64_t lines = inner == 1 ? outer : outer * inner;
  const int64_t wanted =
      int64_t{multiprocessors} * (inner == 1 ? 16 : 4 * 4 * kThreads);
  const int64_t shortest = inner == 1 ? 16384 : 64;
  if (lines > (inner == 1 ? 2 * multiprocessors : wanted / 2) ||
      n < 2 * shortest) {
    return plan;
  }
  const int64_t parts = std::min(wanted / lines, n / shortest);
  if (parts <= 1) return plan;
  // Whole vectors, so that parts are as aligned as rows.
  plan.length = ((n + parts - 1) / parts + 15) / 16 * 16;
  plan.parts = (n + plan.length - 1) / plan.length;
  return plan;
}

cudaError_t LaunchCumsum(const ScanPlan& plan, Element type, const void* in,
                         void* out, void* scratch, cudaStream_t stream) {
  if (plan.outer * plan.parts > INT32_MAX) return cudaErrorInvalidConfiguration;
  return ForNumbers(type, [&](auto tag) {
    using T = typename decltype(tag)::Type;
    constexpr int V = kVecWidth<T>;
    const T* const x = static_cast<const T*>(in);
    T* const y = static_cast<T*>(out);
    Total<T>* const sums =
        plan.parts > 1 ? static_cast<Total<T>*>(scratch) : nullptr;
    const bool aligned = IsAligned(in, 16) && IsAligned(out, 16);
    if (plan.inner == 1) {
      return aligned && (plan.n % V == 0 || plan.outer == 1)
                 ? Rows<T, V>(plan, x, y, sums, stream)
                 : Rows<T, 1>(plan, x, y, sums, stream);
    }
    constexpr int W = V < 4 ? V : 4;
    return aligned && plan.inner % W == 0
               ? Columns<T, W>(plan, x, y, sums, stream)
               : Columns<T, 1>(plan, x, y, sums, stream);
  });
}

}  // namespace cuda
}  // namespace kernels
}  // namespace flaggems
