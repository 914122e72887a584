// Gradients of norms of few short rows, in one launch; formulas as in
// norm_backward_rows.cuh.

#ifndef FLAGGEMS_KERNELS_CUDA_NORM_BACKWARD_SMALL_CUH_
#define FLAGGEMS_KERNELS_CUDA_NORM_BACKWARD_SMALL_CUH_

#include <cuda_runtime.h>

#include <cstdint>

#include "flaggems/kernels/cuda/block_reduce.cuh"
#include "flaggems/kernels/cuda/norm_backward_shape.h"
#include "flaggems/kernels/cuda/norm_data.cuh"
#include "flaggems/kernels/cuda/numeric.cuh"

namespace flaggems {
namespace kernels {
namespace cuda {
namespace internal_norm {

// Sums over a row, with h = grad_out gamma. C: SumType for a vector's elements.
template <typename C>
struct RowSums {
  C h;   // of h
  C hx;  // of h x^

  template <bool kRms>
  __device__ __forceinline__ void Add(C grad, C gamma, C x, C mean, C rstd) {
    const C term = grad * gamma;
    if constexpr (!kRms) h += term;
    hx = fma(term, (x - mean) * rstd, hx);
  }
};

// Over the vectors and the threads of a row, in double: the terms cancel, and
// what is left is taken from each element.
struct AddRowSums {
  template <typename C>
  __device__ __forceinline__ RowSums<double> operator()(
      const RowSums<double>& a, const RowSums<C>& b) const {
    return {a.h + b.h, a.hx + b.hx};
  }
};

// The terms that all elements of a row have in common: grad_in is
//   rstd (h - mean(h) - (in - mean) slope), slope = mean(h x^) rstd,
// of terms that cancel. In double for float32; for 16 bits, where the product
// is exact, in float with what rounding took off the common terms.
template <typename T>
struct RowTerms {
  using A = SumType<T>;
  A rstd;
  A mean_h;
  A slope;
  float mean_h_low = 0;
  float slope_low = 0;

  __device__ __forceinline__ RowTerms(const RowSums<double>& sums,
                                      double inverse_n, double rstd)
      : rstd(static_cast<A>(rstd)) {
    const double exact_h = sums.h * inverse_n;
    const double exact_slope = sums.hx * inverse_n * rstd;
    mean_h = static_cast<A>(exact_h);
    slope = static_cast<A>(exact_slope);
    if constexpr (sizeof(A) == 4) {
      mean_h_low = RestOf(exact_h, mean_h);
      slope_low = RestOf(exact_slope, slope);
    }
  }

