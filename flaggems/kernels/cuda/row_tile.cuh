// The row engine: rows of n contiguous elements, each read once, kept in
// registers through as many steps as an operator has, and written once.
//
//   host    RowPlan plan = PlanRows<kVectors>(first, rows, n, max_cluster, ...)
//           LaunchRows(plan, kernel, stream, arguments...)
//   device  RowTile<T, kVectors> tile(plan, first, &shared);
//           float x[tile.kItems];
//           tile.Load(input, fill, x);          // 16-byte loads, all in flight
//           float m = tile.Reduce(..., Max(), -inf);   // over the whole row
//           tile.Store(output, x);
//
// A row is shared by a team of threads:
//   a part of a warp (1, 2, 4 ... 32 lanes) for short rows, several rows a
//     block; Reduce is shuffles only;
//   a block of up to 1024 threads;
//   on Hopper and later, a cluster of up to 8 blocks (a row of up to 8 * 1024 *
//     kItems elements, or fewer blocks an SM that wait for each other);
//   longer rows are streamed: chunks() > 1, SetChunk(c) chooses the part of the
//     row that Load, Store and Position mean, and an operator reads the row
//     twice;
//   few long rows are streamed in slices, one block a slice (plan.slices > 1):
//     one launch leaves partial results, a second one combines them.
//
// Alignment: vectors are those of the addresses, not of the row: a row that
// starts in the middle of one has a shorter first vector. Load and Store take
// single elements there and at the end; LoadPair reads those vectors whole
// where the tensor has their other elements. So odd n and misaligned pointers
// cost two edges a row. A tensor whose alignment differs from that of the first
// one (the one given to the constructor) is moved element by element.
//
// Elements past the row's ends have the value `fill` after Load and are not
// stored; Valid(item) tells them. Item i of a thread is element Position(i).

#ifndef FLAGGEMS_KERNELS_CUDA_ROW_TILE_CUH_
#define FLAGGEMS_KERNELS_CUDA_ROW_TILE_CUH_

#include <cooperative_groups.h>
#include <cuda_runtime.h>

#include <cstdint>

#include "flaggems/kernels/cuda/block_reduce.cuh"
#include "flaggems/kernels/cuda/numeric.cuh"

