#include <cstdint>

#include "flaggems/kernels/cuda/extremum.cuh"
#include "flaggems/kernels/cuda/op_amax_launch.h"
#include "flaggems/kernels/cuda/reduce_engine.cuh"

namespace flaggems {
namespace kernels {
namespace cuda {
namespace {

template <typename T>
struct Extremum : PlainOperator<T> {
  using In = T;
  using Order = ExtremumOrder<T>;
  using C = typename Order::C;
  using Acc = C;
  static constexpr bool kWide = Order::kFloat && sizeof(T) < 8;

  Order order;
  T* out;

  __device__ Acc Identity() const { return Read(Mask(Filler())); }
  __device__ In Filler() const { return order.Lowest(); }
  __device__ int4 Mask(int4 raw) const { return order.Flip(raw); }
  __device__ In Mask(In x) const { return order.Flip(x); }
  __device__ C Read(T x) const { return ToCompute(x); }
  template <int U, int V>
  __device__ __forceinline__ void Batch(Acc* acc, C (&x)[U * V], int, int64_t,
                                        int64_t, NoShift) const {
    *acc = Order::Larger(
        *acc, TreeReduce(x, [](C a, C b) { return Order::Larger(a, b); }));
  }
  __device__ Acc Combine(Acc a, Acc b) const { return Order::Larger(a, b); }
  __device__ void Finish(Acc acc, int64_t offset, NoShift) const {
    out[offset] = order.Flip(FromCompute<T>(acc));
  }
};

}  // namespace

cudaError_t LaunchExtremum(const ReducePlan& plan, Element type, bool minimum,
                           const void* in, void* out, void* scratch,
                           cudaStream_t stream) {
  // A bool is a byte that is 0 or 1.
  return ForNumbers(
      type == Element::kBool ? Element::kUInt8 : type, [&](auto tag) {
        using T = typename decltype(tag)::Type;
        const Extremum<T> op = {{}, {minimum}, static_cast<T*>(out)};
        return LaunchReduce(op, plan, static_cast<const T*>(in), scratch,
                            stream);
      });
}

}  // namespace cuda
}  // namespace kernels
}  // namespace flaggems
