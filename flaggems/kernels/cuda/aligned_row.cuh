// The row engine for rows of whole 16-byte vectors: what most tensors have, and
// where every instruction counts (a 16-bit element has about 25 of them before
// arithmetic, not memory, is the limit). row_tile.cuh has the general case.
//
//   host    AlignedPlan plan = PlanAligned(rows, vectors, capability);
//           ForAlignedPlan(plan, f): f(Team, vectors of a thread, prefetch)
//   device  AlignedRow<kVectors, kTeam, kPrefetch> row(plan, in);
//           do {
//             uint4 x[kVectors];
//             row.Load(in, fill, x);      // as in memory: Unpack<T>, Pack<T>
//             float m = row.Reduce(..., Max(), -inf);   // over the whole row
//             row.Prefetch(in);
//             ... row.Has(i), row.At(i): vector i of the thread
//           } while (row.Next());
//
// Teams: lanes of a warp (several rows a warp), a block, a cluster of blocks.
// With kPrefetch blocks take several rows, and the loads of the next one
// (asynchronous copies to slots in shared memory that only the thread itself
// uses) run while they compute: for rows so long that few blocks fit into a
// multiprocessor.

#ifndef FLAGGEMS_KERNELS_CUDA_ALIGNED_ROW_CUH_
#define FLAGGEMS_KERNELS_CUDA_ALIGNED_ROW_CUH_

#include <cooperative_groups.h>
#include <cuda_runtime.h>

#include <cstdint>
#include <type_traits>

#include "flaggems/kernels/cuda/block_reduce.cuh"
#include "flaggems/kernels/cuda/numeric.cuh"

