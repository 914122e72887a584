// leaky_relu, threshold and threshold_backward.

#include "flaggems/kernels/cuda/elementwise.cuh"
#include "flaggems/kernels/cuda/op_activation_launch.h"

namespace flaggems {
namespace kernels {
namespace cuda {

namespace {

template <typename T>
struct LeakyRelu {
  using Out = T;
  using A = T;
  using B = None;
  using C = None;
  Compute<T> slope;
  explicit LeakyRelu(const Number* scalars) : slope(NumberAs<T>(scalars[0])) {}
  __device__ Compute<T> operator()(Compute<T> x) const {
    return x > Compute<T>(0) ? x : x * slope;
  }
};

// The threshold is of the tensor's type. On the host.
template <typename T>
Compute<T> Rounded(const Number& n) {
  const Compute<T> x = NumberAs<T>(n);
  if constexpr (std::is_same<T, __half>::value) {
    return __half2float(__float2half_rn(x));
  } else if constexpr (std::is_same<T, __nv_bfloat16>::value) {
    return __bfloat162float(__float2bfloat16_rn(x));
  } else {
    return x;
  }
}

template <typename T>
struct Threshold {
  using Out = T;
  using A = T;
  using B = None;
  using C = None;
  Compute<T> threshold;
  Compute<T> value;
  explicit Threshold(const Number* scalars)
      : threshold(Rounded<T>(scalars[0])), value(Rounded<T>(scalars[1])) {}
  __device__ Compute<T> operator()(Compute<T> x) const {
    return x <= threshold ? value : x;
  }
};

template <typename T>
struct ThresholdBackward {
  using Out = T;
  using A = T;
  using B = T;
  using C = None;
  Compute<T> threshold;
  explicit ThresholdBackward(const Number* scalars)
      : threshold(Rounded<T>(scalars[0])) {}
  __device__ Compute<T> operator()(Compute<T> x, Compute<T> grad) const {
    return x <= threshold ? Compute<T>(0) : grad;
  }
};

}  // namespace

cudaError_t LaunchLeakyRelu(const ElementwiseCall& call, cudaStream_t stream) {
  return LaunchFloatsAndDouble<LeakyRelu>(call, stream);
}

cudaError_t LaunchThreshold(const ElementwiseCall& call, cudaStream_t stream) {
  return LaunchNumbers<Threshold>(call, stream);
}

cudaError_t LaunchThresholdBackward(const ElementwiseCall& call,
                                    cudaStream_t stream) {
  return LaunchNumbers<ThresholdBackward>(call, stream);
}

}  // namespace cuda
}  // namespace kernels
}  // namespace flaggems
