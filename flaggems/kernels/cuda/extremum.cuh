// Order of elements for maxima, minima and their positions: NaN is the largest
// either way.

#ifndef FLAGGEMS_KERNELS_CUDA_EXTREMUM_CUH_
#define FLAGGEMS_KERNELS_CUDA_EXTREMUM_CUH_

#include <cstdint>
#include <limits>
#include <type_traits>

#include "flaggems/kernels/cuda/numeric.cuh"

namespace flaggems {
namespace kernels {
namespace cuda {

// A minimum is the maximum of negated numbers (of complements, for integers),
// so one kernel serves both.
template <typename T>
struct ExtremumOrder {
  static constexpr bool kFloat = !std::is_integral<T>::value;
  using C = std::conditional_t<kFloat, Compute<T>,
                               std::conditional_t<sizeof(T) == 8, T, int32_t>>;
  using Limits = std::numeric_limits<std::conditional_t<kFloat, C, T>>;
  static constexpr C kInfinity = Limits::infinity();
  static constexpr auto kMost = Limits::max();
  static constexpr auto kLeast = Limits::lowest();

  bool minimum;

  // To and from the order in which the largest is looked for.
  __device__ __forceinline__ T Flip(T x) const {
    if constexpr (kFloat) {
      return minimum ? -x : x;
    } else {
      return minimum ? static_cast<T>(~x) : x;
    }
  }
  // The same of 16 bytes of elements, at 4 instructions.
  __device__ __forceinline__ int4 Flip(int4 raw) const {
    const uint32_t all = !kFloat          ? 0xffffffffu
                         : sizeof(T) == 2 ? 0x80008000u
                                          : 0x80000000u;
    const uint32_t odd = minimum ? all : 0u;
    const uint32_t even = kFloat && sizeof(T) == 8 ? 0u : odd;
    raw.x ^= even;
    raw.y ^= odd;
    raw.z ^= even;
    raw.w ^= odd;
    return raw;
  }
  // An element that is never the larger one.
  __device__ __forceinline__ T Lowest() const {
    if constexpr (kFloat) {
      return FromCompute<T>(minimum ? kInfinity : -kInfinity);
    } else {
      return minimum ? kMost : kLeast;
    }
  }
  static __device__ __forceinline__ bool IsNan(C x) {
    if constexpr (kFloat) return x != x;
    return false;
  }
  // The larger; NaN if one is.
  static __device__ __forceinline__ C Larger(C a, C b) {
    if constexpr (std::is_same<C, float>::value) {
      float larger;
      asm("max.NaN.f32 %0, %1, %2;" : "=f"(larger) : "f"(a), "f"(b));
      return larger;
    } else {
      return a > b || IsNan(a) ? a : b;
    }
  }
};

}  // namespace cuda
}  // namespace kernels
}  // namespace flaggems

#endif  // FLAGGEMS_KERNELS_CUDA_EXTREMUM_CUH_