namespace flaggems {
namespace kernels {
namespace cuda {

// The floats of 16 bytes of T, and back (rounded to nearest even).
template <typename T>
__device__ __forceinline__ void Unpack(const uint4& v,
                                       float (&f)[kVecWidth<T>]) {
  const uint32_t words[4] = {v.x, v.y, v.z, v.w};
#pragma unroll
  for (int w = 0; w < 4; ++w) {
    if constexpr (sizeof(T) == 4) {
      f[w] = __uint_as_float(words[w]);
    } else if constexpr (std::is_same_v<T, __nv_bfloat16>) {
      f[2 * w] = __uint_as_float(words[w] << 16);
      f[2 * w + 1] = __uint_as_float(words[w] & 0xffff0000u);
    } else {
      const float2 pair =
          __half22float2(*reinterpret_cast<const __half2*>(&words[w]));
      f[2 * w] = pair.x;
      f[2 * w + 1] = pair.y;
    }
  }
}

template <typename T>
__device__ __forceinline__ uint4 Pack(const float (&f)[kVecWidth<T>]) {
  uint32_t words[4];
#pragma unroll
  for (int w = 0; w < 4; ++w) {
    if constexpr (sizeof(T) == 4) {
      words[w] = __float_as_uint(f[w]);
    } else if constexpr (std::is_same_v<T, __nv_bfloat16>) {
      const __nv_bfloat162 pair = __floats2bfloat162_rn(f[2 * w], f[2 * w + 1]);
      words[w] = *reinterpret_cast<const uint32_t*>(&pair);
    } else {
      const __half2 pair = __floats2half2_rn(f[2 * w], f[2 * w + 1]);
      words[w] = *reinterpret_cast<const uint32_t*>(&pair);
    }
  }
  return make_uint4(words[0], words[1], words[2], words[3]);
}

// 16 bytes of elements of one value.
template <typename T>
__device__ __forceinline__ uint4 Filled(float value) {
  float f[kVecWidth<T>];
#pragma unroll
  for (int j = 0; j < kVecWidth<T>; ++j) f[j] = value;
  return Pack<T>(f);
}

// Makes the compiler unpack anew at the next use, and not hold what it has
// unpacked: registers.
template <int kVectors>
__device__ __forceinline__ void Renew(uint4 (&x)[kVectors]) {
#pragma unroll
  for (int i = 0; i < kVectors; ++i) {
    asm volatile("" : "+r"(x[i].x), "+r"(x[i].y), "+r"(x[i].z), "+r"(x[i].w));
  }
}

// An asynchronous copy of 16 bytes to shared memory, past the L1 cache.
__device__ __forceinline__ void CopyAsync(void* to, const void* from) {
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16;\n" ::"r"(
                   static_cast<uint32_t>(__cvta_generic_to_shared(to))),
               "l"(from)
               : "memory");
}
__device__ __forceinline__ void WaitForCopies() {
  asm volatile("cp.async.wait_all;\n" ::: "memory");
}

enum class Team { kLanes, kBlock, kCluster };

struct AlignedPlan {
  int64_t rows = 0;
  int vectors = 0;  // of a row
  Team team = Team::kLanes;
  int of_thread = 0;   // vectors
  int lane_shift = 0;  // log2 of the lanes of a row
  int threads = 0;
  int cluster = 1;
  bool prefetch = false;
  int64_t blocks = 0;  // for a team for each row
  int64_t step = 0;    // rows from a team's one to its next one
};

// How long a row an operator's kernels keep in a block of their own.
struct AlignedLimits {
  // Threads of a block without prefetch, each with four vectors. More threads
  // than 512 leave a multiprocessor one block, whose phases do not overlap.
  int direct_threads = 512;
  // Whether a thread can hold eight vectors, with prefetch.
  bool has_prefetch = true;
  // Whether small calls may have a thread for each vector.
  bool has_single = false;
};
// Vectors of a call that leaves most of the device idle: its time is the code
// of one thread, and how long that is to fetch.
inline constexpr int64_t kSmallCall = 1 << 17;

// blocks == 0: too long, for row_tile.cuh.
inline AlignedPlan PlanAligned(int64_t rows, int64_t vectors, int capability,
                               AlignedLimits limits = AlignedLimits()) {
  AlignedPlan plan;
  plan.rows = rows;
  if (vectors > int64_t{8} * 4 * 1024) return plan;
  plan.vectors = static_cast<int>(vectors);
  const auto threads_for = [&](int of_thread, int cluster) {
    const int64_t each = int64_t{of_thread} * cluster;
    const int64_t threads = (vectors + each - 1) / each;
    return static_cast<int>((threads + kWarp - 1) / kWarp * kWarp);
  };
  if (limits.has_single && vectors > kWarp && vectors <= 8 * kWarp &&
      rows * vectors <= kSmallCall) {
    plan.team = Team::kBlock;
    plan.of_thread = 1;
    plan.threads = threads_for(1, 1);
    plan.blocks = rows;
    return plan;
  }
  if (vectors <= 4 * kWarp) {
    plan.of_thread = vectors <= 8 ? 1 : 4;
    while ((plan.of_thread << plan.lane_shift) < vectors) ++plan.lane_shift;
    plan.threads = 128;
    const int64_t rows_of_block = plan.threads >> plan.lane_shift;
    plan.blocks = (rows + rows_of_block - 1) / rows_of_block;
    return plan;
  }
  if (vectors <= 4 * limits.direct_threads) {
    plan.team = Team::kBlock;
    plan.of_thread = 4;
    plan.threads = threads_for(4, 1);
    plan.blocks = rows;
    return plan;
  }
  if (limits.has_prefetch && vectors <= 8 * 1024) {
    plan.team = Team::kBlock;
    plan.of_thread = 8;
    plan.prefetch = true;
    plan.threads = threads_for(8, 1);
    plan.blocks = rows;
    return plan;
  }
  if (capability < 90) return plan;
  plan.team = Team::kCluster;
  plan.of_thread = 4;
  plan.cluster = 2;
  while (plan.cluster < 8 && threads_for(4, plan.cluster) > 256) {
    plan.cluster *= 2;
  }
  plan.threads = threads_for(4, plan.cluster);
  plan.blocks = rows * plan.cluster;
  return plan;
}

// f(std::integral_constant<Team>, integral_constant<int> of_thread,
// bool_constant prefetch) with the plan's values; returns cudaError_t.
template <typename F>
cudaError_t ForAlignedPlan(const AlignedPlan& plan, F f) {
  using std::integral_constant;
  if (plan.team == Team::kCluster) {
    return f(integral_constant<Team, Team::kCluster>(),
             integral_constant<int, 4>(), std::false_type());
  }
  if (plan.team == Team::kBlock) {
    if (plan.of_thread == 1) {
      return f(integral_constant<Team, Team::kBlock>(),
               integral_constant<int, 1>(), std::false_type());
    }
    return plan.prefetch ? f(integral_constant<Team, Team::kBlock>(),
                             integral_constant<int, 8>(), std::true_type())
                         : f(integral_constant<Team, Team::kBlock>(),
                             integral_constant<int, 4>(), std::false_type());
  }
  return plan.of_thread == 1
             ? f(integral_constant<Team, Team::kLanes>(),
                 integral_constant<int, 1>(), std::false_type())
             : f(integral_constant<Team, Team::kLanes>(),
                 integral_constant<int, 4>(), std::false_type());
}

// Of the plans without prefetch and clusters only: f(Team, of_thread).
inline bool IsSimple(const AlignedPlan& plan) {
  return plan.blocks > 0 && plan.team != Team::kCluster && !plan.prefetch;
}
template <typename F>
cudaError_t ForSimplePlan(const AlignedPlan& plan, F f) {
  using std::integral_constant;
  if (plan.team == Team::kBlock) {
    return f(integral_constant<Team, Team::kBlock>(),
             integral_constant<int, 4>());
  }
  return plan.of_thread == 1 ? f(integral_constant<Team, Team::kLanes>(),
                                 integral_constant<int, 1>())
                             : f(integral_constant<Team, Team::kLanes>(),
                                 integral_constant<int, 4>());
}

// The launch of a kernel whose first parameter is the plan.
template <typename... Parameters, typename... Arguments>
cudaError_t LaunchAligned(AlignedPlan plan, int multiprocessors,
                          void (*kernel)(AlignedPlan, Parameters...),
                          cudaStream_t stream, Arguments... arguments) {
  if (plan.rows == 0) return cudaSuccess;
  cudaLaunchConfig_t config = {};
  int64_t blocks = plan.blocks;
  if (plan.prefetch) {
    const size_t bytes = size_t{16} * plan.of_thread * plan.threads;
    config.dynamicSmemBytes = bytes;
    if (bytes > 48 * 1024) {
      const cudaError_t error = cudaFuncSetAttribute(
          kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
          static_cast<int>(bytes));
      if (error != cudaSuccess) return error;
    }
    if (blocks > multiprocessors) {
      int resident = 0;
      const cudaError_t error = cudaOccupancyMaxActiveBlocksPerMultiprocessor(
          &resident, kernel, plan.threads, bytes);
      if (error != cudaSuccess) return error;
      const int64_t most = int64_t{resident} * multiprocessors;
      if (most > 0 && most < blocks) blocks = most;
    }
    plan.step = blocks;
  }
  config.gridDim = dim3(static_cast<unsigned>(blocks));
  config.blockDim = dim3(plan.threads);
  config.stream = stream;
  cudaLaunchAttribute attribute;
  if (plan.cluster > 1) {
    attribute.id = cudaLaunchAttributeClusterDimension;
    attribute.val.clusterDim.x = plan.cluster;
    attribute.val.clusterDim.y = 1;
    attribute.val.clusterDim.z = 1;
    config.attrs = &attribute;
    config.numAttrs = 1;
  }
  return cudaLaunchKernelEx(&config, kernel, plan,
                            static_cast<Parameters>(arguments)...);
}

template <int kVectors, Team kTeam, bool kPrefetch>
class AlignedRow {
 public:
  __device__ __forceinline__ AlignedRow(const AlignedPlan& plan, const void* in)
      : plan_(plan) {
    if constexpr (kTeam == Team::kLanes) {
      row_ =
          (int64_t{blockIdx.x} * blockDim.x + threadIdx.x) >> plan.lane_shift;
      thread_ = threadIdx.x & ((1 << plan.lane_shift) - 1);
      team_ = 1 << plan.lane_shift;
      vectors_ = row_ < plan.rows ? plan.vectors : 0;
    } else if constexpr (kTeam == Team::kBlock) {
      row_ = blockIdx.x;
      thread_ = threadIdx.x;
      team_ = blockDim.x;
      vectors_ = plan.vectors;
    } else {
      const unsigned part = blockIdx.x & (plan.cluster - 1);
      row_ = blockIdx.x / plan.cluster;
      thread_ = threadIdx.x + part * blockDim.x;
      team_ = blockDim.x * plan.cluster;
      vectors_ = plan.vectors;
    }
    if constexpr (kPrefetch) Start(in, row_);
  }

