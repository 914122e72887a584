// Running sums of long rows in one pass over memory: blocks take tiles of a row
// in order, publish the sum of each as soon as they have it, and add up what
// others have published before it.
//
// The order of additions is that of the tiles' places and not of time: the same
// bits from run to run, which a look-back that stops at the first sum it finds
// does not give.

#ifndef FLAGGEMS_KERNELS_CUDA_SCAN_ONCE_CUH_
#define FLAGGEMS_KERNELS_CUDA_SCAN_ONCE_CUH_

#include <cuda_runtime.h>

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "flaggems/kernels/cuda/block_reduce.cuh"
#include "flaggems/kernels/cuda/numeric.cuh"
#include "flaggems/kernels/cuda/scan_line.cuh"

namespace flaggems {
namespace kernels {
namespace cuda {
namespace internal_scan {

constexpr int kOnceThreads = 256;
constexpr int kOnceWarps = kOnceThreads / kWarp;
// Vectors of a thread, side by side, and those of a tile.
constexpr int kOnceVectors = 4;
constexpr int kTileVectors = kOnceVectors * kOnceThreads;
// Tiles of a block in shared memory: one whose predecessors are waited for, two
// on their way.
constexpr int kOnceStages = 3;
constexpr int kOnceBytes = kOnceStages * kTileVectors * 16;
constexpr int kOnceBlocks = 4;  // of a multiprocessor
// Tiles whose sums a block adds up by itself, one a thread. What comes before
// the first of a group is published by the group before.
constexpr int kGroup = kOnceThreads;

// A published 64-bit value: each half with a mark beside it that is not 0, so
// that either word is whole whenever it is seen, without a fence.
struct alignas(16) Published {
  unsigned long long low;
  unsigned long long high;
};

template <typename S>
__device__ __forceinline__ void Publish(Published* to, S value) {
  static_assert(sizeof(S) == 8, "a 64-bit value");
  unsigned long long bits;
  memcpy(&bits, &value, 8);
  const unsigned long long low = bits << 32 | 1;
  const unsigned long long high = (bits & 0xffffffff00000000ull) | 1;
  asm volatile("st.relaxed.gpu.global.v2.u64 [%0], {%1, %2};" ::"l"(to),
               "l"(low), "l"(high)
               : "memory");
}

// Waits until there is one.
template <typename S>
__device__ __forceinline__ S Await(const Published* from) {
  unsigned long long low, high;
  do {
    asm volatile("ld.relaxed.gpu.global.v2.u64 {%0, %1}, [%2];"
                 : "=l"(low), "=l"(high)
                 : "l"(from)
                 : "memory");
  } while ((low & high & 1) == 0);
  const unsigned long long bits = low >> 32 | (high & 0xffffffff00000000ull);
  S value;
  memcpy(&value, &bits, 8);
  return value;
}

struct OncePlan {
  int64_t n = 0;
  uint32_t tiles_of_row = 0;
  uint32_t groups_of_row = 0;
  uint32_t tiles = 0;
};

template <typename T>
OncePlan PlanOnce(int64_t rows, int64_t n) {
  constexpr int64_t kTile = int64_t{kTileVectors} * kVecWidth<T>;
  OncePlan plan;
  plan.n = n;
  plan.tiles_of_row = static_cast<uint32_t>((n + kTile - 1) / kTile);
  plan.groups_of_row = (plan.tiles_of_row + kGroup - 1) / kGroup;
  plan.tiles = static_cast<uint32_t>(rows * plan.tiles_of_row);
  return plan;
}

// Sums of tiles [rows, tiles of a row], then of all that is before a group
// [rows, groups of a row], then the number of tiles that are taken; all bytes 0
// before the launch.
struct OnceScratch {
  Published* tile;
  Published* group;
  unsigned* taken;
  size_t bytes;
};

inline OnceScratch OnceScratchAt(const OncePlan& plan, int64_t rows,
                                 void* memory) {
  const size_t groups = static_cast<size_t>(rows) * plan.groups_of_row;
  const size_t published = (plan.tiles + groups) * sizeof(Published);
  char* const begin = static_cast<char*>(memory);
  return {reinterpret_cast<Published*>(begin),
          reinterpret_cast<Published*>(begin + plan.tiles * sizeof(Published)),
          reinterpret_cast<unsigned*>(begin + published), published + 16};
}

// 16 bytes to shared memory, of which those beyond `bytes` become 0.
__device__ __forceinline__ void CopyPart(void* to, const void* from,
                                         int bytes) {
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;\n" ::"r"(
                   static_cast<uint32_t>(__cvta_generic_to_shared(to))),
               "l"(from), "r"(bytes)
               : "memory");
}

// Where vector v of a tile lies in shared memory: neither neighbours nor every
// fourth one share banks.
__device__ __forceinline__ int PlaceOf(int v) { return v ^ ((v >> 3) & 3); }

// A tile that a block has taken.
struct TakenTile {
  uint32_t row;
  uint32_t tile;  // of the row
  bool any;
};

template <typename T>
__global__ void __launch_bounds__(kOnceThreads, kOnceBlocks)
    ScanOnce(const T* in, T* out, const __grid_constant__ OncePlan plan,
             const OnceScratch scratch) {
  using S = Total<T>;
  constexpr int V = kVecWidth<T>;
  constexpr int64_t kTile = int64_t{kTileVectors} * V;
  extern __shared__ uint4 once_buffers[];
  __shared__ S warp_sums[2][kOnceWarps];
  __shared__ S reduce_slots[kWarp];
  __shared__ uint32_t tickets[kOnceStages];
  const int lane = threadIdx.x % kWarp;
  const int warp = threadIdx.x / kWarp;

  const auto taken = [&](int stage) {
    const uint32_t ticket = tickets[stage];
    TakenTile t;
    t.any = ticket < plan.tiles;
    t.row = ticket / plan.tiles_of_row;
    t.tile = ticket - t.row * plan.tiles_of_row;
    return t;
  };
  // Thread 0 takes the next tile for a stage; others see it after a barrier.
  const auto take = [&](int stage) {
    if (threadIdx.x == 0) tickets[stage] = atomicAdd(scratch.taken, 1u);
  };
  const auto load = [&](int stage) {
    const TakenTile t = taken(stage);
    if (t.any) {
      const int64_t start = t.tile * kTile;
      const T* const x = in + t.row * plan.n;
      uint4* const buffer = once_buffers + stage * kTileVectors;
#pragma unroll
      for (int u = 0; u < kOnceVectors; ++u) {
        const int v = u * kOnceThreads + threadIdx.x;
        const int64_t i = start + int64_t{v} * V;
        const int64_t left = plan.n - i;
        const int bytes = left >= V  ? 16
                          : left > 0 ? static_cast<int>(left) * sizeof(T)
                                     : 0;
        CopyPart(buffer + PlaceOf(v), bytes > 0 ? x + i : x, bytes);
      }
    }
    asm volatile("cp.async.commit_group;\n" ::: "memory");
  };
  const auto own_place = [&](int stage, int j) {
    return once_buffers + stage * kTileVectors +
           PlaceOf(threadIdx.x * kOnceVectors + j);
  };
  const auto own_vector = [&](int stage, int j) {
    const uint4 raw = *own_place(stage, j);
    Vec<T, V> v;
    memcpy(&v, &raw, sizeof(v));
    return v;
  };

  // Few tiles: one for each block.
  const bool several = plan.tiles > gridDim.x;
  take(0);
#pragma unroll
  for (int s = 1; s < kOnceStages; ++s) {
    if (several) {
      take(s);
    } else if (threadIdx.x == 0) {
      tickets[s] = UINT32_MAX;
    }
  }
  __syncthreads();
  load(0);
  load(1);

  // The tile whose predecessors are waited for: what is before the thread's
  // elements in it, and its sum.
  TakenTile last = {0, 0, false};
  S before_own = 0;
  S last_sum = 0;
  int stage = 0;
  for (int parity = 0;; parity ^= 1) {
    const TakenTile now = taken(stage);
    const int last_stage = stage == 0 ? kOnceStages - 1 : stage - 1;
    S before_now = 0;
    S now_sum = 0;
    if (now.any) {
      // All but the newest copies.
      asm volatile("cp.async.wait_group 1;\n" ::: "memory");
      __syncthreads();
      S own = 0;
#pragma unroll
      for (int j = 0; j < kOnceVectors; ++j) {
        own += SumOf<T, V>(own_vector(stage, j));
      }
      const S inclusive = WarpInclusiveScan(own, lane);
      before_now = ExclusiveOf(inclusive, lane);
      if (lane == kWarp - 1) warp_sums[parity][warp] = inclusive;
      __syncthreads();
      const S scanned = WarpInclusiveScan(
          lane < kOnceWarps ? warp_sums[parity][lane] : S(0), lane);
      const S before_warp = ExclusiveOf(scanned, lane);
      before_now += __shfl_sync(kFullWarp, before_warp, warp);
      now_sum = __shfl_sync(kFullWarp, scanned, kOnceWarps - 1);
      if (threadIdx.x == 0) {
        Publish(scratch.tile + int64_t{now.row} * plan.tiles_of_row + now.tile,
                now_sum);
      }
    }
    if (last.any) {
      // The sums of the group's tiles before, in the order of their places.
      const uint32_t group = last.tile / kGroup;
      const uint32_t place = last.tile % kGroup;
      const Published* const of_group =
          scratch.tile + int64_t{last.row} * plan.tiles_of_row + group * kGroup;
      Published* const groups =
          scratch.group + int64_t{last.row} * plan.groups_of_row;
      S before = 0;
      if (place > 0) {
        before = BlockReduce(
            threadIdx.x < place ? Await<S>(of_group + threadIdx.x) : S(0),
            Sum(), S(0), reduce_slots);
      }
      if (group > 0) before = Await<S>(groups + group) + before;
      if (place == kGroup - 1 && threadIdx.x == 0 &&
          group + 1 < plan.groups_of_row) {
        Publish(groups + group + 1, before + last_sum);
      }
      S running = before + before_own;
#pragma unroll
      for (int j = 0; j < kOnceVectors; ++j) {
        const Vec<T, V> v = own_vector(last_stage, j);
        const Vec<T, V> sums = ScanVec<T, V>(v, running);
        running += SumOf<T, V>(v);
        uint4 raw;
        memcpy(&raw, &sums, sizeof(raw));
        *own_place(last_stage, j) = raw;
      }
      __syncthreads();
      const int64_t start = last.tile * kTile;
      T* const y = out + last.row * plan.n;
      const uint4* const buffer = once_buffers + last_stage * kTileVectors;
#pragma unroll
      for (int u = 0; u < kOnceVectors; ++u) {
        const int v = u * kOnceThreads + threadIdx.x;
        const int64_t i = start + int64_t{v} * V;
        const uint4 raw = buffer[PlaceOf(v)];
        if (i + V <= plan.n) {
          *reinterpret_cast<uint4*>(y + i) = raw;
        } else {
          Vec<T, V> sums;
          memcpy(&sums, &raw, sizeof(sums));
#pragma unroll
          for (int k = 0; k < V; ++k) {
            if (i + k < plan.n) y[i + k] = sums.at[k];
          }
        }
      }
    }
    if (!now.any) return;
    // Into the places that this thread itself has just read. The first time
    // round it is the stage that has not been used yet.
    load(last_stage);
    last = now;
    before_own = before_now;
    last_sum = now_sum;
    // Seen after the barriers of the next round; this stage is read once more
    // after it has been written again.
    take(stage);
    stage = stage == kOnceStages - 1 ? 0 : stage + 1;
  }
}

}  // namespace internal_scan
}  // namespace cuda
}  // namespace kernels
}  // namespace flaggems

#endif  // FLAGGEMS_KERNELS_CUDA_SCAN_ONCE_CUH_
