// Gradients of softmax and log softmax over a tile (row_tile.cuh,
// column_tile.cuh): the device code of op_softmax_backward*.cu.

#ifndef FLAGGEMS_KERNELS_CUDA_SOFTMAX_BACKWARD_ROWS_CUH_
#define FLAGGEMS_KERNELS_CUDA_SOFTMAX_BACKWARD_ROWS_CUH_

#include <cstdint>
#include <type_traits>

#include "flaggems/kernels/cuda/softmax_rows.cuh"

namespace flaggems {
namespace kernels {
namespace cuda {
namespace internal_softmax {

// What a row is summed in, for gradients of type U. The sum, or a product with
// it, is taken from each element's gradient: they cancel, and a float32 shows
// it.
template <typename C, typename U>
using RowSum = std::conditional_t<(sizeof(U) >= 4), double, C>;

// sum + grad (a softmax: grad * result).
template <bool kLog, typename C, typename S>
__device__ __forceinline__ S AddTerm(S sum, C grad, C result) {
  if constexpr (kLog) {
    return sum + grad;
  } else {
    return fma(S{grad}, S{result}, sum);
  }
}

// kHalfWidth: for gradients of 16 bits.
template <bool kLog, bool kHalfWidth, typename C, typename S>
__device__ __forceinline__ C BackwardResult(C grad, C result, S sum) {
  if constexpr (!kLog) {
    return result * static_cast<C>(grad - sum);
  } else if constexpr (kHalfWidth) {
    // Not exp2f of a product: where the terms cancel, what that rounds shows.
    return fmaf(-Exp(result), sum, grad);
  } else if constexpr (sizeof(C) == 4) {
    return MinusExp(grad, result, sum);
  } else {
    return grad - Exp(result) * sum;
  }
}

// Two tensors in registers; more than one chunk: both are read twice.
template <bool kLog, bool kResident, typename T, typename U, typename Tile>
__device__ __forceinline__ void BackwardRow(Tile& tile, const T* grad_out,
                                            const T* result, U* grad_in) {
  using C = typename Tile::C;
  constexpr bool kHalfWidth = sizeof(U) == 2;
  C g[Tile::kItems];
  C y[Tile::kItems];
  using S = RowSum<C, U>;
  S sums[2] = {0, 0};
  const int64_t chunks = kResident ? 1 : tile.chunks();
  for (int64_t chunk = 0; chunk < chunks; ++chunk) {
    if constexpr (!kResident) tile.SetChunk(chunk);
    if constexpr (kResident || !kLog) {
      tile.template LoadPair<kResident>(grad_out, result, C{0}, g, y);
    } else {
      tile.Load(grad_out, C{0}, g);
    }
#pragma unroll
    for (int i = 0; i < Tile::kItems; ++i) {
      sums[i % 2] = AddTerm<kLog>(sums[i % 2], g[i], y[i]);
    }
  }
  const S sum = tile.Reduce(sums[0] + sums[1], Sum(), S{0});
  if constexpr (kResident && sizeof(S) > sizeof(C)) {
    // So that doubles are made anew at the next use, and not held.
#pragma unroll
    for (int i = 0; i < Tile::kItems; ++i) asm volatile("" : "+f"(g[i]));
  }
  for (int64_t chunk = chunks - 1; chunk >= 0; --chunk) {
    if constexpr (!kResident) {
      tile.SetChunk(chunk);
      tile.LoadPair(grad_out, result, C{0}, g, y);
    }
#pragma unroll
    for (int i = 0; i < Tile::kItems; ++i) {
      g[i] = BackwardResult<kLog, kHalfWidth>(g[i], y[i], sum);
    }
    tile.Store(grad_in, g);
  }
}

template <bool kLog, bool kResident, typename T, typename U, int kVectors,
          int kWidth = kVecWidth<T>>
__global__ void __launch_bounds__(kResident ? 1024 : 512)
    BackwardRowsKernel(RowPlan plan, const T* grad_out, const T* result,
                       U* grad_in) {
  __shared__ RowShared shared;
  RowTile<T, kVectors, kWidth> tile(plan, grad_out, &shared);
  BackwardRow<kLog, kResident>(tile, grad_out, result, grad_in);
  tile.Finish();
}

template <bool kLog, typename T, typename U, int kItems>
__global__ void __launch_bounds__(1024)
    BackwardColumnsKernel(ColumnPlan plan, const T* grad_out, const T* result,
                          U* grad_in) {
  __shared__ RowSum<Compute<T>, U> shared[1024];
  ColumnTile<T, kItems> tile(plan, shared);
  if (tile.chunks() == 1) {
    BackwardRow<kLog, true>(tile, grad_out, result, grad_in);
  } else {
    BackwardRow<kLog, false>(tile, grad_out, result, grad_in);
  }
}

// Rows of whole vectors (aligned_row.cuh).
template <bool kLog, typename T, int kVectors, Team kTeam>
__global__ void __launch_bounds__(kTeam == Team::kLanes ? 128 : 1024)
    BackwardAlignedKernel(const __grid_constant__ AlignedPlan plan,
                          const T* grad_out, const T* result, T* grad_in) {
  constexpr int kWidth = kVecWidth<T>;
  AlignedRow<kVectors, kTeam, false> row(plan, grad_out);
  uint4 grads[kVectors];
  uint4 results[kVectors];
  const uint4 zero = make_uint4(0, 0, 0, 0);
  row.Load(grad_out, zero, grads);
  row.Load(result, zero, results);
  if constexpr (kLog && sizeof(T) == 4) {
    // A log softmax has no use for them before the sum, and the compiler would
    // move their loads behind it: not past what might be the kernel's end. (No
    // plan with rows has no vectors.)
    Renew(results);
    if (plan.vectors <= 0) return;
  }
  using S = RowSum<float, T>;
  S sums[2] = {0, 0};
#pragma unroll
  for (int i = 0; i < kVectors; ++i) {
    if (!row.Has(i)) continue;
    float g[kWidth];
    float y[kWidth];
    Unpack<T>(grads[i], g);
    Unpack<T>(results[i], y);
#pragma unroll
    for (int j = 0; j < kWidth; ++j) {
      sums[j % 2] = AddTerm<kLog>(sums[j % 2], g[j], y[j]);
    }
  }
  const S sum = row.Reduce(sums[0] + sums[1], Sum(), S{0});
  if constexpr (sizeof(T) == 2) {
    Renew(grads);
    Renew(results);
  }
  uint4* out = row.Out(grad_in);
#pragma unroll
  for (int i = 0; i < kVectors; ++i) {
    if (!row.Has(i)) continue;
    float g[kWidth];
    float y[kWidth];
    Unpack<T>(grads[i], g);
    Unpack<T>(results[i], y);
#pragma unroll
    for (int j = 0; j < kWidth; ++j) {
      g[j] = BackwardResult<kLog, sizeof(T) == 2>(g[j], y[j], sum);
    }
    // Not __stcs: what reads the gradient next finds its end in the cache.
    out[row.At(i)] = Pack<T>(g);
  }
  row.Finish();
}

template <bool kLog, typename T, typename U>
cudaError_t LaunchBackward(const SoftmaxShape& shape, const void* grad_data,
                           const void* result_data, void* out_data,
                           cudaStream_t stream) {
  const T* grad = static_cast<const T*>(grad_data);
  const T* result = static_cast<const T*>(result_data);
  U* out = static_cast<U*>(out_data);
  if (shape.inner > 1) {
    constexpr int kItems = kColumnItems<T> / 2;
    return LaunchColumns(PlanColumns(shape.outer, shape.n, shape.inner, kItems),
                         &BackwardColumnsKernel<kLog, T, U, kItems>, stream,
                         grad, result, out);
  }
  // Double takes the general kernels only: not worth the compiler's time.
  if constexpr (sizeof(T) < 8 && std::is_same_v<T, U>) {
    if (shape.n % kVecWidth<T> == 0 && IsAligned(grad, 16) &&
        IsAligned(result, 16) && IsAligned(out, 16)) {
      // No prefetch: two tensors of eight vectors are too many registers.
      // Longer rows are those of small blocks of a cluster.
      AlignedLimits limits;
      limits.has_prefetch = false;
      const AlignedPlan plan = PlanAligned(shape.outer, shape.n / kVecWidth<T>,
                                           shape.capability, limits);
      const auto launch = [&](auto team, auto vectors) {
        return LaunchAligned(
            plan, shape.multiprocessors,
            &BackwardAlignedKernel<kLog, T, decltype(vectors)::value,
                                   decltype(team)::value>,
            stream, grad, result, out);
      };
      if (IsSimple(plan)) return ForSimplePlan(plan, launch);
      if (plan.blocks > 0 && plan.team == Team::kCluster) {
        return launch(std::integral_constant<Team, Team::kCluster>(),
                      std::integral_constant<int, 4>());
      }
    }
  }
  if (shape.n <= kNarrowTile && shape.n % kVecWidth<T> != 0) {
    return LaunchRows(PlanRows<4, T, 1>(grad, shape.outer, shape.n, 1),
                      &BackwardRowsKernel<kLog, true, T, U, 4, 1>, stream, grad,
                      result, out);
  }
  if (shape.n <= (kWarp - 1) * kVecWidth<T>) {
    return LaunchRows(PlanRows<1>(grad, shape.outer, shape.n, 1),
                      &BackwardRowsKernel<kLog, true, T, U, 1>, stream, grad,
                      result, out);
  }
  // Two tensors: half the items of each.
  constexpr int kVectors = kManyVectors<T> / 2;
  RowPlan plan =
      PlanRows<kVectors>(grad, shape.outer, shape.n, MaxCluster(shape));
  if (!plan.streamed) {
    return LaunchRows(plan, &BackwardRowsKernel<kLog, true, T, U, kVectors>,
                      stream, grad, result, out);
  }
  plan = PlanRows<kVectors>(grad, shape.outer, shape.n, MaxCluster(shape),
                            /*multiprocessors=*/0, /*max_threads=*/512);
  return LaunchRows(plan, &BackwardRowsKernel<kLog, false, T, U, kVectors>,
                    stream, grad, result, out);
}

template <bool kLog>
cudaError_t LaunchBackwardOf(const SoftmaxShape& shape, Element in_type,
                             Element out_type, const void* grad,
                             const void* result, void* out,
                             cudaStream_t stream) {
  if (in_type == Element::kFloat32 && out_type == Element::kFloat16) {
    return LaunchBackward<kLog, float, __half>(shape, grad, result, out,
                                               stream);
  }
  if (in_type != out_type) return cudaErrorNotSupported;
  return ForFloatsAndDouble(in_type, [&](auto tag) {
    using T = typename decltype(tag)::Type;
    return LaunchBackward<kLog, T, T>(shape, grad, result, out, stream);
  });
}

}  // namespace internal_softmax
}  // namespace cuda
}  // namespace kernels
}  // namespace flaggems

#endif  // FLAGGEMS_KERNELS_CUDA_SOFTMAX_BACKWARD_ROWS_CUH_