  // 0 for a team without a row, which takes part in Reduce all the same.
  __device__ __forceinline__ int64_t row() const {
    return kTeam == Team::kLanes && vectors_ == 0 ? 0 : row_;
  }
  // The one thread that writes the row's scalars.
  __device__ __forceinline__ bool leader() const {
    return thread_ == 0 && vectors_ > 0;
  }
  // Vector i of the thread: its place in the row, and whether it is there.
  __device__ __forceinline__ int At(int i) const { return thread_ + i * team_; }
  __device__ __forceinline__ bool Has(int i) const { return At(i) < vectors_; }
  // The row of a tensor, in vectors.
  __device__ __forceinline__ const uint4* In(const void* tensor) const {
    return static_cast<const uint4*>(tensor) + row() * plan_.vectors;
  }
  __device__ __forceinline__ uint4* Out(void* tensor) const {
    return static_cast<uint4*>(tensor) + row() * plan_.vectors;
  }

  // kStream: as in row_tile.cuh.
  template <bool kStream = false>
  __device__ __forceinline__ void Load(const void* in, const uint4& fill,
                                       uint4 (&x)[kVectors]) const {
    if constexpr (kPrefetch) {
      WaitForCopies();
#pragma unroll
      for (int i = 0; i < kVectors; ++i) x[i] = Has(i) ? *Slot(i) : fill;
    } else {
      const uint4* p = In(in);
#pragma unroll
      for (int i = 0; i < kVectors; ++i) {
        if constexpr (kStream) {
          x[i] = Has(i) ? __ldcs(p + At(i)) : fill;
        } else {
          x[i] = Has(i) ? __ldg(p + At(i)) : fill;
        }
      }
    }
  }

