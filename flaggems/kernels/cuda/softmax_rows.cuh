// Softmax and log softmax over a tile (row_tile.cuh, column_tile.cuh): the
// device code of op_softmax*.cu.

#ifndef FLAGGEMS_KERNELS_CUDA_SOFTMAX_ROWS_CUH_
#define FLAGGEMS_KERNELS_CUDA_SOFTMAX_ROWS_CUH_

#include <cstdint>
#include <type_traits>

#include "flaggems/kernels/cuda/column_tile.cuh"
#include "flaggems/kernels/cuda/op_softmax_launch.h"
#include "flaggems/kernels/cuda/row_tile.cuh"
#include "flaggems/kernels/cuda/softmax_aligned.cuh"
#include "flaggems/kernels/cuda/softmax_columns.cuh"
#include "flaggems/kernels/cuda/softmax_math.cuh"

namespace flaggems {
namespace kernels {
namespace cuda {
namespace internal_softmax {

// The largest of some numbers, and the sum of exp(x - max) over them. No
// number: -infinity and 0.
template <typename C>
struct Peak {
  C max;
  C sum;
};

struct MergePeaks {
  template <typename C>
  __device__ __forceinline__ Peak<C> operator()(const Peak<C>& a,
                                                const Peak<C>& b) const {
    const bool swap = a.max < b.max;
    const C high = swap ? b.max : a.max;
    const C low = swap ? a.max : b.max;
    const C high_sum = swap ? b.sum : a.sum;
    const C low_sum = swap ? a.sum : b.sum;
    // Without the test two empty sets would give NaN.
    const C scale = low == MinusInfinity<C>() ? C{0} : Exp(low - high);
    return {high, fma(low_sum, scale, high_sum)};
  }
};

// A row (or a slice of one) in several chunks: read once for its peak.
template <typename T, typename Tile>
__device__ __forceinline__ Peak<typename Tile::C> StreamPeak(Tile& tile,
                                                             const T* in) {
  using C = typename Tile::C;
  Peak<C> mine = {MinusInfinity<C>(), C{0}};
  for (int64_t chunk = 0; chunk < tile.chunks(); ++chunk) {
    tile.SetChunk(chunk);
    C x[Tile::kItems];
    tile.template Load<false>(in, MinusInfinity<C>(), x);
    C max = mine.max;
#pragma unroll
    for (int i = 0; i < Tile::kItems; ++i) max = Larger(max, x[i]);
    const C shift = max == MinusInfinity<C>() ? C{0} : max;
    C sum = mine.sum * Exp(mine.max - shift);
#pragma unroll
    for (int i = 0; i < Tile::kItems; ++i) sum += Exp(x[i] - shift);
    mine = {max, sum};
  }
  return tile.Reduce(mine, MergePeaks(), {MinusInfinity<C>(), C{0}});
}

// And once more for the result.
template <bool kLog, typename T, typename U, typename Tile>
__device__ __forceinline__ void StreamResult(Tile& tile,
                                             Peak<typename Tile::C> peak,
                                             const T* in, U* out) {
  using C = typename Tile::C;
  const C inverse = C{1} / peak.sum;
  const C log_sum = Log(peak.sum);
  // From the end: what was read last is still in the cache.
  for (int64_t chunk = tile.chunks() - 1; chunk >= 0; --chunk) {
    tile.SetChunk(chunk);
    C x[Tile::kItems];
    tile.Load(in, MinusInfinity<C>(), x);
#pragma unroll
    for (int i = 0; i < Tile::kItems; ++i) {
      x[i] = kLog ? (x[i] - peak.max) - log_sum
                  : Divide(Exp(x[i] - peak.max), peak.sum, inverse);
    }
    tile.Store(out, x);
  }
}

// A row in registers. 16-bit results: each thread's exponentials are relative
// to its own maximum, so that one reduction is enough, in powers of two. The
// others: relative to the row's maximum or ExpOrigin(), exp and division
// accurate.
template <bool kLog, typename T, typename U, typename Tile>
__device__ __forceinline__ void ResidentRow(Tile& tile, const T* in, U* out) {
  using C = typename Tile::C;
  C x[Tile::kItems];
  tile.Load(in, MinusInfinity<C>(), x);
  C max = MinusInfinity<C>();
#pragma unroll
  for (int i = 0; i < Tile::kItems; ++i) max = Larger(max, x[i]);
  if constexpr (sizeof(U) == 2) {
    constexpr float kLog2E = 1.4426950408889634f;
    const float shift = max == -INFINITY ? 0.0f : (kLog ? max : max * kLog2E);
    // Four sums: one would be a chain of as many additions as items.
    float sums[4] = {0, 0, 0, 0};
#pragma unroll
    for (int i = 0; i < Tile::kItems; ++i) {
      // A log softmax: 1 exactly of the largest (softmax_aligned.cuh).
      const float e = kLog ? exp2f((x[i] - shift) * kLog2E)
                           : exp2f(fmaf(x[i], kLog2E, -shift));
      sums[i % 4] += e;
      if constexpr (!kLog) x[i] = e;
    }
    const Peak<float> peak =
        tile.Reduce(Peak<float>{max, (sums[0] + sums[1]) + (sums[2] + sums[3])},
                    MergePeaks(), Peak<float>{-INFINITY, 0.0f});
    if constexpr (kLog) {
      const float log_sum = Log(peak.sum);
#pragma unroll
      for (int i = 0; i < Tile::kItems; ++i) {
        x[i] = (x[i] - peak.max) - log_sum;
      }
    } else {
      const float factor = exp2f((max - peak.max) * kLog2E) / peak.sum;
#pragma unroll
      for (int i = 0; i < Tile::kItems; ++i) x[i] *= factor;
    }
  } else {
    max = tile.Reduce(max, Max(), MinusInfinity<C>());
    if constexpr (!kLog) max = ExpOrigin(max);
    C sums[4] = {0, 0, 0, 0};
#pragma unroll
    for (int i = 0; i < Tile::kItems; ++i) {
      if constexpr (kLog) {
        x[i] -= max;
        sums[i % 4] += Exp(x[i]);
      } else {
        x[i] = Exp(x[i] - max);
        sums[i % 4] += x[i];
      }
    }
    const C sum =
        tile.Reduce((sums[0] + sums[1]) + (sums[2] + sums[3]), Sum(), C{0});
    if constexpr (kLog) {
      const C log_sum = Log(sum);
#pragma unroll
      for (int i = 0; i < Tile::kItems; ++i) x[i] -= log_sum;
    } else {
      const C inverse = C{1} / sum;
#pragma unroll
      for (int i = 0; i < Tile::kItems; ++i) x[i] = Divide(x[i], sum, inverse);
    }
  }
  tile.Store(out, x);
}

template <bool kLog, typename T, typename U, int kVectors>
__global__ void __launch_bounds__(1024)
    SoftmaxRowsKernel(RowPlan plan, const T* in, U* out) {
  __shared__ RowShared shared;
  RowTile<T, kVectors> tile(plan, in, &shared);
  ResidentRow<kLog>(tile, in, out);
  tile.Finish();
}

// partials: of rows * plan.slices, written by the launch with `first`, read by
// the other one; null for rows of one slice.
template <bool kLog, typename T, typename U, int kVectors>
__global__ void __launch_bounds__(512)
    SoftmaxStreamKernel(RowPlan plan, const T* in, U* out,
                        Peak<Compute<T>>* partials, bool first) {
  using C = Compute<T>;
  __shared__ RowShared shared;
  RowTile<T, kVectors> tile(plan, in, &shared);
  Peak<C> peak = {MinusInfinity<C>(), C{0}};
  if (partials == nullptr || first) peak = StreamPeak(tile, in);
  if (partials != nullptr) {
    partials += tile.row() * plan.slices;
    if (first) {
      if (tile.leader()) partials[tile.slice()] = peak;
      return;
    }
    if (static_cast<int>(threadIdx.x) < plan.slices) {
      peak = partials[threadIdx.x];
    }
    peak = tile.Reduce(peak, MergePeaks(), {MinusInfinity<C>(), C{0}});
  }
  StreamResult<kLog>(tile, peak, in, out);
}

template <bool kLog, typename T, typename U, int kItems>
__global__ void __launch_bounds__(1024)
    SoftmaxColumnsKernel(ColumnPlan plan, const T* in, U* out) {
  __shared__ Peak<Compute<T>> shared[1024];
  ColumnTile<T, kItems> tile(plan, shared);
  if (tile.chunks() == 1) {
    ResidentRow<kLog>(tile, in, out);
  } else {
    StreamResult<kLog>(tile, StreamPeak(tile, in), in, out);
  }
}

// Clusters are Hopper's.
inline int MaxCluster(const SoftmaxShape& shape) {
  return shape.capability >= 90 ? 8 : 1;
}

template <typename T>
RowPlan ForwardPlan(const SoftmaxShape& shape, const T* in) {
  return PlanRows<kManyVectors<T>>(in, shape.outer, shape.n, MaxCluster(shape),
                                   shape.multiprocessors);
}

template <typename T>
inline constexpr int kColumnItems = 16 * 4 / sizeof(Compute<T>);

template <bool kLog, typename T, typename U>
cudaError_t LaunchForward(const SoftmaxShape& shape, const void* in_data,
                          void* out_data, void* scratch, cudaStream_t stream) {
  using C = Compute<T>;
  const T* in = static_cast<const T*>(in_data);
  U* out = static_cast<U*>(out_data);
  // Double takes the general kernels only: not worth the compiler's time.
  constexpr bool kHasFast = sizeof(T) < 8;
  if (shape.inner > 1) {
    if constexpr (kHasFast) {
      if (HasWideColumns(in, shape.n, shape.inner) && IsAligned(out, 16)) {
        return LaunchWideColumns<kLog>(shape.outer, shape.n, shape.inner,
                                       shape.multiprocessors, in, out, stream);
      }
    }
    return LaunchColumns(
        PlanColumns(shape.outer, shape.n, shape.inner, kColumnItems<T>),
        &SoftmaxColumnsKernel<kLog, T, U, kColumnItems<T>>, stream, in, out);
  }
  const bool whole_vectors =
      shape.n % kVecWidth<T> == 0 && IsAligned(in, 16) && IsAligned(out, 16);
  if constexpr (kHasFast && std::is_same_v<T, U>) {
    if (whole_vectors) {
      const AlignedPlan plan =
          PlanAligned(shape.outer, shape.n / kVecWidth<T>, shape.capability,
                      SoftmaxLimits<T>());
      if (plan.blocks > 0) {
        return LaunchSoftmaxAligned<kLog>(plan, shape.multiprocessors, in, out,
                                          stream);
      }
    }
  }
  if constexpr (kHasFast) {
    if (shape.n <= kNarrowRow) {
      return LaunchNarrow(shape.outer, shape.n,
                          &SoftmaxNarrowKernel<kLog, T, U>, stream, in, out);
    }
  }
  if constexpr (!kHasFast) {
    // For n of a warp's vectors and the misaligned edges.
    if (shape.n <= (kWarp - 1) * kVecWidth<T>) {
      return LaunchRows(PlanRows<1>(in, shape.outer, shape.n, 1),
                        &SoftmaxRowsKernel<kLog, T, U, 1>, stream, in, out);
    }
  }
  const RowPlan plan = ForwardPlan(shape, in);
  if (!plan.streamed) {
    return LaunchRows(plan, &SoftmaxRowsKernel<kLog, T, U, kManyVectors<T>>,
                      stream, in, out);
  }
  const auto kernel = &SoftmaxStreamKernel<kLog, T, U, kManyVectors<T>>;
  Peak<C>* const partials =
      plan.slices > 1 ? static_cast<Peak<C>*>(scratch) : nullptr;
  const cudaError_t error =
      LaunchRows(plan, kernel, stream, in, out, partials, true);
  if (error != cudaSuccess || partials == nullptr) return error;
  return LaunchRows(plan, kernel, stream, in, out, partials, false);
}

template <bool kLog>
cudaError_t LaunchForwardOf(const SoftmaxShape& shape, Element in_type,
                            Element out_type, const void* in, void* out,
                            void* scratch, cudaStream_t stream) {
  if (in_type == Element::kFloat16 && out_type == Element::kFloat32) {
    return LaunchForward<kLog, __half, float>(shape, in, out, scratch, stream);
  }
  if (in_type != out_type) return cudaErrorNotSupported;
  return ForFloatsAndDouble(in_type, [&](auto tag) {
    using T = typename decltype(tag)::Type;
    return LaunchForward<kLog, T, T>(shape, in, out, scratch, stream);
  });
}

}  // namespace internal_softmax
}  // namespace cuda
}  // namespace kernels
}  // namespace flaggems

#endif  // FLAGGEMS_KERNELS_CUDA_SOFTMAX_ROWS_CUH_
