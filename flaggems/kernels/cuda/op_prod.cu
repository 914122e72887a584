#include <cstdint>
#include <type_traits>

#include "flaggems/kernels/cuda/op_prod_launch.h"
#include "flaggems/kernels/cuda/reduce_engine.cuh"
#include "flaggems/kernels/cuda/reduce_store.cuh"

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
    StoreFloat<T>(out, widened, offset, acc);
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
    StoreInteger(out, out_type, offset, acc);
  }
};

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
