// neg and abs.

#include "flaggems/kernels/cuda/elementwise.cuh"
#include "flaggems/kernels/cuda/op_unary_launch.h"

namespace flaggems {
namespace kernels {
namespace cuda {
namespace {

template <typename T>
struct Unary {
  using Out = T;
  using A = T;
  using B = None;
  using C = None;
  explicit Unary(const Number*) {}
};

template <typename T>
struct Neg : Unary<T> {
  using Unary<T>::Unary;
  __device__ Compute<T> operator()(Compute<T> x) const { return -x; }
};

template <typename T>
struct Abs : Unary<T> {
  using Unary<T>::Unary;
  __device__ Compute<T> operator()(Compute<T> x) const {
    if constexpr (std::is_floating_point<Compute<T>>::value) {
      return fabs(x);
    } else if constexpr (std::is_unsigned<T>::value) {
      return x;
    } else {
      return x < 0 ? -x : x;
    }
  }
};

}  // namespace

cudaError_t LaunchNeg(const ElementwiseCall& call, cudaStream_t stream) {
  return LaunchNumbers<Neg>(call, stream);
}

cudaError_t LaunchAbs(const ElementwiseCall& call, cudaStream_t stream) {
  if (call.compute == Element::kBool) return LaunchBool<Abs>(call, stream);
  return LaunchNumbers<Abs>(call, stream);
}

}  // namespace cuda
}  // namespace kernels
}  // namespace flaggems