namespace flaggems {
namespace kernels {
namespace cuda {

// How rows are laid over threads; made by PlanRows.
struct RowPlan {
  int64_t rows = 0;
  int64_t n = 0;
  int lanes = 0;    // threads of a row, if these are less than a warp; else 0
  int threads = 0;  // of a block
  int cluster = 1;  // blocks of a row, which reduce together
  int slices = 1;   // blocks of a row, which do not
  bool streamed = false;  // the row is read in chunks
  int64_t blocks = 0;
};

// Vectors of a thread whose items take about 32 registers.
template <typename T>
inline constexpr int kManyVectors = 32 /
                                    (kVecWidth<T> *
                                     static_cast<int>(sizeof(Compute<T>)) / 4);

// Odd rows of at most this many elements have tiles of width 1.
inline constexpr int kNarrowTile = 4 * kWarp;

// Rows of n elements, the first one at `first`, for a kernel whose threads have
// kVectors vectors each.
// max_cluster: 1 forbids clusters. multiprocessors > 0 allows slices (the
// kernel has to know about them). Rows shorter than 32 * kVectors vectors get
// part of a warp.
template <int kVectors, typename T, int kWidth = kVecWidth<T>>
RowPlan PlanRows(const T* first, int64_t rows, int64_t n, int max_cluster,
                 int multiprocessors = 0, int max_threads = 1024,
                 int block_threads = 256) {
  RowPlan plan;
  plan.rows = rows;
  plan.n = n;
  // One more vector where rows may start in the middle of one.
  const int64_t vectors =
      n % kWidth == 0 && IsAligned(first, kWidth * int{sizeof(T)})
          ? n / kWidth
          : (n + 2 * kWidth - 2) / kWidth;
  const int64_t items = (vectors + kVectors - 1) / kVectors;  // of threads
  if (items <= kWarp) {
    plan.lanes = 1;
    while (plan.lanes < items) plan.lanes *= 2;
    plan.threads = 128;
    const int rows_per_block = plan.threads / plan.lanes;
    plan.blocks = (rows + rows_per_block - 1) / rows_per_block;
    return plan;
  }
  const auto whole_warps = [](int64_t threads) {
    return static_cast<int>((threads + kWarp - 1) / kWarp * kWarp);
  };
  // Small blocks: their phases of loading and storing overlap.
  while (plan.cluster < max_cluster && items > int64_t{plan.cluster} *
                                                   (plan.cluster == 1 ? 2 : 1) *
                                                   block_threads) {
    plan.cluster *= 2;
  }
  const int64_t share = (items + plan.cluster - 1) / plan.cluster;
  plan.threads = whole_warps(share < max_threads ? share : max_threads);
  plan.streamed = share > max_threads;
  if (plan.streamed && multiprocessors > 0) {
    // A cluster would only help if rows are few; slices do more.
    plan.cluster = 1;
    plan.threads = 512;
    const int64_t chunk = int64_t{plan.threads} * kVectors;
    const int64_t most = (vectors + 2 * chunk - 1) / (2 * chunk);
    const int64_t wanted =
        rows >= multiprocessors
            ? 1
            : (4 * int64_t{multiprocessors} + rows - 1) / rows;
    plan.slices = static_cast<int>(wanted < most ? wanted : most);
    if (plan.slices > 512) plan.slices = 512;
  }
  plan.blocks = rows * plan.cluster * plan.slices;
  return plan;
}

// The launch that `plan` says; kernel's first parameter is the plan.
template <typename... Parameters, typename... Arguments>
cudaError_t LaunchRows(const RowPlan& plan,
                       void (*kernel)(RowPlan, Parameters...),
                       cudaStream_t stream, Arguments... arguments) {
  if (plan.rows == 0) return cudaSuccess;
  if (plan.cluster == 1) {
    kernel<<<static_cast<unsigned>(plan.blocks), plan.threads, 0, stream>>>(
        plan, arguments...);
    return cudaGetLastError();
  }
  cudaLaunchConfig_t config = {};
  config.gridDim = dim3(static_cast<unsigned>(plan.blocks));
  config.blockDim = dim3(plan.threads);
  config.stream = stream;
  cudaLaunchAttribute attribute;
  attribute.id = cudaLaunchAttributeClusterDimension;
  attribute.val.clusterDim.x = plan.cluster;
  attribute.val.clusterDim.y = 1;
  attribute.val.clusterDim.z = 1;
  config.attrs = &attribute;
  config.numAttrs = 1;
  return cudaLaunchKernelEx(&config, kernel, plan,
                            static_cast<Parameters>(arguments)...);
}

// Scratch of one Reduce; two alternate, so that a block may start the next
// Reduce while other warps still read the last one.
struct alignas(16) RowShared {
  uint32_t words[2][kWarp][8];
};

// kWidth 1: for short rows of odd length, which as vectors would be all edges.
template <typename T, int kVectors_, int kWidth_ = kVecWidth<T>>
class RowTile {
 public:
  using C = Compute<T>;
  static constexpr int kVectors = kVectors_;
  static constexpr int kWidth = kWidth_;
  static constexpr int kItems = kVectors * kWidth;

