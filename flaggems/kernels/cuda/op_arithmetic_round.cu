// Rounded quotients.

#include "flaggems/kernels/cuda/elementwise.cuh"
#include "flaggems/kernels/cuda/op_arithmetic_launch.h"

namespace flaggems {
namespace kernels {
namespace cuda {

namespace {

template <typename T>
struct DivTrunc {
  using Out = T;
  using A = T;
  using B = T;
  using C = None;
  explicit DivTrunc(const Number*) {}
  __device__ Compute<T> operator()(Compute<T> a, Compute<T> b) const {
    if constexpr (std::is_integral<T>::value) {
      return a / b;
    } else {
      return trunc(a / b);
    }
  }
};

template <typename T>
struct DivFloor {
  using Out = T;
  using A = T;
  using B = T;
  using C = None;
  explicit DivFloor(const Number*) {}
  __device__ Compute<T> operator()(Compute<T> a, Compute<T> b) const {
    using V = Compute<T>;
    if constexpr (std::is_integral<T>::value) {
      const V quotient = a / b;
      if constexpr (std::is_unsigned<V>::value) {
        return quotient;
      } else {
        const bool inexact = quotient * b != a;
        return quotient - (inexact && (a < 0) != (b < 0) ? 1 : 0);
      }
    } else {
      // As Python's floats: by the remainder, which is exact, so that the
      // quotient is not one that rounding has carried to the next integer.
      if (b == V(0)) return a / b;
      const V remainder = fmod(a, b);
      V quotient = (a - remainder) / b;
      if (remainder != V(0) && (b < V(0)) != (remainder < V(0))) {
        quotient -= V(1);
      }
      if (quotient == V(0)) return copysign(V(0), a / b);
      const V down = floor(quotient);
      return quotient - down > V(0.5) ? down + V(1) : down;
    }
  }
};

}  // namespace

cudaError_t LaunchDivTrunc(const ElementwiseCall& call, cudaStream_t stream) {
  return LaunchNumbers<DivTrunc>(call, stream);
}

cudaError_t LaunchDivFloor(const ElementwiseCall& call, cudaStream_t stream) {
  return LaunchNumbers<DivFloor>(call, stream);
}

}  // namespace cuda
}  // namespace kernels
}  // namespace flaggems
