// Larger and smaller of two numbers; NaN if one is NaN.

#ifndef FLAGGEMS_KERNELS_CUDA_EXTREME_CUH_
#define FLAGGEMS_KERNELS_CUDA_EXTREME_CUH_

#include <type_traits>

namespace flaggems {
namespace kernels {
namespace cuda {

template <typename V>
__device__ __forceinline__ V Larger(V a, V b) {
  if constexpr (std::is_same<V, float>::value) {
    float y;
    asm("max.NaN.f32 %0, %1, %2;" : "=f"(y) : "f"(a), "f"(b));
    return y;
  } else if constexpr (std::is_same<V, double>::value) {
    return a != a ? a : (b != b ? b : fmax(a, b));
  } else {
    return a < b ? b : a;
  }
}

template <typename V>
__device__ __forceinline__ V Smaller(V a, V b) {
  if constexpr (std::is_same<V, float>::value) {
    float y;
    asm("min.NaN.f32 %0, %1, %2;" : "=f"(y) : "f"(a), "f"(b));
    return y;
  } else if constexpr (std::is_same<V, double>::value) {
    return a != a ? a : (b != b ? b : fmin(a, b));
  } else {
    return b < a ? b : a;
  }
}

}  // namespace cuda
}  // namespace kernels
}  // namespace flaggems

#endif  // FLAGGEMS_KERNELS_CUDA_EXTREME_CUH_
