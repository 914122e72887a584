// Element types of the CUDA kernels, and calling a template for one of them.
//
// No torch header: .cu files and the launch headers beside them include this.

#ifndef FLAGGEMS_KERNELS_CUDA_ELEMENT_H_
#define FLAGGEMS_KERNELS_CUDA_ELEMENT_H_

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_runtime_api.h>

#include <cstdint>

namespace flaggems {
namespace kernels {
namespace cuda {

enum class Element : int8_t {
  kFloat32,
  kFloat16,
  kBFloat16,
  kFloat64,
  kInt64,
  kInt32,
  kInt16,
  kInt8,
  kUInt8,
  kBool,
};

// What a value of type T is computed in: float for 16-bit floating types, T
// itself for the others.
template <typename T>
struct ComputeOf {
  using Type = T;
};
template <>
struct ComputeOf<__half> {
  using Type = float;
};
template <>
struct ComputeOf<__nv_bfloat16> {
  using Type = float;
};
template <typename T>
using Compute = typename ComputeOf<T>::Type;

// Passed to a generic lambda in place of a type: typename decltype(tag)::Type.
template <typename T>
struct TypeTag {
  using Type = T;
};

// f(TypeTag<T>()) with the T of `element`; a type that the set does not hold is
// cudaErrorNotSupported. f returns cudaError_t.
template <typename F>
cudaError_t ForFloats(Element element, F f) {
  switch (element) {
    case Element::kFloat32:
      return f(TypeTag<float>());
    case Element::kFloat16:
      return f(TypeTag<__half>());
    case Element::kBFloat16:
      return f(TypeTag<__nv_bfloat16>());
    default:
      return cudaErrorNotSupported;
  }
}

// Those and double.
template <typename F>
cudaError_t ForFloatsAndDouble(Element element, F f) {
  if (element == Element::kFloat64) return f(TypeTag<double>());
  return ForFloats(element, f);
}

template <typename F>
cudaError_t ForIntegers(Element element, F f) {
  switch (element) {
    case Element::kInt64:
      return f(TypeTag<int64_t>());
    case Element::kInt32:
      return f(TypeTag<int32_t>());
    case Element::kInt16:
      return f(TypeTag<int16_t>());
    case Element::kInt8:
      return f(TypeTag<int8_t>());
    case Element::kUInt8:
      return f(TypeTag<uint8_t>());
    default:
      return cudaErrorNotSupported;
  }
}

// Everything but bool.
template <typename F>
cudaError_t ForNumbers(Element element, F f) {
  if (element == Element::kBool) return cudaErrorNotSupported;
  const cudaError_t error = ForFloatsAndDouble(element, f);
  return error == cudaErrorNotSupported ? ForIntegers(element, f) : error;
}

// A type of `bytes` (1, 2, 4, 8 or 16) bytes: for kernels that move
// elements and compute nothing.
template <typename F>
cudaError_t ForBytes(int bytes, F f) {
  switch (bytes) {
    case 1:
      return f(TypeTag<uint8_t>());
    case 2:
      return f(TypeTag<uint16_t>());
    case 4:
      return f(TypeTag<uint32_t>());
    case 8:
      return f(TypeTag<uint64_t>());
    case 16:
      return f(TypeTag<ulonglong2>());
    default:
      return cudaErrorNotSupported;
  }
}

}  // namespace cuda
}  // namespace kernels
}  // namespace flaggems

#endif  // FLAGGEMS_KERNELS_CUDA_ELEMENT_H_
