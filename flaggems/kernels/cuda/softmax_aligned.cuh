// Softmax and log softmax of rows of whole vectors (aligned_row.cuh).

#ifndef FLAGGEMS_KERNELS_CUDA_SOFTMAX_ALIGNED_CUH_
#define FLAGGEMS_KERNELS_CUDA_SOFTMAX_ALIGNED_CUH_

#include <cstdint>

#include "flaggems/kernels/cuda/aligned_row.cuh"
#include "flaggems/kernels/cuda/softmax_math.cuh"

namespace flaggems {
namespace kernels {
namespace cuda {
namespace internal_softmax {

// Approximate powers of two; results below 2^-126 are 0.
__device__ __forceinline__ float FastExp2(float x) {
  float y;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
}

// 16-bit results: powers of two of fma(x, log2(e), shift), 2^64 times as large,
// so that what becomes a subnormal bfloat16 is not 0; a log softmax takes those
// of differences from the maximum.
// float: exp of the difference from ExpOrigin() and division, accurate.
template <bool kLog, typename T, int kVectors, Team kTeam, bool kPrefetch>
__global__ void __launch_bounds__(1024)
    SoftmaxAlignedKernel(const __grid_constant__ AlignedPlan plan, const T* in,
                         T* out) {
  constexpr int kWidth = kVecWidth<T>;
  constexpr bool kFast = sizeof(T) == 2;
  // Whether the exponentials of 16-bit elements find room in registers.
  constexpr bool kHold = !kLog && kVectors * kWidth <= 32;
  constexpr float kLog2E = 1.4426950408889634f;
  constexpr float kScale = 64.0f;
  AlignedRow<kVectors, kTeam, kPrefetch> row(plan, in);
  do {
    uint4 x[kVectors];
    row.Load(in, Filled<T>(-INFINITY), x);
    float max = -INFINITY;
#pragma unroll
    for (int i = 0; i < kVectors; ++i) {
      float f[kWidth];
      Unpack<T>(x[i], f);
#pragma unroll
      for (int j = 0; j < kWidth; ++j) max = fmaxf(max, f[j]);
    }
    max = row.Reduce(max, Max(), -INFINITY);
    row.Prefetch(in);
    if constexpr (kVectors * kWidth > 32) Renew(x);
    float held[kHold ? kVectors : 1][kWidth];
    const float shift = fmaf(-max, kLog2E, kScale);
    if constexpr (!kFast && !kLog) max = ExpOrigin(max);
    float sums[4] = {0, 0, 0, 0};
#pragma unroll
    for (int i = 0; i < kVectors; ++i) {
      float f[kWidth];
      Unpack<T>(x[i], f);
#pragma unroll
      for (int j = 0; j < kWidth; ++j) {
        float e;
        if constexpr (kFast && kLog) {
          // The largest gives 1 exactly: the logarithm of a sum that is about 1
          // shows errors that a product hides.
          e = FastExp2((f[j] - max) * kLog2E);
        } else {
          e = kFast ? FastExp2(fmaf(f[j], kLog2E, shift)) : Exp(f[j] - max);
        }
        sums[j % 4] += e;
        if constexpr (kHold) held[i][j] = e;
      }
    }
    const float sum =
        row.Reduce((sums[0] + sums[1]) + (sums[2] + sums[3]), Sum(), 0.0f);
    const float log_sum = kLog ? Log(sum) : 0.0f;
    const float inverse = 1.0f / sum;
    uint4* p = row.Out(out);
    if constexpr (!kHold && kFast) Renew(x);
#pragma unroll
    for (int i = 0; i < kVectors; ++i) {
      if (!row.Has(i)) continue;
      float f[kWidth];
      if constexpr (!kHold) Unpack<T>(x[i], f);
#pragma unroll
      for (int j = 0; j < kWidth; ++j) {
        if constexpr (kLog) {
          f[j] = (f[j] - max) - log_sum;
        } else {
          if constexpr (kHold) {
            f[j] = held[i][j];
          } else {
            f[j] =
                kFast ? FastExp2(fmaf(f[j], kLog2E, shift)) : Exp(f[j] - max);
          }
          f[j] = kFast ? f[j] * inverse : Divide(f[j], sum, inverse);
        }
      }
      __stcs(p + row.At(i), Pack<T>(f));
    }
  } while (row.Next());
  row.Finish();
}

// Single elements: short rows of odd length.
template <bool kLog, typename T, typename U>
__global__ void __launch_bounds__(128)
    SoftmaxNarrowKernel(const __grid_constant__ NarrowPlan plan, const T* in,
                        U* out) {
  const NarrowRow row(plan);
  float x[kNarrowItems];
  row.Load(in, -INFINITY, x);
  float max = x[0];
#pragma unroll
  for (int i = 1; i < kNarrowItems; ++i) max = fmaxf(max, x[i]);
  max = row.Reduce(max, Max());
  if constexpr (!kLog) max = ExpOrigin(max);
  float sum = 0;
#pragma unroll
  for (int i = 0; i < kNarrowItems; ++i) {
    const float e = Exp(x[i] - max);
    sum += e;
    x[i] = kLog ? x[i] - max : e;
  }
  sum = row.Reduce(sum, Sum());
  const float log_sum = kLog ? Log(sum) : 0.0f;
  const float inverse = 1.0f / sum;
#pragma unroll
  for (int i = 0; i < kNarrowItems; ++i) {
    row.Store(
        out, i,
        kLog ? x[i] - log_sum
             : (sizeof(U) == 2 ? x[i] * inverse : Divide(x[i], sum, inverse)));
  }
}

// Vectors of a thread hold their exponentials: up to 1024 threads are better
// than prefetch. 16-bit rows have no room for eight vectors of these.
template <typename T>
AlignedLimits SoftmaxLimits() {
  return {/*direct_threads=*/1024, /*has_prefetch=*/sizeof(T) == 4,
          /*has_single=*/true};
}

// blocks == 0 of the plan: not for these kernels.
template <bool kLog, typename T>
cudaError_t LaunchSoftmaxAligned(const AlignedPlan& plan, int multiprocessors,
                                 const T* in, T* out, cudaStream_t stream) {
  return ForAlignedPlan(plan, [&](auto team, auto vectors, auto prefetch) {
    if constexpr (decltype(prefetch)::value && sizeof(T) == 2) {
      return cudaErrorInvalidValue;  // SoftmaxLimits makes no such plan
    } else {
      return LaunchAligned(
          plan, multiprocessors,
          &SoftmaxAlignedKernel<kLog, T, decltype(vectors)::value,
                                decltype(team)::value,
                                decltype(prefetch)::value>,
          stream, in, out);
    }
  });
}

}  // namespace internal_softmax
}  // namespace cuda
}  // namespace kernels
}  // namespace flaggems

#endif  // FLAGGEMS_KERNELS_CUDA_SOFTMAX_ALIGNED_CUH_
