// Layer norm, RMS norm and group norm over a row in registers (row_tile.cuh):
// the device code of op_layer_norm.cu, op_rms_norm.cu and op_group_norm.cu.
//
// The variance is that of the deviations from the mean, in a second pass over
// the registers. The mean of a float32 row is a sum in double, rounded once;
// the deviations are from what it was before. For float64 the second pass
// corrects the mean by the mean of the deviations.

#ifndef FLAGGEMS_KERNELS_CUDA_NORM_ROWS_CUH_
#define FLAGGEMS_KERNELS_CUDA_NORM_ROWS_CUH_

#include <cstdint>

#include "flaggems/kernels/cuda/norm_aligned.cuh"
#include "flaggems/kernels/cuda/norm_data.cuh"
#include "flaggems/kernels/cuda/norm_shape.h"
#include "flaggems/kernels/cuda/row_tile.cuh"

namespace flaggems {
namespace kernels {
namespace cuda {
namespace internal_norm {

// Numbers, their mean and the sum of squared deviations from it.
struct Moments {
  double count;
  double mean;
  double m2;
};

// Chan, Golub and LeVeque's update.
struct MergeMoments {
  __device__ __forceinline__ Moments operator()(const Moments& a,
                                                const Moments& b) const {
    const double count = a.count + b.count;
    if (count == 0) return a;
    const double share = b.count / count;
    const double delta = b.mean - a.mean;
    return {count, fma(delta, share, a.mean),
            a.m2 + b.m2 + delta * delta * (a.count * share)};
  }
};

// Two sums of a row of float64.
struct Pair {
  double a;
  double b;
};
struct SumPairs {
  __device__ __forceinline__ Pair operator()(const Pair& x,
                                             const Pair& y) const {
    return {x.a + y.a, x.b + y.b};
  }
};

// gamma and beta of a vector of the row's items.
template <Kind kKind, typename Data, typename Tile>
__device__ __forceinline__ void LoadAffine(
    const Tile& tile, const Data& data, int vector,
    typename Tile::C (&gamma)[Tile::kWidth],
    typename Tile::C (&beta)[Tile::kWidth]) {
#pragma unroll
  for (int j = 0; j < Tile::kWidth; ++j) {
    gamma[j] = 1;
    beta[j] = 0;
  }
  if constexpr (kKind != Kind::kGroup) {
    if (data.gamma != nullptr) tile.LoadWeights(data.gamma, vector, gamma);
    if (kKind == Kind::kLayer && data.beta != nullptr) {
      tile.LoadWeights(data.beta, vector, beta);
    }
  } else {
    if (data.gamma == nullptr && data.beta == nullptr) return;
    const Channels& c = data.channels;
    const int64_t position = tile.Position(vector * Tile::kWidth);
    const int64_t start = position < 0 ? 0 : position;
    if (start >= tile.n()) return;
    const int64_t local =
        c.is_fast ? int64_t{c.fast.Quotient(static_cast<uint32_t>(start))}
                  : start / c.channel_size;
    const int64_t first = tile.row() % c.groups * c.channels;
    if (c.whole_vectors) {
      const auto g = data.gamma == nullptr
                         ? typename Tile::C{1}
                         : ToCompute(__ldg(data.gamma + first + local));
      const auto b = data.beta == nullptr
                         ? typename Tile::C{0}
                         : ToCompute(__ldg(data.beta + first + local));
#pragma unroll
      for (int j = 0; j < Tile::kWidth; ++j) {
        gamma[j] = g;
        beta[j] = b;
      }
      return;
    }
    int64_t channel = local;
    int64_t inside = start - local * c.channel_size;
#pragma unroll
    for (int j = 0; j < Tile::kWidth; ++j) {
      if (position + j < 0 || position + j >= tile.n()) continue;
      if (data.gamma != nullptr) {
        gamma[j] = ToCompute(__ldg(data.gamma + first + channel));
      }
      if (data.beta != nullptr) {
        beta[j] = ToCompute(__ldg(data.beta + first + channel));
      }
      if (++inside == c.channel_size) {
        inside = 0;
        ++channel;
      }
    }
  }
}

// x: deviations from the mean (kRms: the elements). Writes the output.
template <Kind kKind, typename Data, typename Tile>
__device__ __forceinline__ void WriteNormalized(
    const Tile& tile, const Data& data, typename Tile::C shift,
    typename Tile::C rstd, typename Tile::C (&x)[Tile::kItems]) {
  using C = typename Tile::C;
#pragma unroll
  for (int i = 0; i < Tile::kVectors; ++i) {
    C gamma[Tile::kWidth];
    C beta[Tile::kWidth];
    LoadAffine<kKind>(tile, data, i, gamma, beta);
#pragma unroll
    for (int j = 0; j < Tile::kWidth; ++j) {
      C& item = x[i * Tile::kWidth + j];
      if constexpr (kKind == Kind::kRms) {
        item = item * rstd * gamma[j];
      } else {
        item = fma((item - shift) * rstd, gamma[j], beta[j]);
      }
    }
  }
  tile.Store(data.out, x);
}

template <Kind kKind, typename Data, typename Tile, typename C>
__device__ __forceinline__ void WriteStatistics(const Tile& tile,
                                                const Data& data, C mean,
                                                C rstd) {
  if (!tile.leader()) return;
  using S = std::remove_pointer_t<decltype(data.rstd)>;
  if constexpr (kKind != Kind::kRms) {
    data.mean[tile.row()] = FromCompute<S>(WrittenMean(mean));
  }
  data.rstd[tile.row()] = FromCompute<S>(rstd);
}

template <Kind kKind, typename T, typename S, int kVectors>
__global__ void __launch_bounds__(1024)
    NormRowsKernel(RowPlan plan, NormData<T, S> data) {
  using Tile = RowTile<T, kVectors>;
  using C = typename Tile::C;
  using A = SumType<T>;
  __shared__ RowShared shared;
  Tile tile(plan, data.in, &shared);
  C x[Tile::kItems];
  tile.template Load<kStreamsRows<kKind, T>>(data.in, C{0}, x);
  C mean = 0;
  C shift = 0;
  double m2;
  if constexpr (kKind == Kind::kRms) {
    m2 = tile.Reduce(SumOfSquares<A>(x), Sum(), A{0});
  } else {
    const double exact = tile.Reduce(SumOf<A>(x), Sum(), A{0}) * data.inverse_n;
    mean = static_cast<C>(exact);
#pragma unroll
    for (int i = 0; i < Tile::kItems; ++i) x[i] -= mean;
    C squares[2] = {0, 0};
    if constexpr (sizeof(T) == 8) {
      C rest[2] = {0, 0};
      tile.ForEach([&](int i) {
        squares[i % 2] = fma(x[i], x[i], squares[i % 2]);
        rest[i % 2] += x[i];
      });
      const Pair both =
          tile.Reduce(Pair{rest[0] + rest[1], squares[0] + squares[1]},
                      SumPairs(), Pair{0, 0});
      // Infinities: the mean stays.
      shift = isfinite(both.a) ? both.a * data.inverse_n : C{0};
      mean += shift;
      m2 = fma(-shift, both.a, both.b);
      m2 = m2 < 0 ? 0 : m2;  // NaN stays
    } else {
      if constexpr (sizeof(T) == 4) shift = RestOf(exact, mean);
      tile.ForEach([&](int i) {
        const C d = x[i] - shift;
        squares[i % 2] = fma(d, d, squares[i % 2]);
      });
      m2 = tile.Reduce(squares[0] + squares[1], Sum(), C{0});
    }
  }
  const C rstd = InverseSqrt<C>(fma(m2, data.inverse_n, data.eps));
  WriteStatistics<kKind>(tile, data, mean, rstd);
  WriteNormalized<kKind>(tile, data, shift, rstd, x);
  tile.Finish();
}

// The moments of the current chunk's elements of a thread.
template <Kind kKind, typename T, typename Tile>
__device__ __forceinline__ Moments
MomentsOf(const Tile& tile, const typename Tile::C (&x)[Tile::kItems]) {
  using C = typename Tile::C;
  using A = SumType<T>;
  Moments part = {0, 0, 0};
  int count = 0;
  tile.ForEach([&](int) { ++count; });
  if (count == 0) return part;
  part.count = count;
  if constexpr (kKind == Kind::kRms) {
    part.m2 = SumOfSquares<A>(x);
    return part;
  }
  part.mean = SumOf<A>(x) / part.count;
  const C mean = static_cast<C>(part.mean);
  const C shift = static_cast<C>(part.mean - mean);
  C squares[2] = {0, 0};
  tile.ForEach([&](int i) {
    const C d = (x[i] - mean) - shift;
    squares[i % 2] = fma(d, d, squares[i % 2]);
  });
  part.m2 = squares[0] + squares[1];
  return part;
}

// Rows in chunks, read twice; partials as in softmax_rows.cuh.
template <Kind kKind, typename T, typename S, int kVectors>
__global__ void __launch_bounds__(512)
    NormStreamKernel(RowPlan plan, NormData<T, S> data, Moments* partials,
                     bool first) {
  using Tile = RowTile<T, kVectors>;
  using C = typename Tile::C;
  __shared__ RowShared shared;
  Tile tile(plan, data.in, &shared);
  const Moments empty = {0, 0, 0};
  Moments moments = empty;
  if (partials == nullptr || first) {
    for (int64_t chunk = 0; chunk < tile.chunks(); ++chunk) {
      tile.SetChunk(chunk);
      C x[Tile::kItems];
      tile.template Load<false>(data.in, C{0}, x);
      moments = MergeMoments()(moments, MomentsOf<kKind, T>(tile, x));
    }
    moments = tile.Reduce(moments, MergeMoments(), empty);
  }
  if (partials != nullptr) {
    partials += tile.row() * plan.slices;
    if (first) {
      if (tile.leader()) partials[tile.slice()] = moments;
      return;
    }
    if (static_cast<int>(threadIdx.x) < plan.slices) {
      moments = partials[threadIdx.x];
    }
    moments = tile.Reduce(moments, MergeMoments(), empty);
  }
  const C rstd = InverseSqrt<C>(fma(moments.m2, data.inverse_n, data.eps));
  const C mean = static_cast<C>(moments.mean);
  C shift = 0;
  if constexpr (sizeof(C) == 4) shift = RestOf(moments.mean, mean);
  if (tile.slice() == 0) WriteStatistics<kKind>(tile, data, mean, rstd);
  for (int64_t chunk = tile.chunks() - 1; chunk >= 0; --chunk) {
    tile.SetChunk(chunk);
    C x[Tile::kItems];
    tile.template Load<true>(data.in, C{0}, x);
    if constexpr (kKind != Kind::kRms) {
#pragma unroll
      for (int i = 0; i < Tile::kItems; ++i) x[i] -= mean;
    }
    WriteNormalized<kKind>(tile, data, shift, rstd, x);
  }
}

template <typename T>
RowPlan NormPlan(const NormShape& shape, const T* in) {
  return PlanRows<kManyVectors<T>>(in, shape.rows, shape.n,
                                   shape.capability >= 90 ? 8 : 1,
                                   shape.multiprocessors);
}

template <Kind kKind, typename T, typename S>
cudaError_t LaunchNorm(const NormShape& shape, NormData<T, S> data,
                       void* scratch, cudaStream_t stream) {
  data.inverse_n = 1.0 / static_cast<double>(shape.n);
  constexpr int kMany = kManyVectors<T>;
  // Double takes the general kernels only: not worth the compiler's time.
  if constexpr (sizeof(T) < 8) {
    if (HasAligned<kKind>(data, shape.n)) {
      AlignedLimits limits;
      limits.has_single = sizeof(T) == 4;
      const AlignedPlan plan = PlanAligned(shape.rows, shape.n / kVecWidth<T>,
                                           shape.capability, limits);
      if (plan.blocks > 0) {
        return LaunchNormAligned<kKind>(plan, shape.multiprocessors, data,
                                        stream);
      }
    }
  }
  if constexpr (sizeof(T) < 8) {
    if (shape.n <= kNarrowRow) {
      return LaunchNarrow(shape.rows, shape.n, &NormNarrowKernel<kKind, T, S>,
                          stream, data);
    }
  } else if (shape.n <= (kWarp - 1) * kVecWidth<T>) {
    return LaunchRows(PlanRows<1>(data.in, shape.rows, shape.n, 1),
                      &NormRowsKernel<kKind, T, S, 1>, stream, data);
  }
  const RowPlan plan = NormPlan(shape, data.in);
  if (!plan.streamed) {
    return LaunchRows(plan, &NormRowsKernel<kKind, T, S, kMany>, stream, data);
  }
  const auto kernel = &NormStreamKernel<kKind, T, S, kMany>;
  Moments* const partials =
      plan.slices > 1 ? static_cast<Moments*>(scratch) : nullptr;
  const cudaError_t error =
      LaunchRows(plan, kernel, stream, data, partials, true);
  if (error != cudaSuccess || partials == nullptr) return error;
  return LaunchRows(plan, kernel, stream, data, partials, false);
}

}  // namespace internal_norm
}  // namespace cuda
}  // namespace kernels
}  // namespace flaggems

#endif  // FLAGGEMS_KERNELS_CUDA_NORM_ROWS_CUH_
