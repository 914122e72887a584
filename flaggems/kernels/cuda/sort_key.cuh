// Elements as unsigned integers of the same width whose order is the elements'
// own, NaN last and the two zeros equal: sorting and selection then need a
// kernel per width, not per type.

#ifndef FLAGGEMS_KERNELS_CUDA_SORT_KEY_CUH_
#define FLAGGEMS_KERNELS_CUDA_SORT_KEY_CUH_

#include <cstdint>

#include "flaggems/kernels/cuda/element.h"

namespace flaggems {
namespace kernels {
namespace cuda {

template <typename U>
struct SortKey {
  static constexpr U kSign = static_cast<U>(U{1} << (8 * sizeof(U) - 1));

  U infinity;  // 0: integers
  U flip;      // for integers: kSign if they have a sign
  U invert;    // all ones: the largest first

  __host__ __device__ __forceinline__ U operator()(U bits) const {
    U key;
    if (infinity != 0) {
      const U magnitude = bits & static_cast<U>(~kSign);
      key = magnitude > infinity  ? static_cast<U>(~U{0})
            : magnitude == 0      ? kSign
            : (bits & kSign) != 0 ? static_cast<U>(~bits)
                                  : static_cast<U>(bits | kSign);
    } else {
      key = bits ^ flip;
    }
    return key ^ invert;
  }

  // The bits of a key, but for zeros (the positive one) and NaN (any).
  __host__ __device__ __forceinline__ U Bits(U k) const {
    const U key = k ^ invert;
    if (infinity == 0) return key ^ flip;
    return (key & kSign) != 0 ? static_cast<U>(key ^ kSign)
                              : static_cast<U>(~key);
  }
  // Whether several bit patterns have this key.
  __host__ __device__ __forceinline__ bool Ambiguous(U k) const {
    const U key = k ^ invert;
    return infinity != 0 && (key == kSign || key == static_cast<U>(~U{0}));
  }
};

template <typename U>
SortKey<U> MakeSortKey(Element type, bool descending) {
  SortKey<U> key = {0, 0, descending ? static_cast<U>(~U{0}) : U{0}};
  switch (type) {
    case Element::kFloat32:
      key.infinity = static_cast<U>(0x7f800000u);
      break;
    case Element::kFloat16:
      key.infinity = static_cast<U>(0x7c00);
      break;
    case Element::kBFloat16:
      key.infinity = static_cast<U>(0x7f80);
      break;
    case Element::kFloat64:
      key.infinity = static_cast<U>(0x7ff0000000000000ull);
      break;
    case Element::kUInt8:
    case Element::kBool:
      break;
    default:
      key.flip = SortKey<U>::kSign;
      break;
  }
  return key;
}

// f(TypeTag<U>()) with the unsigned integer of the type's width.
template <typename F>
cudaError_t ForSortWidth(Element type, F f) {
  switch (type) {
    case Element::kFloat32:
    case Element::kInt32:
      return f(TypeTag<uint32_t>());
    case Element::kFloat64:
    case Element::kInt64:
      return f(TypeTag<uint64_t>());
    case Element::kFloat16:
    case Element::kBFloat16:
    case Element::kInt16:
      return f(TypeTag<uint16_t>());
    default:
      return f(TypeTag<uint8_t>());
  }
}

}  // namespace cuda
}  // namespace kernels
}  // namespace flaggems

#endif  // FLAGGEMS_KERNELS_CUDA_SORT_KEY_CUH_