  __device__ __forceinline__ Compute<T> GradIn(A grad, A gamma, A x,
                                               A mean) const {
    const A d = x - mean;
    A rest = fma(-d, slope, fma(grad, gamma, -mean_h));
    if constexpr (sizeof(A) == 4) rest += fma(-d, slope_low, -mean_h_low);
    return static_cast<Compute<T>>(rstd * rest);
  }
};

// Few short rows: all gradients by one launch, as launches are most of the
// time. The first column_blocks blocks have kSmallColumns columns each, the
// others a row for each warp. Accesses are of kWidth elements.
constexpr int kSmall = 1024;  // rows, and elements of a row, at most
constexpr int kSmallThreads = 512;
constexpr int kSmallColumns = 16;
constexpr int kSmallWidth = 4;  // where n and the pointers allow it

// grad_gamma and grad_beta of kSmallColumns columns.
template <bool kRms, int kWidth, typename T>
__device__ __forceinline__ void SmallColumns(int rows, int n, int first_column,
                                             const NormGradients& g) {
  constexpr int kAcross = kSmallColumns / kWidth;  // threads side by side
  constexpr int kStep = kSmallThreads / kAcross;
  constexpr int kUnroll = kWidth == 1 ? 8 : 4;
  constexpr int kWarps = kSmallThreads / kWarp;
  __shared__ double shared[2][kWarps][kSmallColumns];
  const T* const grad_out = static_cast<const T*>(g.grad_out);
  const T* const in = static_cast<const T*>(g.in);
  const float* const means = static_cast<const float*>(g.mean);
  const float* const rstds = static_cast<const float*>(g.rstd);
  const int thread = static_cast<int>(threadIdx.x);
  const int x = thread % kAcross * kWidth;
  const int column = first_column + x;
  float sums[2][kWidth] = {};
  if (column < n) {
    for (int first = thread / kAcross; first < rows; first += kUnroll * kStep) {
      Vec<T, kWidth> grads[kUnroll];
      Vec<T, kWidth> elements[kUnroll];
      float mean[kUnroll];
      float rstd[kUnroll];
#pragma unroll
      for (int u = 0; u < kUnroll; ++u) {
        // A row too many adds nothing: read the last one instead.
        const int row = min(first + u * kStep, rows - 1);
        grads[u] = LoadVec<kWidth>(grad_out + row * n + column);
        elements[u] = LoadVec<kWidth>(in + row * n + column);
        mean[u] = kRms ? 0.0f : means[row];
        rstd[u] = rstds[row];
      }
#pragma unroll
      for (int u = 0; u < kUnroll; ++u) {
        if (first + u * kStep >= rows) break;
#pragma unroll
        for (int j = 0; j < kWidth; ++j) {
          const float grad = ToCompute(grads[u].at[j]);
          const float term = (ToCompute(elements[u].at[j]) - mean[u]) * rstd[u];
          sums[0][j] = fmaf(grad, term, sums[0][j]);
          sums[1][j] += grad;
        }
      }
    }
  }
  // The rows of threads of a warp, then the warps.
  const int lane = thread % kWarp;
#pragma unroll
  for (int part = 0; part < (kRms ? 1 : 2); ++part) {
#pragma unroll
    for (int j = 0; j < kWidth; ++j) {
      double sum = sums[part][j];
#pragma unroll
      for (int mask = kWarp / 2; mask >= kAcross; mask /= 2) {
        sum += ShuffleXor(sum, mask);
      }
      if (lane < kAcross) shared[part][thread / kWarp][x + j] = sum;
    }
  }
  __syncthreads();
  const int part = thread / kSmallColumns;
  const int at = thread % kSmallColumns;
  if (part >= (kRms ? 1 : 2) || first_column + at >= n) return;
  T* const out = static_cast<T*>(part == 0 ? g.grad_gamma : g.grad_beta);
  if (out == nullptr) return;
  double sum = 0;
#pragma unroll
  for (int w = 0; w < kWarps; ++w) sum += shared[part][w][at];
  out[first_column + at] = FromCompute<T>(static_cast<float>(sum));
}

// grad_in of one row, by a warp.
template <bool kRms, int kWidth, typename T>
__device__ __forceinline__ void SmallRow(int row, int n,
                                         const NormGradients& g) {
  constexpr int kVectors = kSmall / kWarp / kWidth;
  const int lane = static_cast<int>(threadIdx.x) % kWarp;
  const T* const grad_out = static_cast<const T*>(g.grad_out) + row * n;
  const T* const in = static_cast<const T*>(g.in) + row * n;
  const T* const weights = static_cast<const T*>(g.gamma);
  const float mean = kRms ? 0.0f : static_cast<const float*>(g.mean)[row];
  const float rstd = static_cast<const float*>(g.rstd)[row];
  Vec<T, kWidth> grads[kVectors];
  Vec<T, kWidth> elements[kVectors];
  Vec<T, kWidth> gammas[kVectors];
  // All loads before the first use of one, as far as registers reach.
  constexpr bool kEarlyWeights = kWidth > 1;
#pragma unroll
  for (int i = 0; i < kVectors; ++i) {
    const int at = (lane + i * kWarp) * kWidth;
    if (at >= n) continue;
    grads[i] = LoadVec<kWidth>(grad_out + at);
    elements[i] = LoadVec<kWidth>(in + at);
    if (kEarlyWeights && weights != nullptr) {
      gammas[i] = LoadVec<kWidth>(weights + at);
    }
  }
  RowSums<double> sums = {0, 0};
#pragma unroll
  for (int i = 0; i < kVectors; ++i) {
    const int at = (lane + i * kWarp) * kWidth;
    if (at >= n) continue;
    if (!kEarlyWeights && weights != nullptr) {
      gammas[i] = LoadVec<kWidth>(weights + at);
    }
    RowSums<SumType<T>> part = {0, 0};
#pragma unroll
    for (int j = 0; j < kWidth; ++j) {
      const float gamma =
          weights == nullptr ? 1.0f : ToCompute(gammas[i].at[j]);
      part.template Add<kRms>(ToCompute(grads[i].at[j]), gamma,
                              ToCompute(elements[i].at[j]), mean, rstd);
    }
    sums = AddRowSums()(sums, part);
  }
  sums = WarpReduce(sums, AddRowSums());
  if constexpr (sizeof(T) == 4) {
    // So that doubles are made anew at the next use, and not held.
#pragma unroll
    for (int i = 0; i < kVectors; ++i) {
#pragma unroll
      for (int j = 0; j < kWidth; ++j) {
        asm volatile(""
                     : "+f"(grads[i].at[j]), "+f"(elements[i].at[j]),
                       "+f"(gammas[i].at[j]));
      }
    }
  }
  const RowTerms<T> terms(sums, 1.0 / n, rstd);
  T* const out = static_cast<T*>(g.grad_in) + row * n;
#pragma unroll
  for (int i = 0; i < kVectors; ++i) {
    const int at = (lane + i * kWarp) * kWidth;
    if (at >= n) continue;
    Vec<T, kWidth> result;
#pragma unroll
    for (int j = 0; j < kWidth; ++j) {
      const float gamma =
          weights == nullptr ? 1.0f : ToCompute(gammas[i].at[j]);
      result.at[j] =
          FromCompute<T>(terms.GradIn(ToCompute(grads[i].at[j]), gamma,
                                      ToCompute(elements[i].at[j]), mean));
    }
    StoreVec<kWidth>(out + at, result);
  }
}

template <bool kRms, int kWidth, typename T>
__global__ void __launch_bounds__(kSmallThreads)
    NormBackwardSmallKernel(int rows, int n, int column_blocks,
                            const __grid_constant__ NormGradients g) {
  const int block = static_cast<int>(blockIdx.x);
  if (block < column_blocks) {
    SmallColumns<kRms, kWidth, T>(rows, n, block * kSmallColumns, g);
    return;
  }
  const int row = (block - column_blocks) * (kSmallThreads / kWarp) +
                  static_cast<int>(threadIdx.x) / kWarp;
  if (row < rows) SmallRow<kRms, kWidth, T>(row, n, g);
}

template <bool kRms, typename T>
cudaError_t LaunchSmall(const NormShape& shape, const NormGradients& g,
                        cudaStream_t stream) {
  constexpr int kRows = kSmallThreads / kWarp;  // of a block
  const int rows = static_cast<int>(shape.rows);
  const int n = static_cast<int>(shape.n);
  const int column_blocks = (n + kSmallColumns - 1) / kSmallColumns;
  const int blocks = column_blocks + (rows + kRows - 1) / kRows;
  constexpr int kBytes = kSmallWidth * static_cast<int>(sizeof(T));
  const bool wide = n % kSmallWidth == 0 && IsAligned(g.grad_out, kBytes) &&
                    IsAligned(g.in, kBytes) && IsAligned(g.gamma, kBytes) &&
                    IsAligned(g.grad_in, kBytes);
  const auto kernel = wide ? &NormBackwardSmallKernel<kRms, kSmallWidth, T>
                           : &NormBackwardSmallKernel<kRms, 1, T>;
  kernel<<<blocks, kSmallThreads, 0, stream>>>(rows, n, column_blocks, g);
  return cudaGetLastError();
}

}  // namespace internal_norm
}  // namespace cuda
}  // namespace kernels
}  // namespace flaggems

#endif  // FLAGGEMS_KERNELS_CUDA_NORM_BACKWARD_SMALL_CUH_