  // `first`: the tensor whose addresses decide the vectors.
  __device__ __forceinline__ RowTile(const RowPlan& plan, const T* first,
                                     RowShared* shared)
      : shared_(shared), lanes_(plan.lanes), cluster_(plan.cluster) {
    if (lanes_ > 0) {
      const int local = threadIdx.x / lanes_;
      row_ = int64_t{blockIdx.x} * (blockDim.x / lanes_) + local;
      thread_ = threadIdx.x % lanes_;
      team_ = lanes_;
      active_ = row_ < plan.rows;
      if (!active_) row_ = 0;
    } else {
      const unsigned parts = plan.cluster * plan.slices;
      row_ = parts == 1 ? blockIdx.x : blockIdx.x / parts;
      const int part =
          parts == 1 ? 0 : static_cast<int>(blockIdx.x - row_ * parts);
      slice_ = plan.cluster > 1 ? 0 : part;
      thread_ = threadIdx.x + (plan.cluster > 1 ? part * blockDim.x : 0);
      team_ = blockDim.x * plan.cluster;
      active_ = true;
    }
    start_ = row_ * plan.n;
    numel_ = plan.rows * plan.n;
    n_ = active_ ? plan.n : 0;
    const uintptr_t address = reinterpret_cast<uintptr_t>(first + start_);
    head_ = static_cast<int>(address % (sizeof(T) * kWidth) / sizeof(T));
    ragged_ = head_ != 0 || n_ % kWidth != 0;
    chunks_ = 1;
    const int64_t chunk = int64_t{team_} * kItems;
    if (n_ + head_ > chunk) {
      const int64_t all = (n_ + head_ + chunk - 1) / chunk;
      chunks_ = (all + plan.slices - 1) / plan.slices;
    }
    SetChunk(0);
  }

  __device__ int64_t row() const { return row_; }
  __device__ bool active() const { return active_; }
  __device__ int64_t n() const { return n_; }
  __device__ int slice() const { return slice_; }
  // The one thread of the row (of the slice) that writes its scalars.
  __device__ bool leader() const { return thread_ == 0 && active_; }

  // Chunks of this slice of the row, of team * kItems elements each; the last
  // ones may be empty.
  __device__ int64_t chunks() const { return chunks_; }
  __device__ __forceinline__ void SetChunk(int64_t chunk) {
    const int64_t before =
        (slice_ * chunks_ + chunk) * (int64_t{team_} * kItems) - head_;
    // All positions of a chunk fit into an int once the chunk's start is
    // taken off.
    base_ = start_ + before;
    low_ = before < 0 ? static_cast<int>(-before) : 0;
    const int64_t left = n_ - before;
    high_ = left > (1 << 30) ? (1 << 30)
            : left < 0       ? 0
                             : static_cast<int>(left);
    wide_ = 0;
    partial_ = 0;
#pragma unroll
    for (int i = 0; i < kVectors; ++i) {
      const int at = Local(i);
      const bool whole = at >= low_ && at + kWidth <= high_;
      if (whole) wide_ |= 1u << i;
      if (ragged_ && !whole && at + kWidth > low_ && at < high_) {
        partial_ |= 1u << i;
        const int64_t begin = base_ + at;
        if (begin >= 0 && begin + kWidth <= numel_) wide_ |= 1u << i;
      }
    }
  }

  // Position in the row of an item of the current chunk; for register-resident
  // rows an int is enough.
  __device__ __forceinline__ int64_t Position(int item) const {
    return base_ - start_ + Local(item / kWidth) + item % kWidth;
  }
  __device__ __forceinline__ bool Valid(int item) const {
    const int at = Local(item / kWidth) + item % kWidth;
    return at >= low_ && at < high_;
  }

  // x[item] = elements of `tensor`, which has this engine's rows; `fill` past
  // the ends. kStream: by loads that say that the data will not be read again;
  // most kernels are slower by a few percent with them (measured on an H200).
  template <bool kStream = false, typename U>
  __device__ __forceinline__ void Load(const U* tensor, C fill,
                                       C (&x)[kItems]) const {
    LoadAt<kStream>(tensor + base_, fill, x);
  }
  // Of two tensors: all loads are in flight before one is waited for. That
  // takes registers: kernels that have none to spare are faster with Load.
  template <bool kStream = false, typename U>
  __device__ __forceinline__ void LoadPair(const U* first, const U* second,
                                           C fill, C (&x)[kItems],
                                           C (&y)[kItems]) const {
    Raw<U> raw_x;
    Raw<U> raw_y;
    StartLoad<kStream>(first + base_, fill, &raw_x);
    StartLoad<kStream>(second + base_, fill, &raw_y);
    EndLoad(raw_x, fill, x);
    EndLoad(raw_y, fill, y);
  }