  // Starts the loads of the next row: after the last use of what Load gave.
  __device__ __forceinline__ void Prefetch(const void* in) const {
    if constexpr (kPrefetch) {
      if (row_ + plan_.step < plan_.rows) Start(in, row_ + plan_.step);
    }
  }
  __device__ __forceinline__ bool Next() {
    if constexpr (!kPrefetch) return false;
    row_ += plan_.step;
    return row_ < plan_.rows;
  }

  // op over the team's values, in every thread of it; T of whole words.
  template <typename T, typename Op>
  __device__ __forceinline__ T Reduce(T value, Op op, T identity) {
    if constexpr (kTeam == Team::kLanes) {
      for (int mask = team_ / 2; mask > 0; mask /= 2) {
        value = op(value, ShuffleXor(value, mask));
      }
      return value;
    } else {
      // Two halves that take turns: a block may start the next Reduce while
      // some of its warps still read the last one.
      __shared__ T shared[2][kWarp];
      value = WarpReduce(value, op);
      const int lane = threadIdx.x % kWarp;
      const int warps = blockDim.x / kWarp;
      T* const slots = shared[phase_];
      if (lane == 0) slots[threadIdx.x / kWarp] = value;
      __syncthreads();
      value = WarpReduce(lane < warps ? slots[lane] : identity, op);
      if constexpr (kTeam == Team::kCluster) {
#if __CUDA_ARCH__ >= 900
        __shared__ T mine[2];
        const auto cluster = cooperative_groups::this_cluster();
        if (threadIdx.x == 0) mine[phase_] = value;
        cluster.sync();
        value = WarpReduce(lane < plan_.cluster
                               ? *cluster.map_shared_rank(&mine[phase_], lane)
                               : identity,
                           op);
#endif
      }
      phase_ ^= 1;
      return value;
    }
  }

  // At the kernel's end: no block of a cluster leaves while others read its
  // results.
  __device__ __forceinline__ void Finish() const {
#if __CUDA_ARCH__ >= 900
    if constexpr (kTeam == Team::kCluster) {
      cooperative_groups::this_cluster().sync();
    }
#endif
  }

