// Writing what a reduction accumulated, in the type of its result.

#ifndef FLAGGEMS_KERNELS_CUDA_REDUCE_STORE_CUH_
#define FLAGGEMS_KERNELS_CUDA_REDUCE_STORE_CUH_

#include <cstdint>
#include <type_traits>

#include "flaggems/kernels/cuda/element.h"

namespace flaggems {
namespace kernels {
namespace cuda {

// Integers and bool.
inline bool IsInteger(Element e) {
  return e != Element::kFloat32 && e != Element::kFloat16 &&
         e != Element::kBFloat16 && e != Element::kFloat64;
}

// To the element type; once, not through float32.
template <typename T>
__device__ __forceinline__ T RoundOnce(double x) {
  if constexpr (std::is_same<T, __half>::value) {
    return __double2half(x);
  } else if constexpr (std::is_same<T, __nv_bfloat16>::value) {
    return __double2bfloat16(x);
  } else {
    return static_cast<T>(x);
  }
}

// Into an array of T, or of float32 if `widened`.
template <typename T>
__device__ __forceinline__ void StoreFloat(void* out, bool widened,
                                           int64_t offset, double x) {
  if (widened) {
    static_cast<float*>(out)[offset] = static_cast<float>(x);
  } else {
    static_cast<T*>(out)[offset] = RoundOnce<T>(x);
  }
}

// Into an array of an integer type or bool; acc is a 64-bit integer and wraps.
template <typename Acc>
__device__ __forceinline__ void StoreInteger(void* out, Element type,
                                             int64_t offset, Acc acc) {
  switch (type) {
    case Element::kInt64:
      static_cast<int64_t*>(out)[offset] = static_cast<int64_t>(acc);
      break;
    case Element::kInt32:
      static_cast<int32_t*>(out)[offset] = static_cast<int32_t>(acc);
      break;
    case Element::kInt16:
      static_cast<int16_t*>(out)[offset] = static_cast<int16_t>(acc);
      break;
    case Element::kBool:
      static_cast<bool*>(out)[offset] = acc != 0;
      break;
    default:  // int8, uint8
      static_cast<uint8_t*>(out)[offset] = static_cast<uint8_t>(acc);
      break;
  }
}

}  // namespace cuda
}  // namespace kernels
}  // namespace flaggems

#endif  // FLAGGEMS_KERNELS_CUDA_REDUCE_STORE_CUH_
