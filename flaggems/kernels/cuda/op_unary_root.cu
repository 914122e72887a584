// sqrt, rsqrt and reciprocal.

#include "flaggems/kernels/cuda/elementwise.cuh"
#include "flaggems/kernels/cuda/op_unary_launch.h"
#include "flaggems/kernels/cuda/pointwise_math.cuh"

namespace flaggems {
namespace kernels {
namespace cuda {
namespace {

template <typename T>
struct SqrtOf {
  using Out = T;
  using A = T;
  using B = None;
  using C = None;
  explicit SqrtOf(const Number*) {}
  __device__ Compute<T> operator()(Compute<T> x) const { return Sqrt<T>(x); }
};

template <typename T>
struct RsqrtOf {
  using Out = T;
  using A = T;
  using B = None;
  using C = None;
  explicit RsqrtOf(const Number*) {}
  __device__ Compute<T> operator()(Compute<T> x) const { return rsqrt(x); }
};

template <typename T>
struct ReciprocalOf {
  using Out = T;
  using A = T;
  using B = None;
  using C = None;
  explicit ReciprocalOf(const Number*) {}
  __device__ Compute<T> operator()(Compute<T> x) const {
    return Reciprocal<T>(x);
  }
};

}  // namespace

cudaError_t LaunchSqrt(const ElementwiseCall& call, cudaStream_t stream) {
  return LaunchFloatsAndDouble<SqrtOf>(call, stream);
}

cudaError_t LaunchRsqrt(const ElementwiseCall& call, cudaStream_t stream) {
  return LaunchFloatsAndDouble<RsqrtOf>(call, stream);
}

cudaError_t LaunchReciprocal(const ElementwiseCall& call, cudaStream_t stream) {
  return LaunchFloatsAndDouble<ReciprocalOf>(call, stream);
}

}  // namespace cuda
}  // namespace kernels
}  // namespace flaggems