  // Vector `vector` of the weights, which have n elements and are the same for
  // every row; they stay in the L1 cache, which streaming loads go past.
  template <typename U>
  __device__ __forceinline__ void LoadWeights(const U* weights, int vector,
                                              C (&w)[kWidth]) const {
    const U* base = weights + (base_ - start_);
    const int at = Local(vector);
    Vec<U, kWidth> raw;
    if (IsWide(base) && at >= low_ && at + kWidth <= high_) {
      LoadWide<false>(base + at, &raw);
    } else {
#pragma unroll
      for (int j = 0; j < kWidth; ++j) {
        if (at + j >= low_ && at + j < high_) raw.at[j] = __ldg(base + at + j);
      }
    }
#pragma unroll
    for (int j = 0; j < kWidth; ++j) w[j] = ToCompute(raw.at[j]);
  }

  template <typename U>
  __device__ __forceinline__ void Store(U* tensor, const C (&x)[kItems]) const {
    U* base = tensor + base_;
    const bool wide = IsWide(base);
#pragma unroll
    for (int i = 0; i < kVectors; ++i) {
      const int at = Local(i);
      if (wide && at >= low_ && at + kWidth <= high_) {
        StoreWide(base + at, &x[i * kWidth]);
      } else if (!wide || ragged_) {
#pragma unroll
        for (int j = 0; j < kWidth; ++j) {
          if (at + j >= low_ && at + j < high_) {
            base[at + j] = FromCompute<U>(x[i * kWidth + j]);
          }
        }
      }
    }
  }

  // f(item) for the valid items, without a test for each of them where whole
  // vectors are valid.
  template <typename F>
  __device__ __forceinline__ void ForEach(F f) const {
#pragma unroll
    for (int i = 0; i < kVectors; ++i) ForEachOf(i, f);
  }
  // The same for the items of one vector.
  template <typename F>
  __device__ __forceinline__ void ForEachOf(int vector, F f) const {
    const int at = Local(vector);
    if (at >= low_ && at + kWidth <= high_) {
#pragma unroll
      for (int j = 0; j < kWidth; ++j) f(vector * kWidth + j);
    } else if (ragged_) {
#pragma unroll
      for (int j = 0; j < kWidth; ++j) {
        if (at + j >= low_ && at + j < high_) f(vector * kWidth + j);
      }
    }
  }

  // op over the team's values, in every thread of it; a type of up to 32 bytes.
  // All threads of the block call it.
  template <typename V, typename Op>
  __device__ __forceinline__ V Reduce(V value, Op op, V identity) {
    static_assert(sizeof(V) <= 32, "RowShared has 32 bytes a warp");
    if (lanes_ > 0) {
      for (int mask = lanes_ / 2; mask > 0; mask /= 2) {
        value = op(value, ShuffleXor(value, mask));
      }
      return value;
    }
    value = WarpReduce(value, op);
    V* slots = reinterpret_cast<V*>(shared_->words[phase_]);
    phase_ ^= 1;
    const int lane = threadIdx.x % kWarp;
    const int warps = blockDim.x / kWarp;
    if (lane == 0) slots[threadIdx.x / kWarp] = value;
    __syncthreads();
    value = WarpReduce(lane < warps ? slots[lane] : identity, op);
#if __CUDA_ARCH__ >= 900
    if (cluster_ > 1) {
      // Scratch of its own: the blocks' results, read by all of them.
      __shared__ alignas(16) uint32_t mine[2][8];
      const auto cluster = cooperative_groups::this_cluster();
      V* own = reinterpret_cast<V*>(mine[phase_]);
      if (threadIdx.x == 0) *own = value;
      cluster.sync();
      V all = identity;
      for (int block = 0; block < cluster_; ++block) {
        all = op(all, *cluster.map_shared_rank(own, block));
      }
      value = all;
      remote_ = true;
    }
#endif
    return value;
  }

