// Products and quotients.

#include "flaggems/kernels/cuda/elementwise.cuh"
#include "flaggems/kernels/cuda/op_arithmetic_launch.h"

namespace flaggems {
namespace kernels {
namespace cuda {

namespace {

template <typename T>
struct Mul {
  using Out = T;
  using A = T;
  using B = T;
  using C = None;
  explicit Mul(const Number*) {}
  __device__ Compute<T> operator()(Compute<T> a, Compute<T> b) const {
    if constexpr (std::is_same<T, bool>::value) {
      return a && b;
    } else {
      return a * b;
    }
  }
};

template <typename T>
struct Div {
  using Out = T;
  using A = T;
  using B = T;
  using C = None;
  explicit Div(const Number*) {}
  __device__ Compute<T> operator()(Compute<T> a, Compute<T> b) const {
    return a / b;
  }
};

}  // namespace

cudaError_t LaunchMul(const ElementwiseCall& call, cudaStream_t stream) {
  if (call.compute == Element::kBool) return LaunchBool<Mul>(call, stream);
  return LaunchNumbers<Mul, kRowsAndTiles>(call, stream);
}

cudaError_t LaunchDiv(const ElementwiseCall& call, cudaStream_t stream) {
  return LaunchFloatsAndDouble<Div, kRowsAndTiles>(call, stream);
}

}  // namespace cuda
}  // namespace kernels
}  // namespace flaggems
