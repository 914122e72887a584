#include <cstdint>
#include <type_traits>

#include "flaggems/kernels/cuda/op_sum_launch.h"
#include "flaggems/kernels/cuda/reduce_engine.cuh"
#include "flaggems/kernels/cuda/reduce_store.cuh"

namespace flaggems {
namespace kernels {
namespace cuda {
namespace {

// A batch adds up pairwise in float32, batches in double: the error is that of
// the tree, a few units, whatever the number of terms.
template <typename T>
struct FloatSum : PlainOperator<T> {
  using In = T;
  using C = Compute<T>;
  using Acc = double;

  void* out;
  bool widened;  // out is float32 and T is not
  double divisor;

  __device__ Acc Identity() const { return 0; }
  __device__ In Filler() const { return static_cast<In>(0); }
  __device__ C Read(T x) const { return ToCompute(x); }
  template <int U, int V>
  __device__ __forceinline__ void Batch(Acc* acc, C (&x)[U * V], int, int64_t,
                                        int64_t, NoShift) const {
    *acc += TreeReduce(x, [](C a, C b) { return a + b; });
  }
  __device__ Acc Combine(Acc a, Acc b) const { return a + b; }
  __device__ void Finish(Acc acc, int64_t offset, NoShift) const {
    if (divisor != 1) acc /= divisor;
    StoreFloat<T>(out, widened, offset, acc);
  }
};

// Integers wrap; types of up to 16 bits add up a batch in 32.
template <typename T>
struct IntegerSum : PlainOperator<T> {
  using In = T;
  using C = std::conditional_t<sizeof(T) <= 2, int32_t, int64_t>;
  using Acc = int64_t;

  void* out;
  Element out_type;

  __device__ Acc Identity() const { return 0; }
  __device__ In Filler() const { return static_cast<In>(0); }
  __device__ C Read(T x) const { return static_cast<C>(x); }
  template <int U, int V>
  __device__ __forceinline__ void Batch(Acc* acc, C (&x)[U * V], int, int64_t,
                                        int64_t, NoShift) const {
    *acc += TreeReduce(x, [](C a, C b) { return a + b; });
  }
  __device__ Acc Combine(Acc a, Acc b) const { return a + b; }
  __device__ void Finish(Acc acc, int64_t offset, NoShift) const {
    StoreInteger(out, out_type, offset, acc);
  }
};

}  // namespace

cudaError_t LaunchSum(const ReducePlan& plan, Element in_type, Element out_type,
                      double divisor, const void* in, void* out, void* scratch,
                      cudaStream_t stream) {
  if (IsInteger(in_type)) {
    if (!IsInteger(out_type)) return cudaErrorNotSupported;
    // A bool is a byte that is 0 or 1.
    return ForIntegers(
        in_type == Element::kBool ? Element::kUInt8 : in_type, [&](auto tag) {
          using T = typename decltype(tag)::Type;
          const IntegerSum<T> op = {{}, out, out_type};
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
    const FloatSum<T> op = {{}, out, widened, divisor};
    return LaunchReduce(op, plan, static_cast<const T*>(in), scratch, stream);
  });
}

}  // namespace cuda
}  // namespace kernels
}  // namespace flaggems