  // At the kernel's end: no block of a cluster leaves while others read its
  // scratch.
  __device__ __forceinline__ void Finish() {
#if __CUDA_ARCH__ >= 900
    if (remote_) cooperative_groups::this_cluster().sync();
#endif
  }

 private:
  __device__ __forceinline__ int Local(int vector) const {
    return (vector * team_ + thread_) * kWidth;
  }

  template <typename U>
  __device__ __forceinline__ static bool IsWide(const U* base) {
    return reinterpret_cast<uintptr_t>(base) % (sizeof(U) * kWidth) == 0;
  }

  template <bool kStream, typename U>
  __device__ __forceinline__ void LoadAt(const U* base, C fill,
                                         C (&x)[kItems]) const {
    Vec<U, kWidth> raw[kVectors];
    if (IsWide(base)) {
#pragma unroll
      for (int i = 0; i < kVectors; ++i) {
        const int at = Local(i);
        if (at >= low_ && at + kWidth <= high_) {
          LoadWide<kStream>(base + at, &raw[i]);
        } else {
#pragma unroll
          for (int j = 0; j < kWidth; ++j) raw[i].at[j] = FromCompute<U>(fill);
        }
      }
      if (ragged_) {
#pragma unroll
        for (int i = 0; i < kVectors; ++i) {
          const int at = Local(i);
          if (at >= low_ && at + kWidth <= high_) continue;
          if (at >= high_) continue;
#pragma unroll
          for (int j = 0; j < kWidth; ++j) {
            if (at + j >= low_ && at + j < high_) raw[i].at[j] = base[at + j];
          }
        }
      }
    } else {
#pragma unroll
      for (int i = 0; i < kVectors; ++i) {
        const int at = Local(i);
#pragma unroll
        for (int j = 0; j < kWidth; ++j) {
          raw[i].at[j] = at + j >= low_ && at + j < high_
                             ? base[at + j]
                             : FromCompute<U>(fill);
        }
      }
    }
#pragma unroll
    for (int i = 0; i < kVectors; ++i) {
#pragma unroll
      for (int j = 0; j < kWidth; ++j) {
        x[i * kWidth + j] = static_cast<C>(ToCompute(raw[i].at[j]));
      }
    }
  }

  // What memory has at the thread's vectors.
  template <typename U>
  struct Raw {
    Vec<U, kWidth> at[kVectors];
  };

  // The row's first and last vectors are read whole where the tensor has their
  // other elements: loads of single ones would wait for the others' registers.
  template <bool kStream, typename U>
  __device__ __forceinline__ void StartLoad(const U* base, C fill,
                                            Raw<U>* raw) const {
    const bool wide = IsWide(base);
#pragma unroll
    for (int i = 0; i < kVectors; ++i) {
#pragma unroll
      for (int j = 0; j < kWidth; ++j) {
        raw->at[i].at[j] = FromCompute<U>(fill);
      }
      LoadWideIf<kStream>(wide && (wide_ >> i & 1) != 0, base + Local(i),
                          &raw->at[i]);
    }
    if (wide && (partial_ & ~wide_) == 0) return;
#pragma unroll
    for (int i = 0; i < kVectors; ++i) {
      if (wide && (wide_ >> i & 1) != 0) continue;
      const int at = Local(i);
#pragma unroll
      for (int j = 0; j < kWidth; ++j) {
        if (at + j >= low_ && at + j < high_) raw->at[i].at[j] = base[at + j];
      }
    }
  }

  template <typename U>
  __device__ __forceinline__ void EndLoad(const Raw<U>& raw, C fill,
                                          C (&x)[kItems]) const {
#pragma unroll
    for (int i = 0; i < kVectors; ++i) {
#pragma unroll
      for (int j = 0; j < kWidth; ++j) {
        x[i * kWidth + j] = static_cast<C>(ToCompute(raw.at[i].at[j]));
      }
    }
    if (partial_ == 0) return;
#pragma unroll
    for (int i = 0; i < kVectors; ++i) {
      if ((partial_ >> i & 1) == 0) continue;
      const int at = Local(i);
#pragma unroll
      for (int j = 0; j < kWidth; ++j) {
        if (at + j < low_ || at + j >= high_) x[i * kWidth + j] = fill;
      }
    }
  }

