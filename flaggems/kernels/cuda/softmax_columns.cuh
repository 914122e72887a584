// Softmax over a dimension that is not the innermost one, where neighbouring
// columns fill vectors of 16 bytes: a thread has kWidth columns and four of the
// rows of each, a block all rows of some columns. As in row_tile.cuh blocks
// take several tiles, and the loads of the next one run while a tile is
// computed.

#ifndef FLAGGEMS_KERNELS_CUDA_SOFTMAX_COLUMNS_CUH_
#define FLAGGEMS_KERNELS_CUDA_SOFTMAX_COLUMNS_CUH_

#include <cstdint>

#include "flaggems/kernels/cuda/aligned_row.cuh"
#include "flaggems/kernels/cuda/softmax_math.cuh"

namespace flaggems {
namespace kernels {
namespace cuda {
namespace internal_softmax {

struct WideColumnPlan {
  int64_t n = 0;
  int64_t inner = 0;
  int64_t tiles = 0;         // in all
  int64_t tiles_in_row = 0;  // beside each other in inner
  int lanes = 0;             // threads beside each other, a power of two
  int height = 0;            // threads above each other, a power of two
};

inline constexpr int kColumnRows = 4;  // of a thread

// Whether a block can hold all rows.
template <typename T>
bool HasWideColumns(const T* in, int64_t n, int64_t inner) {
  return n <= 1024 / 4 * kColumnRows && inner % kVecWidth<T> == 0 &&
         inner >= 2 * kVecWidth<T> && IsAligned(in, 16);
}

template <typename T>
WideColumnPlan PlanWideColumns(int64_t outer, int64_t n, int64_t inner) {
  WideColumnPlan plan;
  plan.n = n;
  plan.inner = inner;
  plan.height = 1;
  while (plan.height * kColumnRows < n) plan.height *= 2;
  // 64 bytes of a row at least, as far as there are so many.
  plan.lanes = 1;
  const int64_t vectors = inner / kVecWidth<T>;
  while (plan.lanes < vectors && plan.lanes < kWarp &&
         (plan.lanes < 4 || plan.lanes * plan.height < 128)) {
    plan.lanes *= 2;
  }
  if (plan.lanes * plan.height < kWarp) plan.height = kWarp / plan.lanes;
  plan.tiles_in_row = (vectors + plan.lanes - 1) / plan.lanes;
  plan.tiles = outer * plan.tiles_in_row;
  return plan;
}

// op over a column's threads for each of a thread's columns. shared: kWarp *
// lanes * kWidth values and as many as a row of them for the result.
template <int kWidth, typename C, typename Op>
__device__ __forceinline__ void ReduceColumns(const WideColumnPlan& plan,
                                              C (&values)[kWidth], Op op,
                                              C* shared) {
  for (int mask = plan.lanes; mask < kWarp; mask *= 2) {
#pragma unroll
    for (int j = 0; j < kWidth; ++j) {
      values[j] = op(values[j], ShuffleXor(values[j], mask));
    }
  }
  const int warps = blockDim.x / kWarp;
  if (warps == 1) return;
  const int columns = plan.lanes * kWidth;
  const int lane = threadIdx.x % kWarp;
  __syncthreads();
  if (lane < plan.lanes) {
#pragma unroll
    for (int j = 0; j < kWidth; ++j) {
      shared[threadIdx.x / kWarp * columns + lane * kWidth + j] = values[j];
    }
  }
  __syncthreads();
  C* const result = shared + warps * columns;
  for (int c = threadIdx.x; c < columns; c += blockDim.x) {
    C value = shared[c];
    for (int w = 1; w < warps; ++w) value = op(value, shared[w * columns + c]);
    result[c] = value;
  }
  __syncthreads();
#pragma unroll
  for (int j = 0; j < kWidth; ++j) {
    values[j] = result[threadIdx.x % plan.lanes * kWidth + j];
  }
}

// Bytes of `shared` of ReduceColumns and of the slots of the loads.
template <typename T>
size_t WideColumnSharedBytes(const WideColumnPlan& plan) {
  const size_t threads = plan.lanes * plan.height;
  return threads * kColumnRows * 16 +
         (threads / kWarp + 1) * plan.lanes * kVecWidth<T> * sizeof(Compute<T>);
}

template <bool kLog, typename T, typename U>
__global__ void __launch_bounds__(1024)
    SoftmaxWideColumnsKernel(const __grid_constant__ WideColumnPlan plan,
                             const T* in, U* out) {
  using C = Compute<T>;
  constexpr int kWidth = kVecWidth<T>;
  constexpr bool kFast = sizeof(U) == 2;
  constexpr float kLog2E = 1.4426950408889634f;
  extern __shared__ uint4 column_shared[];
  Vec<T, kWidth>* const slots =
      reinterpret_cast<Vec<T, kWidth>*>(column_shared);
  C* const shared =
      reinterpret_cast<C*>(column_shared + kColumnRows * blockDim.x);
  const int x = threadIdx.x % plan.lanes;
  const int y = threadIdx.x / plan.lanes;
  // Of the thread, in a tile: its first element, and whether it has columns.
  struct Place {
    int64_t base;
    bool inside;
  };
  const auto place_of = [&](int64_t tile) {
    const int64_t o = tile / plan.tiles_in_row;
    const int64_t column =
        ((tile - o * plan.tiles_in_row) * plan.lanes + x) * kWidth;
    return Place{(o * plan.n + y) * plan.inner + column,
                 tile < plan.tiles && column < plan.inner};
  };
  const int64_t step = plan.inner * plan.height;
  const int n = static_cast<int>(plan.n);
  const auto below_end = [&](int i) { return i * plan.height + y < n; };
  const auto start_copies = [&](const Place& place) {
#pragma unroll
    for (int i = 0; i < kColumnRows; ++i) {
      if (place.inside && below_end(i)) {
        CopyAsync(slots + i * blockDim.x + threadIdx.x,
                  in + place.base + i * step);
      }
    }
  };
  Place next = place_of(blockIdx.x);
  start_copies(next);
  for (int64_t tile = blockIdx.x; tile < plan.tiles; tile += gridDim.x) {
    const Place place = next;
    const auto has = [&](int i) { return place.inside && below_end(i); };
    WaitForCopies();
    C items[kColumnRows][kWidth];
    C reduced[kWidth];
#pragma unroll
    for (int j = 0; j < kWidth; ++j) reduced[j] = MinusInfinity<C>();
#pragma unroll
    for (int i = 0; i < kColumnRows; ++i) {
      if (has(i)) {
        const Vec<T, kWidth> v = slots[i * blockDim.x + threadIdx.x];
#pragma unroll
        for (int j = 0; j < kWidth; ++j) items[i][j] = ToCompute(v.at[j]);
      } else {
#pragma unroll
        for (int j = 0; j < kWidth; ++j) items[i][j] = MinusInfinity<C>();
      }
#pragma unroll
      for (int j = 0; j < kWidth; ++j) {
        reduced[j] = Larger(reduced[j], items[i][j]);
      }
    }
    ReduceColumns<kWidth>(plan, reduced, Max(), shared);
    if (tile + gridDim.x < plan.tiles) {
      next = place_of(tile + gridDim.x);
      start_copies(next);
    }
    C sums[kWidth];
#pragma unroll
    for (int j = 0; j < kWidth; ++j) {
      sums[j] = 0;
      if constexpr (!kLog && !kFast) reduced[j] = ExpOrigin(reduced[j]);
#pragma unroll
      for (int i = 0; i < kColumnRows; ++i) {
        C& item = items[i][j];
        if constexpr (kLog) item -= reduced[j];
        C e;
        if constexpr (kFast && kLog) {
          e = exp2f(item * kLog2E);
        } else if constexpr (kFast) {
          e = exp2f((item - reduced[j]) * kLog2E);
        } else {
          e = Exp(kLog ? item : item - reduced[j]);
        }
        // A missing row of an infinite column would be NaN.
        sums[j] += has(i) ? e : C{0};
        if constexpr (!kLog) item = e;
      }
    }
    ReduceColumns<kWidth>(plan, sums, Sum(), shared);
#pragma unroll
    for (int j = 0; j < kWidth; ++j) {
      if constexpr (kLog) {
        sums[j] = Log(sums[j]);
      } else {
        reduced[j] = C{1} / sums[j];
      }
    }
#pragma unroll
    for (int i = 0; i < kColumnRows; ++i) {
      if (!has(i)) continue;
      Vec<U, kWidth> v;
#pragma unroll
      for (int j = 0; j < kWidth; ++j) {
        C y_value;
        if constexpr (kLog) {
          y_value = items[i][j] - sums[j];
        } else if constexpr (kFast) {
          y_value = items[i][j] * reduced[j];
        } else {
          y_value = Divide(items[i][j], sums[j], reduced[j]);
        }
        v.at[j] = FromCompute<U>(y_value);
      }
      uint4* to = reinterpret_cast<uint4*>(out + place.base + i * step);
#pragma unroll
      for (unsigned b = 0; b < sizeof(v) / 16; ++b) {
        __stcs(to + b, reinterpret_cast<const uint4*>(&v)[b]);
      }
    }
  }
}

template <bool kLog, typename T, typename U>
cudaError_t LaunchWideColumns(int64_t outer, int64_t n, int64_t inner,
                              int multiprocessors, const T* in, U* out,
                              cudaStream_t stream) {
  const WideColumnPlan plan = PlanWideColumns<T>(outer, n, inner);
  if (plan.tiles == 0) return cudaSuccess;
  const auto kernel = &SoftmaxWideColumnsKernel<kLog, T, U>;
  const int threads = plan.lanes * plan.height;
  const size_t bytes = WideColumnSharedBytes<T>(plan);
  if (bytes > 48 * 1024) {
    const cudaError_t error = cudaFuncSetAttribute(
        kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
        static_cast<int>(bytes));
    if (error != cudaSuccess) return error;
  }
  int64_t blocks = plan.tiles;
  if (blocks > 2 * int64_t{multiprocessors}) {
    int resident = 0;
    const cudaError_t error = cudaOccupancyMaxActiveBlocksPerMultiprocessor(
        &resident, kernel, threads, bytes);
    if (error != cudaSuccess) return error;
    const int64_t most = int64_t{resident} * multiprocessors;
    if (most > 0 && most < blocks) blocks = most;
  }
  kernel<<<static_cast<unsigned>(blocks), threads, bytes, stream>>>(plan, in,
                                                                    out);
  return cudaGetLastError();
}

}  // namespace internal_softmax
}  // namespace cuda
}  // namespace kernels
}  // namespace flaggems

#endif  // FLAGGEMS_KERNELS_CUDA_SOFTMAX_COLUMNS_CUH_
