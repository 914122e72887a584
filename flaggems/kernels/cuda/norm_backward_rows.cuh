// Gradients of layer norm and RMS norm: the device code of
// op_layer_norm_backward.cu and op_rms_norm_backward.cu.
//
// With x^ = (in - mean) rstd and h = grad_out gamma, for each row of n:
//   grad_in = rstd (h - mean(h) - x^ mean(h x^))      (RMS norm: no mean(h))
// and over the rows: grad_gamma = sum(grad_out x^), grad_beta = sum(grad_out).

#ifndef FLAGGEMS_KERNELS_CUDA_NORM_BACKWARD_ROWS_CUH_
#define FLAGGEMS_KERNELS_CUDA_NORM_BACKWARD_ROWS_CUH_

#include <cstdint>
#include <type_traits>

#include "flaggems/kernels/cuda/aligned_row.cuh"
#include "flaggems/kernels/cuda/norm_backward_shape.h"
#include "flaggems/kernels/cuda/norm_backward_small.cuh"
#include "flaggems/kernels/cuda/row_tile.cuh"

namespace flaggems {
namespace kernels {
namespace cuda {
namespace internal_norm {

// gamma of a vector of the row's items; 1 without.
template <typename T, typename Tile>
__device__ __forceinline__ void LoadGamma(const Tile& tile, const T* gamma,
                                          int vector,
                                          typename Tile::C (&w)[Tile::kWidth]) {
  if (gamma != nullptr) {
    tile.LoadWeights(gamma, vector, w);
  } else {
#pragma unroll
    for (int j = 0; j < Tile::kWidth; ++j) w[j] = 1;
  }
}

template <bool kRms, bool kResident, typename T, int kVectors,
          int kWidth = kVecWidth<T>>
__global__ void __launch_bounds__(kResident ? 1024 : 512)
    NormBackwardRowsKernel(RowPlan plan, double inverse_n, const T* grad_out,
                           const T* in, const Compute<T>* means,
                           const Compute<T>* rstds, const T* gamma,
                           T* grad_in) {
  using Tile = RowTile<T, kVectors, kWidth>;
  using C = typename Tile::C;
  __shared__ RowShared shared;
  Tile tile(plan, grad_out, &shared);
  const C mean = kRms ? C{0} : means[tile.row()];
  const C rstd = rstds[tile.row()];
  C grad[Tile::kItems];
  C x[Tile::kItems];
  RowSums<double> sums = {0, 0};
  const int64_t chunks = kResident ? 1 : tile.chunks();
  for (int64_t chunk = 0; chunk < chunks; ++chunk) {
    if constexpr (!kResident) tile.SetChunk(chunk);
    tile.Load(grad_out, C{0}, grad);
    tile.Load(in, C{0}, x);
#pragma unroll
    for (int i = 0; i < Tile::kVectors; ++i) {
      C w[Tile::kWidth];
      LoadGamma(tile, gamma, i, w);
      RowSums<SumType<T>> part = {0, 0};
      tile.ForEachOf(i, [&](int item) {
        part.template Add<kRms>(grad[item], w[item % Tile::kWidth], x[item],
                                mean, rstd);
      });
      sums = AddRowSums()(sums, part);
    }
  }
  sums = tile.Reduce(sums, AddRowSums(), RowSums<double>{0, 0});
  // So that weights are read again, from the cache, and not held, nor what has
  // been converted to double.
  asm volatile("" : "+l"(gamma));
  if constexpr (kResident && sizeof(T) == 4) {
#pragma unroll
    for (int i = 0; i < Tile::kItems; ++i) {
      asm volatile("" : "+f"(grad[i]), "+f"(x[i]));
    }
  }
  const RowTerms<T> terms(sums, inverse_n, rstd);
  for (int64_t chunk = chunks - 1; chunk >= 0; --chunk) {
    if constexpr (!kResident) {
      tile.SetChunk(chunk);
      tile.Load(grad_out, C{0}, grad);
      tile.Load(in, C{0}, x);
    }
#pragma unroll
    for (int i = 0; i < Tile::kVectors; ++i) {
      C w[Tile::kWidth];
      LoadGamma(tile, gamma, i, w);
#pragma unroll
      for (int j = 0; j < Tile::kWidth; ++j) {
        const int item = i * Tile::kWidth + j;
        grad[item] = terms.GradIn(grad[item], w[j], x[item], mean);
      }
    }
    tile.Store(grad_in, grad);
  }
  tile.Finish();
}

// Rows of whole vectors (aligned_row.cuh).
template <bool kRms, typename T, int kVectors, Team kTeam>
__global__ void __launch_bounds__(kTeam == Team::kLanes ? 128 : 1024)
    NormBackwardAlignedKernel(const __grid_constant__ AlignedPlan plan,
                              double inverse_n, const T* grad_out, const T* in,
                              const float* means, const float* rstds,
                              const T* gamma, T* grad_in) {
  constexpr int kWidth = kVecWidth<T>;
  AlignedRow<kVectors, kTeam, false> row(plan, grad_out);
  uint4 grads[kVectors];
  uint4 x[kVectors];
  const uint4 zero = make_uint4(0, 0, 0, 0);
  row.Load(grad_out, zero, grads);
  row.Load(in, zero, x);
  const float mean = kRms ? 0.0f : means[row.row()];
  const float rstd = rstds[row.row()];
  // grad_out, gamma and the input, of a vector.
  const auto unpack = [&](int i, float(&g)[kWidth], float(&w)[kWidth],
                          float(&f)[kWidth]) {
    Unpack<T>(grads[i], g);
    Unpack<T>(x[i], f);
    if (gamma != nullptr) {
      Unpack<T>(__ldg(reinterpret_cast<const uint4*>(gamma) + row.At(i)), w);
    } else {
#pragma unroll
      for (int j = 0; j < kWidth; ++j) w[j] = 1;
    }
  };
  RowSums<double> sums = {0, 0};
#pragma unroll
  for (int i = 0; i < kVectors; ++i) {
    if (!row.Has(i)) continue;
    float g[kWidth];
    float w[kWidth];
    float f[kWidth];
    unpack(i, g, w, f);
    RowSums<SumType<T>> part = {0, 0};
#pragma unroll
    for (int j = 0; j < kWidth; ++j) {
      part.template Add<kRms>(g[j], w[j], f[j], mean, rstd);
    }
    sums = AddRowSums()(sums, part);
  }
  if constexpr (kRms) {
    sums.hx = row.Reduce(sums.hx, Sum(), 0.0);
  } else {
    sums = row.Reduce(sums, AddRowSums(), RowSums<double>{0, 0});
  }
  const RowTerms<T> terms(sums, inverse_n, rstd);
  Renew(grads);
  Renew(x);
  uint4* out = row.Out(grad_in);
#pragma unroll
  for (int i = 0; i < kVectors; ++i) {
    if (!row.Has(i)) continue;
    float g[kWidth];
    float w[kWidth];
    float f[kWidth];
    unpack(i, g, w, f);
#pragma unroll
    for (int j = 0; j < kWidth; ++j) {
      g[j] = terms.GradIn(g[j], w[j], f[j], mean);
    }
    __stcs(out + row.At(i), Pack<T>(g));
  }
  row.Finish();
}

constexpr int kColumnThreads = 8;  // rows of threads of a block

// Sums of a slice of the rows for kWidth columns a thread; written to
// partials[slice][2][n]. What a thread adds up is SumType; the rest is double.
template <bool kRms, int kWidth, typename T>
__global__ void __launch_bounds__(kWarp* kColumnThreads)
    NormColumnsKernel(int64_t rows, int64_t n, int64_t rows_per_slice,
                      const T* __restrict__ grad_out, const T* __restrict__ in,
                      const Compute<T>* __restrict__ means,
                      const Compute<T>* __restrict__ rstds,
                      double* __restrict__ partials) {
  using C = Compute<T>;
  using A = SumType<T>;
  __shared__ double shared[kColumnThreads][kWarp * kWidth + 1];
  const int64_t column = (int64_t{blockIdx.x} * kWarp + threadIdx.x) * kWidth;
  const int64_t begin = blockIdx.y * rows_per_slice;
  const int64_t end =
      begin + rows_per_slice < rows ? begin + rows_per_slice : rows;
  A sums[2][kWidth] = {};  // of gamma, of beta
  if (column < n) {
    const auto add = [&](const Vec<T, kWidth>& g, const Vec<T, kWidth>& x,
                         A mean, A rstd) {
#pragma unroll
      for (int j = 0; j < kWidth; ++j) {
        const A grad = ToCompute(g.at[j]);
        sums[0][j] =
            fma(grad, (A{ToCompute(x.at[j])} - mean) * rstd, sums[0][j]);
        if constexpr (!kRms) sums[1][j] += grad;
      }
    };
    constexpr int kUnroll = 4;
    int64_t row = begin + threadIdx.y;
    for (; row + (kUnroll - 1) * kColumnThreads < end;
         row += kUnroll * kColumnThreads) {
      Vec<T, kWidth> g[kUnroll];
      Vec<T, kWidth> x[kUnroll];
#pragma unroll
      for (int u = 0; u < kUnroll; ++u) {
        const int64_t at = (row + u * kColumnThreads) * n + column;
        g[u] = LoadVec<kWidth>(grad_out + at);
        x[u] = LoadVec<kWidth>(in + at);
      }
#pragma unroll
      for (int u = 0; u < kUnroll; ++u) {
        const int64_t r = row + u * kColumnThreads;
        add(g[u], x[u], kRms ? C{0} : means[r], rstds[r]);
      }
    }
    for (; row < end; row += kColumnThreads) {
      const int64_t at = row * n + column;
      add(LoadVec<kWidth>(grad_out + at), LoadVec<kWidth>(in + at),
          kRms ? C{0} : means[row], rstds[row]);
    }
  }
#pragma unroll
  for (int part = 0; part < (kRms ? 1 : 2); ++part) {
    __syncthreads();
#pragma unroll
    for (int j = 0; j < kWidth; ++j) {
      shared[threadIdx.y][threadIdx.x * kWidth + j] = sums[part][j];
    }
    __syncthreads();
    const int thread = threadIdx.y * kWarp + threadIdx.x;
    for (int c = thread; c < kWarp * kWidth; c += kWarp * kColumnThreads) {
      const int64_t at = int64_t{blockIdx.x} * kWarp * kWidth + c;
      if (at >= n) continue;
      double sum = 0;
#pragma unroll
      for (int y = 0; y < kColumnThreads; ++y) sum += shared[y][c];
      partials[(int64_t{blockIdx.y} * 2 + part) * n + at] = sum;
    }
  }
}

// Sums the slices.
template <typename T>
__global__ void __launch_bounds__(kWarp* kColumnThreads)
    NormColumnSumsKernel(int64_t n, int slices,
                         const double* __restrict__ partials,
                         T* __restrict__ grad_gamma,
                         T* __restrict__ grad_beta) {
  __shared__ double shared[kColumnThreads][kWarp + 1];
  const int64_t column = int64_t{blockIdx.x} * kWarp + threadIdx.x;
#pragma unroll
  for (int part = 0; part < 2; ++part) {
    T* const out = part == 0 ? grad_gamma : grad_beta;
    if (out == nullptr) continue;
    double sum = 0;
    if (column < n) {
#pragma unroll 4
      for (int s = threadIdx.y; s < slices; s += kColumnThreads) {
        sum += partials[(int64_t{s} * 2 + part) * n + column];
      }
    }
    __syncthreads();
    shared[threadIdx.y][threadIdx.x] = sum;
    __syncthreads();
    if (threadIdx.y == 0 && column < n) {
#pragma unroll
      for (int y = 1; y < kColumnThreads; ++y) sum += shared[y][threadIdx.x];
      out[column] = FromCompute<T>(static_cast<Compute<T>>(sum));
    }
  }
}

template <bool kRms, typename T>
cudaError_t LaunchGradIn(const NormShape& shape, const NormGradients& g,
                         cudaStream_t stream) {
  using C = Compute<T>;
  const T* grad_out = static_cast<const T*>(g.grad_out);
  const T* in = static_cast<const T*>(g.in);
  const C* mean = static_cast<const C*>(g.mean);
  const C* rstd = static_cast<const C*>(g.rstd);
  const T* gamma = static_cast<const T*>(g.gamma);
  T* grad_in = static_cast<T*>(g.grad_in);
  const double inverse_n = 1.0 / static_cast<double>(shape.n);
  // Double takes the general kernels only: not worth the compiler's time.
  if constexpr (sizeof(T) < 8) {
    if (shape.n % kVecWidth<T> == 0 && IsAligned(grad_out, 16) &&
        IsAligned(in, 16) && IsAligned(gamma, 16) && IsAligned(grad_in, 16)) {
      // No prefetch: two tensors of eight vectors are too many registers.
      // Longer rows are those of small blocks of a cluster.
      AlignedLimits limits;
      limits.has_prefetch = false;
      const AlignedPlan plan = PlanAligned(shape.rows, shape.n / kVecWidth<T>,
                                           shape.capability, limits);
      const auto launch = [&](auto team, auto vectors) {
        return LaunchAligned(
            plan, shape.multiprocessors,
            &NormBackwardAlignedKernel<kRms, T, decltype(vectors)::value,
                                       decltype(team)::value>,
            stream, inverse_n, grad_out, in, mean, rstd, gamma, grad_in);
      };
      if (IsSimple(plan)) return ForSimplePlan(plan, launch);
      if (plan.blocks > 0 && plan.team == Team::kCluster) {
        return launch(std::integral_constant<Team, Team::kCluster>(),
                      std::integral_constant<int, 4>());
      }
    }
  }
  if (shape.n <= kNarrowTile && shape.n % kVecWidth<T> != 0) {
    return LaunchRows(PlanRows<4, T, 1>(grad_out, shape.rows, shape.n, 1),
                      &NormBackwardRowsKernel<kRms, true, T, 4, 1>, stream,
                      inverse_n, grad_out, in, mean, rstd, gamma, grad_in);
  }
  if (shape.n <= (kWarp - 1) * kVecWidth<T>) {
    return LaunchRows(PlanRows<1>(grad_out, shape.rows, shape.n, 1),
                      &NormBackwardRowsKernel<kRms, true, T, 1>, stream,
                      inverse_n, grad_out, in, mean, rstd, gamma, grad_in);
  }
  constexpr int kVectors = kManyVectors<T> / 2;
  const int max_cluster = shape.capability >= 90 ? 8 : 1;
  RowPlan plan = PlanRows<kVectors>(grad_out, shape.rows, shape.n, max_cluster);
  if (!plan.streamed) {
    return LaunchRows(plan, &NormBackwardRowsKernel<kRms, true, T, kVectors>,
                      stream, inverse_n, grad_out, in, mean, rstd, gamma,
                      grad_in);
  }
  plan = PlanRows<kVectors>(grad_out, shape.rows, shape.n, max_cluster,
                            /*multiprocessors=*/0, /*max_threads=*/512);
  return LaunchRows(plan, &NormBackwardRowsKernel<kRms, false, T, kVectors>,
                    stream, inverse_n, grad_out, in, mean, rstd, gamma,
                    grad_in);
}

template <bool kRms, typename T>
cudaError_t LaunchGradWeights(const NormShape& shape, const NormGradients& g,
                              cudaStream_t stream) {
  using C = Compute<T>;
  constexpr int kWide = kVecWidth<T>;
  const int slices = NormBackwardSlices(shape);
  const int64_t rows_per_slice = (shape.rows + slices - 1) / slices;
  const bool wide =
      shape.n % kWide == 0 && IsAligned(g.grad_out, 16) && IsAligned(g.in, 16);
  const int columns = kWarp * (wide ? kWide : 1);
  const dim3 grid(static_cast<unsigned>((shape.n + columns - 1) / columns),
                  slices);
  const dim3 block(kWarp, kColumnThreads);
  const auto kernel = wide ? &NormColumnsKernel<kRms, kWide, T>
                           : &NormColumnsKernel<kRms, 1, T>;
  kernel<<<grid, block, 0, stream>>>(
      shape.rows, shape.n, rows_per_slice, static_cast<const T*>(g.grad_out),
      static_cast<const T*>(g.in), static_cast<const C*>(g.mean),
      static_cast<const C*>(g.rstd), static_cast<double*>(g.scratch));
  const cudaError_t error = cudaGetLastError();
  if (error != cudaSuccess) return error;
  NormColumnSumsKernel<T>
      <<<static_cast<unsigned>((shape.n + kWarp - 1) / kWarp), block, 0,
         stream>>>(shape.n, slices, static_cast<const double*>(g.scratch),
                   static_cast<T*>(g.grad_gamma), static_cast<T*>(g.grad_beta));
  return cudaGetLastError();
}

template <bool kRms>
cudaError_t LaunchNormBackward(const NormShape& shape, Element element,
                               const NormGradients& g, cudaStream_t stream) {
  return ForFloatsAndDouble(element, [&](auto tag) {
    using T = typename decltype(tag)::Type;
    const bool weights = g.grad_gamma != nullptr || g.grad_beta != nullptr;
    if constexpr (sizeof(T) < 8) {
      if (g.grad_in != nullptr && weights && shape.rows <= kSmall &&
          shape.n <= kSmall) {
        return LaunchSmall<kRms, T>(shape, g, stream);
      }
    }
    if (g.grad_in != nullptr) {
      const cudaError_t error = LaunchGradIn<kRms, T>(shape, g, stream);
      if (error != cudaSuccess) return error;
    }
    if (!weights) return cudaSuccess;
    return LaunchGradWeights<kRms, T>(shape, g, stream);
  });
}

}  // namespace internal_norm
}  // namespace cuda
}  // namespace kernels
}  // namespace flaggems

#endif  // FLAGGEMS_KERNELS_CUDA_NORM_BACKWARD_ROWS_CUH_
