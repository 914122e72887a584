// The exponential function in two parts, for functions of float32 that round
// once.

#ifndef FLAGGEMS_KERNELS_CUDA_SPLIT_EXP_CUH_
#define FLAGGEMS_KERNELS_CUDA_SPLIT_EXP_CUH_

#include <cuda_runtime.h>

namespace flaggems {
namespace kernels {
namespace cuda {

inline constexpr float kLog2E = 1.4426950408889634f;

// min(x, limit); NaN stays.
__device__ __forceinline__ float AtMost(float x, float limit) {
  float y;
  asm("min.NaN.f32 %0, %1, %2;" : "=f"(y) : "f"(x), "f"(limit));
  return y;
}

// exp(-x - low) as 2^k (1 + q), within 2^-26 of it; x in [0, kFarExp], low at
// most an ulp of x. NaN: q is NaN.
struct SplitExp {
  float q;  // |q| < 0.42
  int k;

  __device__ __forceinline__ explicit SplitExp(float x, float low = 0) {
    constexpr float kRound = 12582912.0f;  // 1.5 2^23: adding it rounds
    const float shifted = fmaf(x, -kLog2E, kRound);
    const float whole = shifted - kRound;
    k = __float_as_int(shifted) - __float_as_int(kRound);
    const float r = fmaf(whole, -0x1.62e430p-1f, -x);
    SetQ(fmaf(whole, 0x1.05c610p-29f, r) - low);
  }
  __device__ __forceinline__ explicit SplitExp(double x) {
    constexpr double kRound = 6755399441055744.0;  // 1.5 2^52
    const double shifted = fma(x, -1.4426950408889634074, kRound);
    k = __double2loint(shifted);
    SetQ(
        static_cast<float>(fma(shifted - kRound, -0.69314718055994530942, -x)));
  }

  // v 2^k: right where 2^k is subnormal and the product is not.
  __device__ __forceinline__ static float Scale(float v, int k) {
    const int half = k >> 1;
    return v * Power(half) * Power(k - half);
  }
  // 2^k for k in [-126, 127], 0 for -127.
  __device__ __forceinline__ static float Power(int k) {
    return __int_as_float((k << 23) + 0x3f800000);
  }

 private:
  __device__ __forceinline__ void SetQ(float r) {
    // (exp(r) - 1 - r) / r^2 for |r| <= ln(2) / 2.
    float p = 0x1.a15232p-13f;
    p = fmaf(p, r, 0x1.6d43d6p-10f);
    p = fmaf(p, r, 0x1.1110c6p-7f);
    p = fmaf(p, r, 0x1.5554e8p-5f);
    p = fmaf(p, r, 0x1.555556p-3f);
    p = fmaf(p, r, 0.5f);
    q = fmaf(r * r, p, r);
  }
};
// exp(-kFarExp) has k = -254: Scale makes 0 of it, and of nothing that is not.
// Its q is negative: the largest float times 1 + q does not overflow before.
inline constexpr float kFarExp = 176.1f;

}  // namespace cuda
}  // namespace kernels
}  // namespace flaggems

#endif  // FLAGGEMS_KERNELS_CUDA_SPLIT_EXP_CUH_
