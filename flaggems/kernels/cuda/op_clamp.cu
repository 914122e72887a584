// Clamping to numbers and to tensors.

#include <limits>

#include "flaggems/kernels/cuda/elementwise.cuh"
#include "flaggems/kernels/cuda/extreme.cuh"
#include "flaggems/kernels/cuda/op_clamp_launch.h"

namespace flaggems {
namespace kernels {
namespace cuda {

namespace {

template <typename T>
struct Clamp {
  using Out = T;
  using A = T;
  using B = None;
  using C = None;
  Compute<T> low;
  Compute<T> high;
  explicit Clamp(const Number* scalars) {
    using Limits = std::numeric_limits<Compute<T>>;
    constexpr bool kInfinite = Limits::has_infinity;
    low = scalars[2].integer & 1
              ? NumberAs<T>(scalars[0])
              : (kInfinite ? -Limits::infinity() : Limits::lowest());
    high = scalars[2].integer & 2
               ? NumberAs<T>(scalars[1])
               : (kInfinite ? Limits::infinity() : Limits::max());
  }
  __device__ Compute<T> operator()(Compute<T> x) const {
    return Smaller(Larger(x, low), high);
  }
};

template <typename T>
struct ClampTensor {
  using Out = T;
  using A = T;
  using B = T;
  using C = T;
  explicit ClampTensor(const Number*) {}
  __device__ Compute<T> operator()(Compute<T> x, Compute<T> low,
                                   Compute<T> high) const {
    return Smaller(Larger(x, low), high);
  }
};

}  // namespace

cudaError_t LaunchClamp(const ElementwiseCall& call, cudaStream_t stream) {
  return LaunchNumbers<Clamp>(call, stream);
}

cudaError_t LaunchClampTensor(const ElementwiseCall& call,
                              cudaStream_t stream) {
  return LaunchNumbers<ClampTensor>(call, stream);
}

}  // namespace cuda
}  // namespace kernels
}  // namespace flaggems
