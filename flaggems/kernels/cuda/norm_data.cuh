// Arguments and small pieces of the norms' kernels.

#ifndef FLAGGEMS_KERNELS_CUDA_NORM_DATA_CUH_
#define FLAGGEMS_KERNELS_CUDA_NORM_DATA_CUH_

#include <cmath>
#include <cstdint>
#include <type_traits>

#include "flaggems/kernels/cuda/fast_divide.cuh"
#include "flaggems/kernels/cuda/numeric.cuh"

namespace flaggems {
namespace kernels {
namespace cuda {
namespace internal_norm {

enum class Kind { kLayer, kRms, kGroup };

// Whether rows that a kernel keeps are read by streaming loads (row_tile.cuh):
// up to 10 % faster in these two, slower in the others.
template <Kind kKind, typename T>
inline constexpr bool kStreamsRows = kKind == Kind::kLayer
                                         ? sizeof(T) == 4
                                         : kKind == Kind::kRms &&
                                               sizeof(T) == 2;

// The weights' channels of a group norm: `channel_size` elements of a row have
// one gamma and one beta.
struct Channels {
  int64_t channel_size = 1;
  int64_t channels = 1;  // of a row
  int64_t groups = 1;    // rows of a sample
  FastDivide fast;       // by channel_size, for rows of less than 2^31
  bool is_fast = true;
  bool whole_vectors = false;  // no vector of an aligned row has two channels
};

template <typename T, typename S>
struct NormData {
  const T* in;
  const T* gamma;  // or null
  const T* beta;   // or null
  T* out;
  S* mean;  // null for kRms
  S* rstd;
  double eps;
  double inverse_n;  // 1 / (elements of a row)
  Channels channels;
};

// What a row of T is summed in. The mean of a float32 row is near 0 often, and
// a sum in float32 would leave it few digits; 16 bits are few anyway.
template <typename T>
using SumType = std::conditional_t<(sizeof(T) >= 4), double, float>;

// The sum of x in A.
template <typename A, typename C, int kItems>
__device__ __forceinline__ A SumOf(const C (&x)[kItems]) {
  // Two chains of doubles take the registers of four of floats.
  constexpr int kChains = sizeof(A) == 8 || kItems < 4 ? 2 : 4;
  static_assert(kItems >= kChains, "a vector has two elements or more");
  A sums[kChains];
#pragma unroll
  for (int i = 0; i < kItems; ++i) {
    sums[i % kChains] =
        i < kChains ? static_cast<A>(x[i]) : sums[i % kChains] + A{x[i]};
  }
  if constexpr (kChains == 2) return sums[0] + sums[1];
  return (sums[0] + sums[1]) + (sums[kChains - 2] + sums[kChains - 1]);
}

// The sum of the squares of x in A.
template <typename A, typename C, int kItems>
__device__ __forceinline__ A SumOfSquares(const C (&x)[kItems]) {
  constexpr int kChains = sizeof(A) == 8 || kItems < 4 ? 2 : 4;
  A sums[kChains] = {};
#pragma unroll
  for (int i = 0; i < kItems; ++i) {
    sums[i % kChains] = fma(A{x[i]}, A{x[i]}, sums[i % kChains]);
  }
  return SumOf<A>(sums);
}

// The mean as it is written: NaN of a row with an infinity, as aten's on the
// CPU. (What a running mean makes of one depends on the order.)
template <typename C>
__device__ __forceinline__ C WrittenMean(C mean) {
  return isfinite(mean) ? mean : static_cast<C>(NAN);
}

// What rounding `exact` to `rounded` took off; 0 of an infinity.
__device__ __forceinline__ float RestOf(double exact, float rounded) {
  const float rest = static_cast<float>(exact - double{rounded});
  return isfinite(rest) ? rest : 0.0f;
}

// 1 / sqrt(x), rounded once. For float: a step of Newton's in double from the
// result in float, whose 0, infinity and NaN stay. (That starts with a division
// and not with rsqrtf: the division's rare path is a call, which keeps the
// compiler from unpacking elements and loading weights before it, to hold them
// in registers.)
template <typename C>
__device__ __forceinline__ C InverseSqrt(double x) {
  if constexpr (sizeof(C) == 8) {
    return 1 / sqrt(x);
  } else {
    const float y = 1.0f / sqrtf(static_cast<float>(x));
    const double wide = y;
    const double rest = fma(-x * wide, wide, 1.0);
    const float better = static_cast<float>(fma(0.5 * wide, rest, wide));
    return y > 0.0f && y < INFINITY ? better : y;
  }
}

}  // namespace internal_norm
}  // namespace cuda
}  // namespace kernels
}  // namespace flaggems

#endif  // FLAGGEMS_KERNELS_CUDA_NORM_DATA_CUH_