  // *v stays if not `wanted`. In one predicated instruction: what is put beside
  // a load would wait for it, and so would the loads behind.
  template <bool kStream, typename U>
  __device__ __forceinline__ static void LoadWideIf(bool wanted, const U* p,
                                                    Vec<U, kWidth>* v) {
    constexpr int kBytes = sizeof(U) * kWidth;
    if constexpr (kBytes >= 16) {
#pragma unroll
      for (int b = 0; b < kBytes / 16; ++b) {
        uint4& w = reinterpret_cast<uint4*>(v)[b];
        const size_t from =
            __cvta_generic_to_global(reinterpret_cast<const uint4*>(p) + b);
        if constexpr (kStream) {
          asm volatile(
              "{ .reg .pred p; setp.ne.s32 p, %5, 0;\n"
              "@p ld.global.cs.v4.b32 {%0, %1, %2, %3}, [%4]; }"
              : "+r"(w.x), "+r"(w.y), "+r"(w.z), "+r"(w.w)
              : "l"(from), "r"(static_cast<int>(wanted)));
        } else {
          asm volatile(
              "{ .reg .pred p; setp.ne.s32 p, %5, 0;\n"
              "@p ld.global.nc.v4.b32 {%0, %1, %2, %3}, [%4]; }"
              : "+r"(w.x), "+r"(w.y), "+r"(w.z), "+r"(w.w)
              : "l"(from), "r"(static_cast<int>(wanted)));
        }
      }
    } else if (wanted) {
      *v = LoadVec<kWidth>(p);
    }
  }

  // In pieces of 16 bytes (a vector of floats beside one of halves is 32).
  template <bool kStream, typename U>
  __device__ __forceinline__ static void LoadWide(const U* p,
                                                  Vec<U, kWidth>* v) {
    constexpr int kBytes = sizeof(U) * kWidth;
    if constexpr (kBytes >= 16) {
#pragma unroll
      for (int b = 0; b < kBytes / 16; ++b) {
        const uint4* from = reinterpret_cast<const uint4*>(p) + b;
        uint4 word;
        if constexpr (kStream) {
          word = __ldcs(from);
        } else {
          word = __ldg(from);
        }
        reinterpret_cast<uint4*>(v)[b] = word;
      }
    } else {
      *v = LoadVec<kWidth>(p);
    }
  }

  template <typename U>
  __device__ __forceinline__ static void StoreWide(U* p, const C* x) {
    Vec<U, kWidth> v;
#pragma unroll
    for (int j = 0; j < kWidth; ++j) v.at[j] = FromCompute<U>(x[j]);
    constexpr int kBytes = sizeof(U) * kWidth;
    if constexpr (kBytes >= 16) {
#pragma unroll
      for (int b = 0; b < kBytes / 16; ++b) {
        __stcs(reinterpret_cast<uint4*>(p) + b,
               reinterpret_cast<const uint4*>(&v)[b]);
      }
    } else {
      StoreVec<kWidth>(p, v);
    }
  }

  RowShared* shared_;
  int lanes_;
  int cluster_;
  int thread_;
  int team_;
  int slice_ = 0;
  int head_;
  int low_ = 0;
  int high_ = 0;
  int phase_ = 0;
  // Bits of the thread's vectors: those that are read whole, and those of which
  // only a part is in the row.
  unsigned wide_ = 0;
  unsigned partial_ = 0;
  bool active_;
  bool ragged_;
  bool remote_ = false;
  int64_t row_;
  int64_t start_;
  int64_t base_;
  int64_t n_;
  int64_t chunks_;
  int64_t numel_;  // of the tensor
};

}  // namespace cuda
}  // namespace kernels
}  // namespace flaggems

#endif  // FLAGGEMS_KERNELS_CUDA_ROW_TILE_CUH_
