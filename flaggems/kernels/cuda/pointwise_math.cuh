// Functions of one number for the pointwise kernels, by the element type that
// the result is rounded to: what float32 needs and what 16 bits can tell apart
// differ by four decimal digits, and at full bandwidth a 16-bit element leaves
// time for about 20 instructions.
//
// Relative errors for 16 bits: below 2^-18 of the result (a float16 rounding is
// 2^-12, a bfloat16 one 2^-9) over the whole range, subnormal results included.
// Those of float and double are the CUDA library's unless a function says so.

#ifndef FLAGGEMS_KERNELS_CUDA_POINTWISE_MATH_CUH_
#define FLAGGEMS_KERNELS_CUDA_POINTWISE_MATH_CUH_

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <type_traits>

#include "flaggems/kernels/cuda/element.h"
#include "flaggems/kernels/cuda/split_exp.cuh"

namespace flaggems {
namespace kernels {
namespace cuda {

template <typename T>
inline constexpr bool kIsHalfWidth =
    std::is_same<T, __half>::value || std::is_same<T, __nv_bfloat16>::value;

// 2^x within 2 ulp; subnormal results are right.
__device__ __forceinline__ float Exp2Approx(float x) {
  float y;
  asm("ex2.approx.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
}
// The same where a result below 2^-126 may be 0.
__device__ __forceinline__ float Exp2Flushed(float x) {
  float y;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
}
// 1 / x within 1 ulp; 0 for |x| > 2^126.
__device__ __forceinline__ float ReciprocalFlushed(float x) {
  float y;
  asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
}
// The same; subnormal arguments and results are right.
__device__ __forceinline__ float ReciprocalApprox(float x) {
  float y;
  asm("rcp.approx.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
}
__device__ __forceinline__ float SqrtApprox(float x) {
  float y;
  asm("sqrt.approx.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
}

// exp(x) for 16 bits. As a square: its root is never subnormal, so that nothing
// has to be scaled.
__device__ __forceinline__ float ExpBySquare(float x) {
  const float root = Exp2Flushed(x * (0.5f * kLog2E));
  return root * root;
}

template <typename T>
__device__ __forceinline__ Compute<T> Exp(Compute<T> x) {
  if constexpr (kIsHalfWidth<T>) {
    return ExpBySquare(x);
  } else if constexpr (std::is_same<T, float>::value) {
    return expf(x);
  } else {
    return exp(x);
  }
}

template <typename T>
__device__ __forceinline__ Compute<T> Sqrt(Compute<T> x) {
  if constexpr (kIsHalfWidth<T>) {
    return SqrtApprox(x);
  } else {
    return sqrt(x);
  }
}

template <typename T>
__device__ __forceinline__ Compute<T> Reciprocal(Compute<T> x) {
  if constexpr (kIsHalfWidth<T>) {
    return ReciprocalApprox(x);
  } else {
    return Compute<T>(1) / x;
  }
}

// v / (1 + exp(x)) if `negative`, else v / (1 + exp(-x)), for x of type float
// or double in [0, kFarExp]: within 0.8 ulp and the rounding of a product with
// v.
template <typename X>
__device__ __forceinline__ float MulSigmoidExact(float v, X x, bool negative) {
  const SplitExp e(x);
  // 1 + exp(-x) in two parts, and what its approximate inverse leaves of 1.
  const float scale = SplitExp::Power(max(e.k, -127));
  const float tail = fmaf(e.q, scale, scale);
  const float d = 1.0f + tail;
  const float d_low = tail - (d - 1.0f);
  const float inverse = ReciprocalFlushed(d);
  const float rest = fmaf(-inverse, d_low, fmaf(-inverse, d, 1.0f));
  // inverse (1 + rest), times exp(-x) = 2^k (1 + q) if negative.
  const float q = negative ? e.q : 0.0f;
  const float sigmoid = fmaf(inverse, fmaf(q, rest, rest) + q, inverse);
  return SplitExp::Scale(v * sigmoid, negative ? e.k : 0);
}

// v / (1 + exp(-x)), by exp(-|x|), which does not overflow: tails down to the
// subnormal numbers are right.
template <typename T>
__device__ __forceinline__ Compute<T> MulSigmoid(Compute<T> v, Compute<T> x) {
  if constexpr (kIsHalfWidth<T>) {
    const float e = ExpBySquare(-fabsf(x));
    const float r = v * ReciprocalFlushed(1.0f + e);
    return x < 0.0f ? r * e : r;
  } else if constexpr (std::is_same<T, float>::value) {
    return MulSigmoidExact(v, AtMost(fabsf(x), kFarExp), x < 0.0f);
  } else {
    const double e = exp(-fabs(x));
    return (x < 0 ? v * e : v) / (1 + e);
  }
}

// v / (1 + exp(-x)) as it stands in float32: within 2 ulp, as torch's kernel,
// and at the memory's speed where MulSigmoid() is not.
template <typename T>
__device__ __forceinline__ Compute<T> Over1PlusExpMinus(Compute<T> v,
                                                        Compute<T> x) {
  if constexpr (std::is_same<T, float>::value) {
    return v / (1.0f + expf(-x));
  } else {
    return MulSigmoid<T>(v, x);
  }
}

template <typename T>
__device__ __forceinline__ Compute<T> Sigmoid(Compute<T> x) {
  return MulSigmoid<T>(Compute<T>(1), x);
}

template <typename T>
__device__ __forceinline__ Compute<T> Tanh(Compute<T> x) {
  if constexpr (kIsHalfWidth<T>) {
    // 1 - 2 / (1 + exp(2 |x|)) cancels below 0.5, where the odd polynomial
    // is within 2^-20.
    const float a = fabsf(x);
    const float e = Exp2Flushed(a * (2 * kLog2E));
    const float large = copysignf(1.0f - 2.0f * ReciprocalFlushed(1.0f + e), x);
    const float s = x * x;
    float p = -0.04475063814307413f;
    p = p * s + 0.1320535949803016f;
    p = p * s - 0.33328159318324113f;
    return a < 0.5f ? x * fmaf(s, p, 1.0f) : large;  // -0 stays -0
  } else {
    return tanh(x);
  }
}

template <typename T>
__device__ __forceinline__ Compute<T> Log(Compute<T> x) {
  if constexpr (kIsHalfWidth<T>) {
    // lg2.approx is within 2^-22 of the logarithm, in absolute terms near 1.
    float y;
    asm("lg2.approx.f32 %0, %1;" : "=f"(y) : "f"(x));
    const float d = x - 1.0f;
    float p = -0.25f;
    p = p * d + 0.33333333f;
    p = p * d - 0.5f;
    return fabsf(d) < 0.04f ? d + d * (d * p) : y * 0.69314718f;
  } else {
    return log(x);
  }
}

// x^e for x >= 0 and a finite e, within 2^-17 + |e| 2^-22 of the result; NaN
// for NaN.
__device__ __forceinline__ float PowPositive(float x, float e) {
  // x = 2^k m, m in [0.75, 1.5): the logarithm of m alone keeps its digits. A
  // zero, an infinity, NaN and a subnormal number go whole.
  constexpr int kThreeQuarters = 0x3f400000;
  constexpr float kRound = 12582912.0f;  // 1.5 2^23
  const int bits = __float_as_int(x);
  const int k = (bits - kThreeQuarters) >> 23;
  const bool normal = x >= 1.17549435e-38f && x < INFINITY;
  const float m = normal ? __int_as_float(bits - (k << 23)) : x;
  const float whole =
      normal ? __int_as_float(__float_as_int(kRound) + k) - kRound : 0.0f;
  float log2;
  asm("lg2.approx.f32 %0, %1;" : "=f"(log2) : "f"(m));
  return Exp2Approx(fmaf(e, log2, e * whole));
}

// |x|^e for a finite e other than 0, with the arithmetic of the CUDA library's
// powf: two parts of the logarithm, less than 0.61 ulp where e is small. What
// depends on e alone is left to the caller, and rounding to whole numbers takes
// an addition: 60 instructions for the library's 95.
__device__ __forceinline__ float PowOfAbsolute(float x, float e) {
  constexpr float kRound = 12582912.0f;  // 1.5 2^23
  constexpr float kLog2EHigh = 1.4426950216293335f;
  constexpr float kLog2ELow = 1.9251366722983221e-08f;
  const float a = fabsf(x);
  // a = 2^k m, m in [sqrt(1/2), sqrt(2)).
  const bool tiny = a < 1.17549435e-38f;
  const int bits = __float_as_int(tiny ? a * 16777216.0f : a);
  const int exponent = (bits - 0x3f3504f3) & static_cast<int>(0xff800000u);
  const float m = __int_as_float(bits - exponent);
  const float k = fmaf(static_cast<float>(exponent), 1.1920928955078125e-07f,
                       tiny ? -24.0f : 0.0f);
  // log2(m) by u = 2 (m - 1) / (m + 1) and what its rounding leaves.
  const float less = m - 1.0f;
  const float inverse = ReciprocalFlushed(m + 1.0f);
  const float u = inverse * (less + less);
  const float v = u * u;
  const float rest = less - u;
  const float u_low = inverse * fmaf(less, -u, rest + rest);
  float p = 0x1.5865c8p-11f;
  p = fmaf(v, p, 0.0032181653659790754f);
  p = fmaf(v, p, 0.018033718690276146f);
  p = fmaf(v, p, 0.12022458761930466f);
  p = v * p;
  const float sum = fmaf(u, kLog2EHigh, k);
  float low = fmaf(u, kLog2EHigh, k - sum);
  low = fmaf(u_low, kLog2EHigh, low);
  low = fmaf(u, kLog2ELow, low);
  low = fmaf(u_low, 3.0f * p, low);
  low = fmaf(u, p, low);
  const float high = sum + low;
  low -= high - sum;
  // 2^(e log2(a)).
  const float t = e * high;
  const float t_low = fmaf(e, low, fmaf(e, high, -t));
  const float shifted = t + kRound;
  const float whole = shifted - kRound;
  const float f = (t - whole) + t_low;
  float q = __int_as_float(0x391fcb8e);
  q = fmaf(f, q, 0.0013391353422775865f);
  q = fmaf(f, q, 0.0096188392490148544f);
  q = fmaf(f, q, 0.055503588169813156f);
  q = fmaf(f, q, 0.24022644758224487f);
  q = fmaf(f, q, 0.69314718246459961f);
  q = fmaf(f, q, 1.0f);
  // Two powers of two, so that only a subnormal result is rounded.
  const int n = __float_as_int(shifted) << 23;
  const int part = whole > 0.0f ? 0x7f000000 : 0x02000000;
  const float y =
      q * __int_as_float(part) * __int_as_float(n + 0x7f000000 - part);
  const float far = t < 0.0f ? 0.0f : INFINITY;
  const float result = fabsf(t) > 152.0f ? far : y;
  // 0, infinity and NaN: themselves, or their inverse.
  const int whole_bits = __float_as_int(a);
  const int edge = e < 0.0f ? 0x7f800000 - whole_bits : whole_bits;
  const bool inside = static_cast<unsigned>(whole_bits - 1) < 0x7f7fffffu;
  return inside ? result : __int_as_float(edge);
}

template <typename T>
__device__ __forceinline__ Compute<T> Erf(Compute<T> x) {
  if constexpr (kIsHalfWidth<T>) {
    // x times the polynomial of x^2 of least relative error, 9e-7; beyond 2.7
    // the result rounds to 1 in either type.
    float c;
    asm("min.NaN.f32 %0, %1, %2;" : "=f"(c) : "f"(x), "f"(2.7f));
    asm("max.NaN.f32 %0, %1, %2;" : "=f"(c) : "f"(c), "f"(-2.7f));
    // In x^2 less the middle of its range: powers of x^2 itself would cancel.
    const float s = fmaf(c, c, -3.645f);
    float p = -7.762142040235176e-09f;
    p = p * s + 8.852940425185807e-08f;
    p = p * s - 6.425873948501248e-07f;
    p = p * s + 5.467496976052644e-06f;
    p = p * s - 4.505640754359774e-05f;
    p = p * s + 0.0003200633218511939f;
    p = p * s - 0.0020304014906287193f;
    p = p * s + 0.01182593870908022f;
    p = p * s - 0.06730785965919495f;
    p = p * s + 0.5201513767242432f;
    return c * p;
  } else {
    return erf(x);
  }
}

// The library's for large arguments, whose code is long and rarely runs: not
// beside each element's of a vector.
template <bool kCosine>
__device__ __noinline__ float SinOfLarge(float x) {
  return kCosine ? cosf(x) : sinf(x);
}

// The sine, or the cosine.
template <typename T, bool kCosine>
__device__ __forceinline__ Compute<T> Sin(Compute<T> x) {
  if constexpr (kIsHalfWidth<T>) {
    // x less the nearest multiple of pi; the cosine's, less half of pi, is a
    // sine of its own. With pi in two parts, both positive so that -0 stays
    // -0, the rest is exact to 2^-30 where the multiple has 16 bits; larger
    // arguments, which float16 does not have, take the library's way.
    if constexpr (std::is_same<T, __nv_bfloat16>::value) {
      if (!(fabsf(x) < 65536.0f)) return SinOfLarge<kCosine>(x);
    }
    constexpr float kRound = 12582912.0f;  // 1.5 2^23
    const float shifted = kCosine ? fmaf(x, 0.318309886f, -0.5f) + kRound
                                  : fmaf(x, 0.318309886f, kRound);
    float multiple = shifted - kRound;
    if constexpr (kCosine) multiple += 0.5f;
    float r = fmaf(multiple, -3.1415925025939941f, x);
    r = fmaf(multiple, -1.5099579909783765e-7f, r);
    // sin(r) / r over [-pi / 2, pi / 2].
    const float s = r * r;
    float p = 2.6018724383902736e-06f;
    p = p * s - 0.00019807404896710068f;
    p = p * s + 0.008333024568855762f;
    p = p * s - 0.16666656732559204f;
    p = p * s + 1.0f;
    const unsigned sign = (__float_as_uint(shifted) ^ kCosine) << 31;
    return __int_as_float(__float_as_int(r * p) ^ static_cast<int>(sign));
  } else {
    return kCosine ? cos(x) : sin(x);
  }
}

// log(1 + exp(x)).
template <typename T>
__device__ __forceinline__ Compute<T> LogOnePlusExp(Compute<T> x) {
  if constexpr (kIsHalfWidth<T>) {
    // max(x, 0) + log(1 + e), e = exp(-|x|) in [0, 1]: e times the polynomial
    // of least relative error, 2e-7.
    const float e = ExpBySquare(-fabsf(x));
    float p = -0.008539206348359585f;
    p = p * e + 0.04408962279558182f;
    p = p * e - 0.10768169909715652f;
    p = p * e + 0.17745240032672882f;
    p = p * e - 0.24495463073253632f;
    p = p * e + 0.33275479078292847f;
    p = p * e - 0.4999740421772003f;
    p = p * e + 0.9999998211860657f;
    return fmaf(e, p, fmaxf(x, 0.0f));
  } else {
    return log1p(Exp<T>(x));
  }
}

// The distribution function of the normal distribution, without the
// cancellation of 1 + erf(x / sqrt(2)) in the tail.
template <typename T>
__device__ __forceinline__ Compute<T> NormalCdf(Compute<T> x) {
  if constexpr (std::is_same<T, double>::value) {
    return 0.5 * erfc(x * -0.70710678118654752440);
  } else {
    // erfc(z) = exp(-z^2) t q(t), z = |x| / sqrt(2), t = 1 / (1 + z / 2); q is
    // the polynomial of least relative error over z in [0, 10], halved here:
    // 1.4e-6 for 16 bits, 4.3e-8 for float32.
    const float t = ReciprocalFlushed(1.0f + 0.353553391f * fabsf(x));
    float q;
    if constexpr (kIsHalfWidth<T>) {
      q = 0.04410202353866487f;
      q = q * t - 0.17836860003668578f;
      q = q * t + 0.19461155797606358f;
      q = q * t + 0.018945846131569317f;
      q = q * t + 0.14075168584351538f;
      q = q * t + 0.1387911069482225f;
      q = q * t + 0.14116570339958798f;
    } else {
      q = -0.02953448347387764f;
      q = q * t + 0.14228749643695426f;
      q = q * t - 0.24359997639287756f;
      q = q * t + 0.1390336074688377f;
      q = q * t - 0.01331284979308159f;
      q = q * t + 0.10134344112747895f;
      q = q * t + 0.12155187978833691f;
      q = q * t + 0.141187654475968f;
      q = q * t + 0.14104320892036826f;
    }
    const float tail = q * t * Exp2Flushed(x * x * (-0.5f * kLog2E));
    return x < 0.0f ? tail : 1.0f - tail;
  }
}

// The gradient of gelu times grad, for float32.
//
// With a = |x| the gradient at -a is w = exp(-a^2 / 2) n(a), and at a it is
// 1 - w. n has a zero: as (zero - a) p(t), t = 1 / (1 + a / 4), it keeps its
// digits there. p is the polynomial of least relative error over [0, 15], where
// w is not yet 0: 8e-10. (Of the distribution function and the density times x,
// which have opposite signs at -a, few digits would be left.)
__device__ __forceinline__ float MulGeluGradient(float grad, float x) {
  constexpr float kZero = 0x1.80ead2p-1f;
  constexpr float kZeroLow = -0x1.a03fd4p-27f;
  const float a = fabsf(x);
  const float near = AtMost(a, 18.766f);  // its exponential is kFarExp's
  const float square = near * near;
  const float square_low = fmaf(near, near, -square);
  const SplitExp e(0.5f * square, 0.5f * square_low);
  const float t = ReciprocalFlushed(fmaf(0.25f, near, 1.0f));
  float p = 0x1.14365ep-7f;
  p = fmaf(p, t, -0x1.53b13ap-5f);
  p = fmaf(p, t, 0x1.0f71e0p-4f);
  p = fmaf(p, t, -0x1.492e10p-5f);
  p = fmaf(p, t, 0x1.b83070p-5f);
  p = fmaf(p, t, 0x1.b5df00p-6f);
  p = fmaf(p, t, 0x1.b955f4p-5f);
  p = fmaf(p, t, 0x1.051136p-4f);
  p = fmaf(p, t, 0x1.3343c6p-4f);
  p = fmaf(p, t, 0x1.9883f8p-2f);
  // Infinite x: NaN, as of x times 0.
  const float w =
      SplitExp::Scale(fmaf(e.q, p, p) * ((kZero - a) + kZeroLow), e.k);
  if (x < 0.0f) return grad * w;
  // Rounded once; infinities would cancel.
  return isfinite(grad) ? fmaf(-w, grad, grad) : grad * (1.0f - w);
}

// gelu by tanh is x sigmoid(u), u = scale (x + cubic x^3): x (1 + tanh(u / 2))
// / 2 without its cancellation.
inline constexpr double kGeluTanhScale = 1.5957691216057307117597842397375;
inline constexpr double kGeluTanhCubic = 0.044715;

template <typename V>
__device__ __forceinline__ V GeluTanhArgument(V x) {
  return V(kGeluTanhScale) * x * (V(1) + V(kGeluTanhCubic) * x * x);
}

// v sigmoid(u). For float32 u is double: the exponential has the error of u
// times u.
template <typename T>
__device__ __forceinline__ Compute<T> MulGeluTanhSigmoid(Compute<T> v,
                                                         Compute<T> x) {
  if constexpr (std::is_same<T, float>::value) {
    constexpr float kFar = 12.9625f;  // its u is kFarExp, nearly
    const double u = GeluTanhArgument(double{AtMost(fabsf(x), kFar)});
    return MulSigmoidExact(v, u, x < 0.0f);
  } else {
    return MulSigmoid<T>(v, GeluTanhArgument(x));
  }
}

// x sigmoid(u), for float32 within 1.2 ulp for x of usual size. There u has a
// second part, what rounding its products took off, for the exponential has the
// error of u times u; MulGeluTanhSigmoid(), whose u is double, takes 8 % more
// time than the memory.
template <typename T>
__device__ __forceinline__ Compute<T> GeluByTanh(Compute<T> x) {
  if constexpr (std::is_same<T, float>::value) {
    constexpr float kFar = 12.9625f;  // beyond it the exponential is 0 or inf
    constexpr float kScale = static_cast<float>(kGeluTanhScale);
    constexpr float kScaleLow = static_cast<float>(kGeluTanhScale - kScale);
    const float near = copysignf(AtMost(fabsf(x), kFar), x);
    const float line = kScale * near;
    const float rest = fmaf(kScaleLow, near, fmaf(kScale, near, -line));
    const float cubic =
        fmaf(static_cast<float>(kGeluTanhCubic), near * near, 1.0f);
    const float u = line * cubic;
    const float low = fmaf(rest, cubic, fmaf(line, cubic, -u));
    const float e = expf(-u);
    // An infinity times 0 is no number, and what is near it must not become
    // one.
    const float fine = e < 3.4028e38f ? fmaf(-low, e, e) : e;
    // x / (1 + fine), rounded once: the sum has a second part too.
    const float d = 1.0f + fine;
    const float d_low = fine - (d - 1.0f);
    const float inverse = 0.25f * ReciprocalFlushed(0.25f * d);
    const float quotient = x * inverse;
    const float left = fmaf(-quotient, d_low, fmaf(-quotient, d, x));
    // NaN of infinities, 0 of zeros: their quotient stands, with its sign.
    return fabsf(left) > 0.0f ? fmaf(left, inverse, quotient) : quotient;
  } else {
    return MulGeluTanhSigmoid<T>(x, x);
  }
}

}  // namespace cuda
}  // namespace kernels
}  // namespace flaggems

#endif  // FLAGGEMS_KERNELS_CUDA_POINTWISE_MATH_CUH_
