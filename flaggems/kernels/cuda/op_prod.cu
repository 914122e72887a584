#include <cstdint>
#include <type_traits>

#include "flaggems/kernels/cuda/op_prod_launch.h"
#include "flaggems/kernels/cuda/reduce_engine.cuh"

namespace flaggems {
namespace kernels {
namespace cuda {
namespace {

// In double: half the error of the result is its rounding, and products that
// leave the range of float32 on the way come back.
template <typename T>
struct FloatProd : PlainOperator<T> {
  using In = T;
  static constexpr bool kWide = sizeof(T) < 8;
  using C = double;
  using Acc = double;

  void* out;
  bool widened;  // out is float32 and T is not

  __device__ Acc Identity() const { return 1; }
  __device__ In Filler() const { return static_cast<In>(1); }
  __device__ C Read(T x) const { return ToCompute(x); }
  template <int U, int V>
  __device__ __forceinline__ void Batch(Acc* acc, C (&x)[U * V], int, int64_t,
                                        int64_t, NoShift) const {
    *acc *= TreeReduce(x, [](C a, C b) { return a * b; });
  }
  __device__ Acc Combine(Acc a, Acc b) const { return a * b; }
  __device__ void Finish(Acc acc, int64_t offset, NoShift) const {
    if (widened) {
      static_cast<float*>(out)[offset] = static_cast<float>(acc);
    } else if constexpr (sizeof(T) == 2) {
      // Once, not through float32.
      if constexpr (std::is_same<T, __half>::value) {
        static_cast<T*>(out)[offset] = __double2half(acc);
      } else {
        static_cast<T*>(out)[offset] = __double2bfloat16(acc);
      }
    } else {
      static_cast<T*>(out)[offset] = static_cast<T>(acc);
    }
  }
};

// Integers wrap, as their products in 64 bits do.
template <typename T>
struct IntegerProd : PlainOperator<T> {
  using In = T;
  static constexpr bool kWide = false;
  using C = uint64_t;
  using Acc = uint64_t;

  void* out;
  Element out_type;

  __device__ Acc Identity() const { return 1; }
  __device__ In Filler() const { return static_cast<In>(1); }
  __device__ C Read(T x) const { return static_cast<C>(x); }
  template <int U, int V>
  __device__ __forceinline__ void Batch(Acc* acc, C (&x)[U * V], int, int64_t,
                                        int64_t, NoShift) const {
    *acc *= TreeReduce(x, [](C a, C b) { return a * b; });
  }
  __device__ Acc Combine(Acc a, Acc b) const { return a * b; }
  __device__ void Finish(Acc acc, int64_t offset, NoShift) const {
    switch (out_type) {
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
};

bool IsInteger(Element e) {
  return e != Element::kFloat32 && e != Element::kFloat16 &&
         e != Element::kBFloat16 && e != Element::kFloat64;
}

}  // namespace

cudaError_t LaunchProd(const ReducePlan& plan, Element in_type,
                       Element out_type, const void* in, void* out,
                       void* scratch, cudaStream_t stream) {
  if (IsInteger(in_type)) {
    if (!IsInteger(out_type)) return cudaErrorNotSupported;
    // A bool is a byte that is 0 or 1.
    return ForIntegers(
        in_type == Element::kBool ? Element::kUInt8 : in_type, [&](auto tag) {
          using T = typename decltype(tag)::Type;
          const IntegerProd<T> op = {{}, out, out_type};
          return LaunchReduce(op, plan, static_cast<const T*>(in), scratch,
                              stream);
        });
  }
  return ForFloatsAndDouble(in_type, [&](auto tag) {
    using T = typename decltype(tag)::Type;
    const bool widened = out_type != in_type;
    if (widened && !(out_type == Element::kFloat32 && sizeof(T) == 2)) {
      return cudaErrorNotSupported;
    }
    const FloatProd<T> op = {{}, out, widened};
    return LaunchReduce(op, plan, static_cast<const T*>(in), scratch, stream);
  });
}

}  // namespace cuda
}  // namespace kernels
}  // namespace flaggems
