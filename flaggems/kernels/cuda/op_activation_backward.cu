// The backwards of gelu, silu, sigmoid and tanh.

#include <type_traits>

#include "flaggems/kernels/cuda/elementwise.cuh"
#include "flaggems/kernels/cuda/op_activation_launch.h"
#include "flaggems/kernels/cuda/pointwise_math.cuh"

namespace flaggems {
namespace kernels {
namespace cuda {

namespace {

template <typename T>
struct Backward {
  using Out = T;
  using A = T;
  using B = T;
  using C = None;
  explicit Backward(const Number*) {}
};

template <typename T>
struct GeluBackward : Backward<T> {
  using Backward<T>::Backward;
  __device__ Compute<T> operator()(Compute<T> grad, Compute<T> x) const {
    if constexpr (std::is_same_v<T, float>) {
      return MulGeluGradient(grad, x);
    } else {
      using V = Compute<T>;
      constexpr V kDensity = 0.39894228040143267794;  // 1 / sqrt(2 pi)
      const V density = kDensity * Exp<T>(V(-0.5) * x * x);
      return grad * (NormalCdf<T>(x) + x * density);
    }
  }
};

// With s = sigmoid(u), u the argument below: (x s)' = s + x s (1 - s) u'.
template <typename T>
struct GeluTanhBackward : Backward<T> {
  using Backward<T>::Backward;
  __device__ Compute<T> operator()(Compute<T> grad, Compute<T> x) const {
    using V = Compute<T>;
    const V s = MulGeluTanhSigmoid<T>(V(1), x);
    // 1 - s loses its digits in the tail; 16 bits do not show it.
    const V rest = sizeof(T) == 2 ? V(1) - s : MulGeluTanhSigmoid<T>(V(1), -x);
    const V slope = V(kGeluTanhScale) * (V(1) + V(3 * kGeluTanhCubic) * x * x);
    return grad * (s + x * s * rest * slope);
  }
};

template <typename T>
struct SiluBackward : Backward<T> {
  using Backward<T>::Backward;
  __device__ Compute<T> operator()(Compute<T> grad, Compute<T> x) const {
    using V = Compute<T>;
    const V s = Sigmoid<T>(x);
    return grad * s * (V(1) + x * (V(1) - s));
  }
};

template <typename T>
struct SigmoidBackward : Backward<T> {
  using Backward<T>::Backward;
  __device__ Compute<T> operator()(Compute<T> grad, Compute<T> y) const {
    return grad * (Compute<T>(1) - y) * y;
  }
};

template <typename T>
struct TanhBackward : Backward<T> {
  using Backward<T>::Backward;
  __device__ Compute<T> operator()(Compute<T> grad, Compute<T> y) const {
    return grad * (Compute<T>(1) - y * y);
  }
};

}  // namespace

cudaError_t LaunchGeluBackward(const ElementwiseCall& call,
                               cudaStream_t stream) {
  return LaunchFloatsAndDouble<GeluBackward>(call, stream);
}

cudaError_t LaunchGeluTanhBackward(const ElementwiseCall& call,
                                   cudaStream_t stream) {
  return LaunchFloatsAndDouble<GeluTanhBackward>(call, stream);
}

cudaError_t LaunchSiluBackward(const ElementwiseCall& call,
                               cudaStream_t stream) {
  return LaunchFloatsAndDouble<SiluBackward>(call, stream);
}

cudaError_t LaunchSigmoidBackward(const ElementwiseCall& call,
                                  cudaStream_t stream) {
  return LaunchFloatsAndDouble<SigmoidBackward>(call, stream);
}

cudaError_t LaunchTanhBackward(const ElementwiseCall& call,
                               cudaStream_t stream) {
  return LaunchFloatsAndDouble<TanhBackward>(call, stream);
}

}  // namespace cuda
}  // namespace kernels
}  // namespace flaggems
