#include "flaggems/kernels/cpu/vec_math.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "flaggems/kernels/cpu/vec_loops.h"

#if FLAGGEMS_HAS_AVX2_CODE
#include <immintrin.h>
#endif

namespace flaggems {
namespace kernels {
namespace cpu {
namespace {

// Elements a pass: small enough for two arrays of double in half an L1 cache.
constexpr int64_t kBlock = 512;

#if FLAGGEMS_HAS_AVX2_CODE

// sleef.h declares the 256-bit functions only under -mavx2.
extern "C" {
FLAGGEMS_TARGET_AVX2 __m256 Sleef_expf8_u10(__m256);
FLAGGEMS_TARGET_AVX2 __m256 Sleef_logf8_u10(__m256);
FLAGGEMS_TARGET_AVX2 __m256 Sleef_tanhf8_u10(__m256);
FLAGGEMS_TARGET_AVX2 __m256 Sleef_erfcf8_u15(__m256);
FLAGGEMS_TARGET_AVX2 __m256 Sleef_powf8_u10(__m256, __m256);
FLAGGEMS_TARGET_AVX2 __m256d Sleef_expd4_u10(__m256d);
FLAGGEMS_TARGET_AVX2 __m256d Sleef_logd4_u10(__m256d);
FLAGGEMS_TARGET_AVX2 __m256d Sleef_tanhd4_u10(__m256d);
FLAGGEMS_TARGET_AVX2 __m256d Sleef_erfcd4_u15(__m256d);
FLAGGEMS_TARGET_AVX2 __m256d Sleef_powd4_u10(__m256d, __m256d);
}

using Function8 = __m256 (*)(__m256);
using Function4 = __m256d (*)(__m256d);

template <Function8 kFunction>
FLAGGEMS_TARGET_AVX2 void MapAvx2(const float* x, float* y, int64_t n) {
  int64_t i = 0;
  for (; i + 8 <= n; i += 8) {
    _mm256_storeu_ps(y + i, kFunction(_mm256_loadu_ps(x + i)));
  }
  if (i < n) {
    alignas(32) float tail[8] = {1, 1, 1, 1, 1, 1, 1, 1};
    std::memcpy(tail, x + i, (n - i) * sizeof(float));
    _mm256_store_ps(tail, kFunction(_mm256_load_ps(tail)));
    std::memcpy(y + i, tail, (n - i) * sizeof(float));
  }
}

template <Function4 kFunction>
FLAGGEMS_TARGET_AVX2 void MapAvx2(const double* x, double* y, int64_t n) {
  int64_t i = 0;
  for (; i + 4 <= n; i += 4) {
    _mm256_storeu_pd(y + i, kFunction(_mm256_loadu_pd(x + i)));
  }
  if (i < n) {
    alignas(32) double tail[4] = {1, 1, 1, 1};
    std::memcpy(tail, x + i, (n - i) * sizeof(double));
    _mm256_store_pd(tail, kFunction(_mm256_load_pd(tail)));
    std::memcpy(y + i, tail, (n - i) * sizeof(double));
  }
}

FLAGGEMS_TARGET_AVX2 void PowAvx2(const float* x, float exponent, float* y,
                                  int64_t n) {
  const __m256 e = _mm256_set1_ps(exponent);
  int64_t i = 0;
  for (; i + 8 <= n; i += 8) {
    _mm256_storeu_ps(y + i, Sleef_powf8_u10(_mm256_loadu_ps(x + i), e));
  }
  if (i < n) {
    alignas(32) float tail[8] = {1, 1, 1, 1, 1, 1, 1, 1};
    std::memcpy(tail, x + i, (n - i) * sizeof(float));
    _mm256_store_ps(tail, Sleef_powf8_u10(_mm256_load_ps(tail), e));
    std::memcpy(y + i, tail, (n - i) * sizeof(float));
  }
}

FLAGGEMS_TARGET_AVX2 void PowAvx2(const double* x, double exponent, double* y,
                                  int64_t n) {
  const __m256d e = _mm256_set1_pd(exponent);
  int64_t i = 0;
  for (; i + 4 <= n; i += 4) {
    _mm256_storeu_pd(y + i, Sleef_powd4_u10(_mm256_loadu_pd(x + i), e));
  }
  if (i < n) {
    alignas(32) double tail[4] = {1, 1, 1, 1};
    std::memcpy(tail, x + i, (n - i) * sizeof(double));
    _mm256_store_pd(tail, Sleef_powd4_u10(_mm256_load_pd(tail), e));
    std::memcpy(y + i, tail, (n - i) * sizeof(double));
  }
}

FLAGGEMS_TARGET_AVX2 int64_t WidenHalfAvx2(const c10::Half* x, float* y,
                                           int64_t n) {
  int64_t i = 0;
  for (; i + 8 <= n; i += 8) {
    const __m128i h = _mm_loadu_si128(reinterpret_cast<const __m128i*>(x + i));
    _mm256_storeu_ps(y + i, _mm256_cvtph_ps(h));
  }
  return i;
}

FLAGGEMS_TARGET_AVX2 int64_t NarrowHalfAvx2(const float* x, c10::Half* y,
                                            int64_t n) {
  int64_t i = 0;
  for (; i + 8 <= n; i += 8) {
    const __m128i h = _mm256_cvtps_ph(
        _mm256_loadu_ps(x + i), _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
    _mm_storeu_si128(reinterpret_cast<__m128i*>(y + i), h);
  }
  return i;
}

FLAGGEMS_TARGET_AVX2 int64_t WidenBFloat16Avx2(const c10::BFloat16* x, float* y,
                                               int64_t n) {
  int64_t i = 0;
  for (; i + 8 <= n; i += 8) {
    const __m128i h = _mm_loadu_si128(reinterpret_cast<const __m128i*>(x + i));
    _mm256_storeu_ps(y + i, _mm256_castsi256_ps(_mm256_slli_epi32(
                                _mm256_cvtepu16_epi32(h), 16)));
  }
  return i;
}

FLAGGEMS_TARGET_AVX2 int64_t NarrowBFloat16Avx2(const float* x,
                                                c10::BFloat16* y, int64_t n) {
  const __m256i one = _mm256_set1_epi32(1);
  const __m256i half = _mm256_set1_epi32(0x7FFF);
  const __m256i nan = _mm256_set1_epi32(0x7FC0);
  int64_t i = 0;
  for (; i + 8 <= n; i += 8) {
    const __m256 v = _mm256_loadu_ps(x + i);
    const __m256i bits = _mm256_castps_si256(v);
    // Round to nearest even: add half an ulp, minus one if the last kept bit
    // is 0.
    const __m256i odd = _mm256_and_si256(_mm256_srli_epi32(bits, 16), one);
    __m256i r = _mm256_srli_epi32(
        _mm256_add_epi32(bits, _mm256_add_epi32(half, odd)), 16);
    r = _mm256_blendv_epi8(
        r, nan, _mm256_castps_si256(_mm256_cmp_ps(v, v, _CMP_UNORD_Q)));
    const __m128i packed = _mm_packus_epi32(_mm256_castsi256_si128(r),
                                            _mm256_extracti128_si256(r, 1));
    _mm_storeu_si128(reinterpret_cast<__m128i*>(y + i), packed);
  }
  return i;
}

#define FLAGGEMS_MAP(vector_function, scalar_function) \
  if (HasAvx2()) {                                     \
    MapAvx2<vector_function>(x, y, n);                 \
    return;                                            \
  }                                                    \
  for (int64_t i = 0; i < n; ++i) y[i] = scalar_function(x[i])

#else

#define FLAGGEMS_MAP(vector_function, scalar_function) \
  for (int64_t i = 0; i < n; ++i) y[i] = scalar_function(x[i])

#endif  // FLAGGEMS_HAS_AVX2_CODE

// 256 bits of T; two 128-bit registers without AVX2.
template <typename T>
struct Vector;
template <>
struct Vector<float> {
  typedef float Type __attribute__((vector_size(32)));
  typedef float Unaligned
      __attribute__((vector_size(32), aligned(4), may_alias));
};
template <>
struct Vector<double> {
  typedef double Type __attribute__((vector_size(32)));
  typedef double Unaligned
      __attribute__((vector_size(32), aligned(8), may_alias));
};

constexpr int64_t kSumBlock = 512;

// What is added up: x, x - center or (x - center)^2.
enum class Term { kValue, kDeviation, kSquare };

// One term, of scalars and of vectors. A macro: a function that returns
// vectors has no stable ABI without AVX.
#define FLAGGEMS_TERM(v)                                     \
  (kTerm == Term::kSquare      ? ((v)-center) * ((v)-center) \
   : kTerm == Term::kDeviation ? (v)-center                  \
                               : (v))

// Sum of the terms of n <= kSumBlock elements.
template <Term kTerm, typename T>
__attribute__((always_inline)) inline T SumBlock(const T* x, int64_t n,
                                                 T center) {
  using V = typename Vector<T>::Type;
  using U = typename Vector<T>::Unaligned;
  constexpr int64_t kLanes = 32 / sizeof(T);
  V a = {}, b = {}, c = {}, d = {};
  int64_t i = 0;
  for (; i + 4 * kLanes <= n; i += 4 * kLanes) {
    const U* p = reinterpret_cast<const U*>(x + i);
    a += FLAGGEMS_TERM(static_cast<V>(p[0]));
    b += FLAGGEMS_TERM(static_cast<V>(p[1]));
    c += FLAGGEMS_TERM(static_cast<V>(p[2]));
    d += FLAGGEMS_TERM(static_cast<V>(p[3]));
  }
  for (; i + kLanes <= n; i += kLanes) {
    a += FLAGGEMS_TERM(static_cast<V>(*reinterpret_cast<const U*>(x + i)));
  }
  a = (a + b) + (c + d);
  T tail = 0;
  for (; i < n; ++i) tail += FLAGGEMS_TERM(x[i]);
  T lanes[kLanes];
  std::memcpy(lanes, &a, sizeof(a));
  for (int64_t width = kLanes / 2; width > 0; width /= 2) {
    for (int64_t j = 0; j < width; ++j) lanes[j] += lanes[j + width];
  }
  return lanes[0] + tail;
}

// Adds terms in the order of a binary tree: error log2(n), memory log2(n).
class PairwiseSum {
 public:
  void Add(double v) {
    int i = 0;
    for (uint64_t bits = count_++; bits & 1; bits >>= 1) v = level_[i++] + v;
    level_[i] = v;
  }
  double Total() const {
    double sum = 0;
    int i = 0;
    for (uint64_t bits = count_; bits != 0; bits >>= 1, ++i) {
      if (bits & 1) sum += level_[i];
    }
    return sum;
  }

 private:
  uint64_t count_ = 0;
  double level_[64];
};

template <Term kTerm, typename T>
__attribute__((always_inline)) inline double Sum(const T* x, int64_t n,
                                                 T center) {
  if (n <= kSumBlock) return SumBlock<kTerm>(x, n, center);
  if constexpr (sizeof(T) == sizeof(float)) {
    double sum = 0;
    for (int64_t i = 0; i < n; i += kSumBlock) {
      sum += static_cast<double>(
          SumBlock<kTerm>(x + i, std::min(kSumBlock, n - i), center));
    }
    return sum;
  } else {
    PairwiseSum sum;
    for (int64_t i = 0; i < n; i += kSumBlock) {
      sum.Add(SumBlock<kTerm>(x + i, std::min(kSumBlock, n - i), center));
    }
    return sum.Total();
  }
}

template <typename T>
__attribute__((always_inline)) inline T Max(const T* x, int64_t n) {
  using V = typename Vector<T>::Type;
  using U = typename Vector<T>::Unaligned;
  constexpr int64_t kLanes = 32 / sizeof(T);
  T max = x[0];
  int64_t i = 0;
  // A NaN is taken, and then never replaced: no comparison with it is true.
  if (n >= 4 * kLanes) {
    const U* p = reinterpret_cast<const U*>(x);
    V m[4] = {p[0], p[1], p[2], p[3]};
    for (i = 4 * kLanes; i + 4 * kLanes <= n; i += 4 * kLanes) {
      p = reinterpret_cast<const U*>(x + i);
      for (int j = 0; j < 4; ++j) {
        const V v = p[j];
        m[j] = (v > m[j]) | (v != v) ? v : m[j];
      }
    }
    T lanes[4 * kLanes];
    std::memcpy(lanes, m, sizeof(m));
    max = lanes[0];
    for (const T v : lanes) max = v > max || v != v ? v : max;
  }
  for (; i < n; ++i) max = x[i] > max || x[i] != x[i] ? x[i] : max;
  return max;
}

template <typename T>
void Sigmoid(const T* x, T* y, int64_t n) {
  T e[kBlock];
  for (int64_t start = 0; start < n; start += kBlock) {
    const int64_t m = std::min(kBlock, n - start);
    const T* const px = x + start;
    T* const py = y + start;
    T* const pe = e;
    SimdFor(m, [=](int64_t i) { pe[i] = -std::fabs(px[i]); });
    ExpArray(e, e, m);
    SimdFor(m, [=](int64_t i) {
      py[i] = (px[i] < 0 ? pe[i] : T{1}) / (T{1} + pe[i]);
    });
  }
}

template <typename T>
void MulSigmoid(const T* x, const T* z, T* y, int64_t n) {
  T e[kBlock];
  for (int64_t start = 0; start < n; start += kBlock) {
    const int64_t m = std::min(kBlock, n - start);
    const T* const px = x + start;
    const T* const pz = z + start;
    T* const py = y + start;
    T* const pe = e;
    // exp(-|z|) as the square of exp(-|z| / 2): x times the first factor is
    // formed before the product can become subnormal.
    SimdFor(m, [=](int64_t i) { pe[i] = T{-0.5} * std::fabs(pz[i]); });
    ExpArray(e, e, m);
    SimdFor(m, [=](int64_t i) {
      const T h = pe[i];
      const T v = px[i];
      const T numerator = pz[i] < 0 ? v * h * h : v;
      py[i] = numerator / (T{1} + h * h);
    });
  }
}

}  // namespace

void Widen(const c10::BFloat16* x, float* y, int64_t n) {
  int64_t i = 0;
#if FLAGGEMS_HAS_AVX2_CODE
  if (HasAvx2()) i = WidenBFloat16Avx2(x, y, n);
#endif
  for (; i < n; ++i) y[i] = x[i];
}

void Widen(const c10::Half* x, float* y, int64_t n) {
  int64_t i = 0;
#if FLAGGEMS_HAS_AVX2_CODE
  if (HasAvx2()) i = WidenHalfAvx2(x, y, n);
#endif
  for (; i < n; ++i) y[i] = x[i];
}

void Narrow(const float* x, c10::BFloat16* y, int64_t n) {
  int64_t i = 0;
#if FLAGGEMS_HAS_AVX2_CODE
  if (HasAvx2()) i = NarrowBFloat16Avx2(x, y, n);
#endif
  for (; i < n; ++i) y[i] = x[i];
}

void Narrow(const float* x, c10::Half* y, int64_t n) {
  int64_t i = 0;
#if FLAGGEMS_HAS_AVX2_CODE
  if (HasAvx2()) i = NarrowHalfAvx2(x, y, n);
#endif
  for (; i < n; ++i) y[i] = x[i];
}

void ExpArray(const float* x, float* y, int64_t n) {
  FLAGGEMS_MAP(Sleef_expf8_u10, std::exp);
}
void ExpArray(const double* x, double* y, int64_t n) {
  FLAGGEMS_MAP(Sleef_expd4_u10, std::exp);
}
void LogArray(const float* x, float* y, int64_t n) {
  FLAGGEMS_MAP(Sleef_logf8_u10, std::log);
}
void LogArray(const double* x, double* y, int64_t n) {
  FLAGGEMS_MAP(Sleef_logd4_u10, std::log);
}
void TanhArray(const float* x, float* y, int64_t n) {
  FLAGGEMS_MAP(Sleef_tanhf8_u10, std::tanh);
}
void TanhArray(const double* x, double* y, int64_t n) {
  FLAGGEMS_MAP(Sleef_tanhd4_u10, std::tanh);
}
void ErfcArray(const float* x, float* y, int64_t n) {
  FLAGGEMS_MAP(Sleef_erfcf8_u15, std::erfc);
}
void ErfcArray(const double* x, double* y, int64_t n) {
  FLAGGEMS_MAP(Sleef_erfcd4_u15, std::erfc);
}

void PowArray(const float* x, float exponent, float* y, int64_t n) {
#if FLAGGEMS_HAS_AVX2_CODE
  if (HasAvx2()) {
    PowAvx2(x, exponent, y, n);
    return;
  }
#endif
  for (int64_t i = 0; i < n; ++i) y[i] = std::pow(x[i], exponent);
}
void PowArray(const double* x, double exponent, double* y, int64_t n) {
#if FLAGGEMS_HAS_AVX2_CODE
  if (HasAvx2()) {
    PowAvx2(x, exponent, y, n);
    return;
  }
#endif
  for (int64_t i = 0; i < n; ++i) y[i] = std::pow(x[i], exponent);
}

double SumArray(const float* x, int64_t n) {
  const float zero = 0;
  double sum;
  double* const result = &sum;
  Simd([=] { *result = Sum<Term::kValue>(x, n, zero); });
  return sum;
}
double SumArray(const double* x, int64_t n) {
  const double zero = 0;
  double sum;
  double* const result = &sum;
  Simd([=] { *result = Sum<Term::kValue>(x, n, zero); });
  return sum;
}
double SumAround(const float* x, float center, int64_t n) {
  double sum;
  double* const result = &sum;
  Simd([=] { *result = Sum<Term::kDeviation>(x, n, center); });
  return sum;
}
double SumAround(const double* x, double center, int64_t n) {
  double sum;
  double* const result = &sum;
  Simd([=] { *result = Sum<Term::kDeviation>(x, n, center); });
  return sum;
}
double SumSquaresAround(const float* x, float center, int64_t n) {
  double sum;
  double* const result = &sum;
  Simd([=] { *result = Sum<Term::kSquare>(x, n, center); });
  return sum;
}
double SumSquaresAround(const double* x, double center, int64_t n) {
  double sum;
  double* const result = &sum;
  Simd([=] { *result = Sum<Term::kSquare>(x, n, center); });
  return sum;
}
float MaxArray(const float* x, int64_t n) {
  float max;
  float* const result = &max;
  Simd([=] { *result = Max(x, n); });
  return max;
}
double MaxArray(const double* x, int64_t n) {
  double max;
  double* const result = &max;
  Simd([=] { *result = Max(x, n); });
  return max;
}

void SigmoidArray(const float* x, float* y, int64_t n) { Sigmoid(x, y, n); }
void SigmoidArray(const double* x, double* y, int64_t n) { Sigmoid(x, y, n); }
void MulSigmoidArray(const float* x, const float* z, float* y, int64_t n) {
  MulSigmoid(x, z, y, n);
}
void MulSigmoidArray(const double* x, const double* z, double* y, int64_t n) {
  MulSigmoid(x, z, y, n);
}

}  // namespace cpu
}  // namespace kernels
}  // namespace flaggems
