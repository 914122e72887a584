// gelu, silu and softplus.

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
  explicit Softplus(const Number* scalars)
      : beta(NumberAs<T>(scalars[0])), threshold(NumberAs<T>(scalars[1])) {
    inverse = Compute<T>(1) / beta;
  }
  __device__ Compute<T> operator()(Compute<T> x) const {
    const Compute<T> y = x * beta;
    const Compute<T> z = LogOnePlusExp<T>(y);
    return y > threshold ? x : OverBeta(z);
  }
  // z / beta, for z >= 0: to 16 bits the product with the inverse, else that
  // and a step of correction, without the branches of a division.
  __device__ Compute<T> OverBeta(Compute<T> z) const {
    const Compute<T> quotient = z * inverse;
    if constexpr (kIsHalfWidth<T>) return quotient;
    const Compute<T> left = fma(-quotient, beta, z);
    // NaN of infinities, and of a beta of 0: their quotient stands.
    return left != 0 && left == left ? fma(left, inverse, quotient) : quotient;
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
