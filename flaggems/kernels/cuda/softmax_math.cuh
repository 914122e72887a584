// Scalar functions of the softmax kernels.

#ifndef FLAGGEMS_KERNELS_CUDA_SOFTMAX_MATH_CUH_
#define FLAGGEMS_KERNELS_CUDA_SOFTMAX_MATH_CUH_

#include <cmath>
#include <cstdint>

namespace flaggems {
namespace kernels {
namespace cuda {
namespace internal_softmax {

__device__ __forceinline__ float Exp(float x) { return expf(x); }
__device__ __forceinline__ double Exp(double x) { return exp(x); }
__device__ __forceinline__ float Log(float x) { return logf(x); }
__device__ __forceinline__ double Log(double x) { return log(x); }
__device__ __forceinline__ float Larger(float a, float b) {
  return fmaxf(a, b);
}
__device__ __forceinline__ double Larger(double a, double b) {
  return fmax(a, b);
}

template <typename C>
__device__ __forceinline__ C MinusInfinity() {
  return static_cast<C>(-INFINITY);
}

// What the exponentials of a softmax row are relative to: its maximum, or 0 for
// a maximum of usual size, where the differences from it would lose digits that
// the exponentials show. Their sum is 1 at least then, so that no exponential
// below 2^-126 has a quotient above it, and those of 2^41 elements are finite.
template <typename C>
__device__ __forceinline__ C ExpOrigin(C max) {
  return max >= C{0} && max <= C{60} ? C{0} : max;
}

// a / b, where inverse is 1 / b: one correction step in place of a division.
__device__ __forceinline__ float Divide(float a, float b, float inverse) {
  const float q = a * inverse;
  const float corrected = fmaf(fmaf(-q, b, a), inverse, q);
  // Inf or NaN of b: the correction would turn zeros into NaN.
  return isfinite(corrected) ? corrected : q;
}
__device__ __forceinline__ double Divide(double a, double b, double) {
  return a / b;
}

// x in [-limit, limit]; NaN stays.
__device__ __forceinline__ float Bounded(float x, float limit) {
  float y;
  asm("min.NaN.f32 %0, %1, %2;" : "=f"(y) : "f"(x), "f"(limit));
  asm("max.NaN.f32 %0, %1, %2;" : "=f"(y) : "f"(y), "f"(-limit));
  return y;
}

// grad - exp(x) * sum, for terms that cancel: the error is at most 1.3 * 2^-24
// of |grad| + |exp(x) * sum| (three times that with expf in float32). exp(x) is
// 2^k (1 + q) with q in float32, about half an ulp of 1/4; the rest is double.
__device__ __forceinline__ float MinusExp(float grad, float x, double sum) {
  constexpr float kLog2E = 1.4426950408889634f;
  constexpr float kRound = 12582912.0f;  // 1.5 * 2^23: adding it rounds
  constexpr float kLn2 = 0x1.62e430p-1f;
  constexpr float kLn2Rest = -0x1.05c610p-29f;
  // NaN stays. Results beyond float32 are infinite without exp's help.
  const float bounded = Bounded(x, 500.0f);
  const float shifted = fmaf(bounded, kLog2E, kRound);
  const int k = __float_as_int(shifted) - __float_as_int(kRound);
  const float whole = shifted - kRound;
  const float r = fmaf(whole, -kLn2Rest, fmaf(whole, -kLn2, bounded));
  // (exp(r) - 1 - r) / r^2 for |r| <= ln(2) / 2.
  float p = 0x1.a15232p-13f;
  p = fmaf(p, r, 0x1.6d43d6p-10f);
  p = fmaf(p, r, 0x1.1110c6p-7f);
  p = fmaf(p, r, 0x1.5554e8p-5f);
  p = fmaf(p, r, 0x1.555556p-3f);
  p = fmaf(p, r, 0.5f);
  const double q = fmaf(r * r, p, r);
  // 0, as float32 has it, so that it makes NaN of an infinite sum.
  const double scale =
      x < -104.0f ? 0.0 : __hiloint2double((k + 1023) << 20, 0);
  return static_cast<float>(fma(-(1.0 + q), sum * scale, double{grad}));
}

}  // namespace internal_softmax
}  // namespace cuda
}  // namespace kernels
}  // namespace flaggems

#endif  // FLAGGEMS_KERNELS_CUDA_SOFTMAX_MATH_CUH_
