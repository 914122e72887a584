// exp, sigmoid and tanh.

#include "flaggems/kernels/cuda/elementwise.cuh"
#include "flaggems/kernels/cuda/op_unary_launch.h"
#include "flaggems/kernels/cuda/pointwise_math.cuh"

namespace flaggems {
namespace kernels {
namespace cuda {
namespace {

template <typename T>
struct ExpOf {
  using Out = T;
  using A = T;
  using B = None;
  using C = None;
  explicit ExpOf(const Number*) {}
  __device__ Compute<T> operator()(Compute<T> x) const { return Exp<T>(x); }
};

template <typename T>
struct SigmoidOf {
  using Out = T;
  using A = T;
  using B = None;
  using C = None;
  explicit SigmoidOf(const Number*) {}
  __device__ Compute<T> operator()(Compute<T> x) const {
    return Over1PlusExpMinus<T>(Compute<T>(1), x);
  }
};

template <typename T>
struct TanhOf {
  using Out = T;
  using A = T;
  using B = None;
  using C = None;
  explicit TanhOf(const Number*) {}
  __device__ Compute<T> operator()(Compute<T> x) const { return Tanh<T>(x); }
};

}  // namespace

cudaError_t LaunchExp(const ElementwiseCall& call, cudaStream_t stream) {
  return LaunchFloatsAndDouble<ExpOf>(call, stream);
}

cudaError_t LaunchSigmoid(const ElementwiseCall& call, cudaStream_t stream) {
  return LaunchFloatsAndDouble<SigmoidOf>(call, stream);
}

cudaError_t LaunchTanh(const ElementwiseCall& call, cudaStream_t stream) {
  return LaunchFloatsAndDouble<TanhOf>(call, stream);
}

}  // namespace cuda
}  // namespace kernels
}  // namespace flaggems
