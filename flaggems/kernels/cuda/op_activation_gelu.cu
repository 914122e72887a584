// gelu, silu and softplus.

#include <cmath>

#include "flaggems/kernels/cuda/elementwise.cuh"
#include "flaggems/kernels/cuda/op_activation_launch.h"
#include "flaggems/kernels/cuda/pointwise_math.cuh"

namespace flaggems {
namespace kernels {
namespace cuda {

namespace {

template <typename T>
struct Gelu {
  using Out = T;
  using A = T;
  using B = None;
  using C = None;
  explicit Gelu(const Number*) {}
  __device__ Compute<T> operator()(Compute<T> x) const {
    return x * NormalCdf<T>(x);
  }
};

template <typename T>
struct GeluTanh {
  using Out = T;
  using A = T;
  using B = None;
  using C = None;
  explicit GeluTanh(const Number*) {}
  __device__ Compute<T> operator()(Compute<T> x) const {
    return GeluByTanh<T>(x);
  }
};

template <typename T>
struct Silu {
  using Out = T;
  using A = T;
  using B = None;
  using C = None;
  explicit Silu(const Number*) {}
  __device__ Compute<T> operator()(Compute<T> x) const {
    return Over1PlusExpMinus<T>(x, x);
  }
};

// log(1 + exp(beta x)) / beta, x itself beyond the threshold.
template <typename T>
struct Softplus {
  using Out = T;
  using A = T;
  using B = None;
  using C = None;
  Compute<T> beta;
  Compute<T> threshold;
  Compute<T> inverse;
  // A product with the inverse is the quotient: for a power of two (1, mostly),
  // and to 16 bits.
  bool multiply;
  explicit Softplus(const Number* scalars)
      : beta(NumberAs<T>(scalars[0])), threshold(NumberAs<T>(scalars[1])) {
    inverse = Compute<T>(1) / beta;
    int exponent = 0;
    multiply = kIsHalfWidth<T> || std::frexp(std::fabs(beta), &exponent) == 0.5;
  }
  __device__ Compute<T> operator()(Compute<T> x) const {
    const Compute<T> y = x * beta;
    const Compute<T> z = LogOnePlusExp<T>(y);
    return y > threshold ? x : (multiply ? z * inverse : z / beta);
  }
};

}  // namespace

cudaError_t LaunchGelu(const ElementwiseCall& call, cudaStream_t stream) {
  return LaunchFloatsAndDouble<Gelu>(call, stream);
}

cudaError_t LaunchGeluTanh(const ElementwiseCall& call, cudaStream_t stream) {
  return LaunchFloatsAndDouble<GeluTanh>(call, stream);
}

cudaError_t LaunchSilu(const ElementwiseCall& call, cudaStream_t stream) {
  return LaunchFloatsAndDouble<Silu>(call, stream);
}

cudaError_t LaunchSoftplus(const ElementwiseCall& call, cudaStream_t stream) {
  return LaunchFloatsAndDouble<Softplus>(call, stream);
}

}  // namespace cuda
}  // namespace kernels
}  // namespace flaggems
