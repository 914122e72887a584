// Layer norm, RMS norm and group norm over a row in registers (row_tile.cuh):
// the device code of op_layer_norm.cu, op_rms_norm.cu and op_group_norm.cu.
//
// The variance is that of the deviations from the mean, in a second pass over
// the registers. For float32 and float64 the same pass corrects the mean by the
// mean of the deviations, which leaves a mean that is nearly rounded once.

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
template <typename C>
struct Moments {
  C count;
  C mean;
  C m2;
};

// Chan, Golub and LeVeque's update.
struct MergeMoments {
  template <typename C>
  __device__ __forceinline__ Moments<C> operator()(const Moments<C>& a,
                                                   const Moments<C>& b) const {
    const C count = a.count + b.count;
    if (count == C{0}) return a;
    const C share = b.count / count;
    const C delta = b.mean - a.mean;
    return {count, fma(delta, share, a.mean),
            a.m2 + b.m2 + delta * delta * (a.count * share)};
  }
};

template <typename C, int kItems>
__device__ __forceinline__ C SumOf(const C (&x)[kItems]) {
  C sums[4] = {0, 0, 0, 0};
#pragma unroll
  for (int i = 0; i < kItems; ++i) sums[i % 4] += x[i];
  return (sums[0] + sums[1]) + (sums[2] + sums[3]);
}

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
  __shared__ RowShared shared;
  Tile tile(plan, data.in, &shared);
  const C n = static_cast<C>(plan.n);
  C x[Tile::kItems];
  tile.Load(data.in, C{0}, x);
  C mean = 0;
  C shift = 0;
  C sums[4] = {0, 0, 0, 0};
  C m2;
  if constexpr (kKind == Kind::kRms) {
#pragma unroll
    for (int i = 0; i < Tile::kItems; ++i) {
      sums[i % 4] = fma(x[i], x[i], sums[i % 4]);
    }
    m2 = tile.Reduce((sums[0] + sums[1]) + (sums[2] + sums[3]), Sum(), C{0});
  } else {
    mean = tile.Reduce(SumOf(x), Sum(), C{0}) / n;
#pragma unroll
    for (int i = 0; i < Tile::kItems; ++i) x[i] -= mean;
    if constexpr (sizeof(T) >= 4) {
      C rest[2] = {0, 0};
      tile.ForEach([&](int i) {
        sums[i % 2] = fma(x[i], x[i], sums[i % 2]);
        rest[i % 2] += x[i];
      });
      const Pair<C> both =
          tile.Reduce(Pair<C>{rest[0] + rest[1], sums[0] + sums[1]}, SumPairs(),
                      Pair<C>{C{0}, C{0}});
      // Infinities: the mean stays.
      shift = isfinite(both.a) ? both.a / n : C{0};
      mean += shift;
      m2 = fma(-shift, both.a, both.b);
      m2 = m2 < C{0} ? C{0} : m2;  // NaN stays
    } else {
      tile.ForEach([&](int i) { sums[i % 4] = fma(x[i], x[i], sums[i % 4]); });
      m2 = tile.Reduce((sums[0] + sums[1]) + (sums[2] + sums[3]), Sum(), C{0});
    }
  }
  const C rstd = InverseSqrt(m2 / n + data.eps);
  WriteStatistics<kKind>(tile, data, mean, rstd);
  WriteNormalized<kKind>(tile, data, shift, rstd, x);
  tile.Finish();
}

// Rows in chunks, read twice; partials as in softmax_rows.cuh.
template <Kind kKind, typename T, typename S, int kVectors>
__global__ void __launch_bounds__(512)
    NormStreamKernel(RowPlan plan, NormData<T, S> data,
                     Moments<Compute<T>>* partials, bool first) {
  using Tile = RowTile<T, kVectors>;
  using C = typename Tile::C;
  __shared__ RowShared shared;
  Tile tile(plan, data.in, &shared);
  const Moments<C> empty = {0, 0, 0};
  Moments<C> moments = empty;
  if (partials == nullptr || first) {
    for (int64_t chunk = 0; chunk < tile.chunks(); ++chunk) {
      tile.SetChunk(chunk);
      C x[Tile::kItems];
      tile.template Load<false>(data.in, C{0}, x);
      Moments<C> part = empty;
      tile.ForEach([&](int) { part.count += 1; });
      if constexpr (kKind != Kind::kRms) {
        part.mean = part.count > 0 ? SumOf(x) / part.count : C{0};
      }
      tile.ForEach([&](int i) {
        const C d = x[i] - part.mean;
        part.m2 = fma(d, d, part.m2);
      });
      moments = MergeMoments()(moments, part);
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
  const C rstd = InverseSqrt(moments.m2 / static_cast<C>(plan.n) + data.eps);
  if (tile.slice() == 0) {
    WriteStatistics<kKind>(tile, data, moments.mean, rstd);
  }
  for (int64_t chunk = tile.chunks() - 1; chunk >= 0; --chunk) {
    tile.SetChunk(chunk);
    C x[Tile::kItems];
    tile.Load(data.in, C{0}, x);
    WriteNormalized<kKind>(tile, data, moments.mean, rstd, x);
  }
}

template <typename T>
RowPlan NormPlan(const NormShape& shape, const T* in) {
  return PlanRows<kManyVectors<T>>(in, shape.rows, shape.n,
                                   shape.capability >= 90 ? 8 : 1,
                                   shape.multiprocessors);
}

template <Kind kKind, typename T, typename S>
cudaError_t LaunchNorm(const NormShape& shape, const NormData<T, S>& data,
                       void* scratch, cudaStream_t stream) {
  constexpr int kMany = kManyVectors<T>;
  // Double takes the general kernels only: not worth the compiler's time.
  if constexpr (sizeof(T) < 8) {
    if (HasAligned<kKind>(data, shape.n)) {
      const AlignedPlan plan =
          PlanAligned(shape.rows, shape.n / kVecWidth<T>, shape.capability);
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
  using Partial = Moments<Compute<T>>;
  const auto kernel = &NormStreamKernel<kKind, T, S, kMany>;
  Partial* const partials =
      plan.slices > 1 ? static_cast<Partial*>(scratch) : nullptr;
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
