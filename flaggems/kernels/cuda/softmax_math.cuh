// Scalar functions of the softmax kernels.

#ifndef FLAGGEMS_KERNELS_CUDA_SOFTMAX_MATH_CUH_
#define FLAGGEMS_KERNELS_CUDA_SOFTMAX_MATH_CUH_

#include <cmath>

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

}  // namespace internal_softmax
}  // namespace cuda
}  // namespace kernels
}  // namespace flaggems

#endif  // FLAGGEMS_KERNELS_CUDA_SOFTMAX_MATH_CUH_