 private:
  __device__ __forceinline__ uint4* Slot(int i) const {
    extern __shared__ uint4 row_slots[];
    return row_slots + i * blockDim.x + threadIdx.x;
  }
  __device__ __forceinline__ void Start(const void* in, int64_t row) const {
    const uint4* p = static_cast<const uint4*>(in) + row * plan_.vectors;
#pragma unroll
    for (int i = 0; i < kVectors; ++i) {
      if (Has(i)) CopyAsync(Slot(i), p + At(i));
    }
  }

  const AlignedPlan& plan_;
  int64_t row_;
  int thread_;
  int team_;
  int vectors_;
  int phase_ = 0;
};

// Rows of at most this many elements that are no whole vectors: single
// elements, eight of a thread.
inline constexpr int kNarrowItems = 8;
inline constexpr int kNarrowRow = kNarrowItems * kWarp;

struct NarrowPlan {
  int64_t rows = 0;
  int n = 0;
  int lane_shift = 0;  // log2 of the lanes of a row
};

class NarrowRow {
 public:
  __device__ __forceinline__ explicit NarrowRow(const NarrowPlan& plan) {
    row_ = (int64_t{blockIdx.x} * blockDim.x + threadIdx.x) >> plan.lane_shift;
    lanes_ = 1 << plan.lane_shift;
    lane_ = threadIdx.x & (lanes_ - 1);
    n_ = row_ < plan.rows ? plan.n : 0;
    if (n_ == 0) row_ = 0;
    start_ = row_ * plan.n;
  }
  __device__ __forceinline__ int64_t row() const { return row_; }
  __device__ __forceinline__ bool leader() const {
    return lane_ == 0 && n_ > 0;
  }
  // Item i of the thread: its place in the row and in a tensor.
  __device__ __forceinline__ int At(int i) const { return lane_ + i * lanes_; }
  __device__ __forceinline__ bool Has(int i) const { return At(i) < n_; }
  template <typename T>
  __device__ __forceinline__ void Load(const T* in, float fill,
                                       float (&x)[kNarrowItems]) const {
    T raw[kNarrowItems];
#pragma unroll
    for (int i = 0; i < kNarrowItems; ++i) {
      if (Has(i)) raw[i] = in[start_ + At(i)];
    }
#pragma unroll
    for (int i = 0; i < kNarrowItems; ++i) {
      x[i] = Has(i) ? ToCompute(raw[i]) : fill;
    }
  }
  template <typename T>
  __device__ __forceinline__ void Store(T* out, int i, float value) const {
    if (Has(i)) out[start_ + At(i)] = FromCompute<T>(value);
  }
  template <typename T, typename Op>
  __device__ __forceinline__ T Reduce(T value, Op op) const {
    for (int mask = lanes_ / 2; mask > 0; mask /= 2) {
      value = op(value, ShuffleXor(value, mask));
    }
    return value;
  }

 private:
  int64_t row_;
  int64_t start_;
  int lanes_;
  int lane_;
  int n_;
};

template <typename... Parameters, typename... Arguments>
cudaError_t LaunchNarrow(int64_t rows, int64_t n,
                         void (*kernel)(NarrowPlan, Parameters...),
                         cudaStream_t stream, Arguments... arguments) {
  if (rows == 0) return cudaSuccess;
  constexpr int kThreads = 128;
  NarrowPlan plan;
  plan.rows = rows;
  plan.n = static_cast<int>(n);
  while ((kNarrowItems << plan.lane_shift) < n) ++plan.lane_shift;
  const int64_t rows_of_block = kThreads >> plan.lane_shift;
  const int64_t blocks = (rows + rows_of_block - 1) / rows_of_block;
  kernel<<<static_cast<unsigned>(blocks), kThreads, 0, stream>>>(plan,
                                                                 arguments...);
  return cudaGetLastError();
}

}  // namespace cuda
}  // namespace kernels
}  // namespace flaggems

#endif  // FLAGGEMS_KERNELS_CUDA_ALIGNED_ROW_CUH_
