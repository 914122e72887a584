// sin and cos.

#include "flaggems/kernels/cuda/elementwise.cuh"
#include "flaggems/kernels/cuda/op_unary_launch.h"
#include "flaggems/kernels/cuda/pointwise_math.cuh"

namespace flaggems {
namespace kernels {
namespace cuda {
namespace {

template <typename T>
struct SinOf {
  using Out = T;
  using A = T;
  using B = None;
  using C = None;
  explicit SinOf(const Number*) {}
  __device__ Compute<T> operator()(Compute<T> x) const {
    return Sin<T, false>(x);
  }
};

template <typename T>
struct CosOf {
  using Out = T;
  using A = T;
  using B = None;
  using C = None;
  explicit CosOf(const Number*) {}
  __device__ Compute<T> operator()(Compute<T> x) const {
    return Sin<T, true>(x);
  }
};

}  // namespace

cudaError_t LaunchSin(const ElementwiseCall& call, cudaStream_t stream) {
  return LaunchFloatsAndDouble<SinOf>(call, stream);
}

cudaError_t LaunchCos(const ElementwiseCall& call, cudaStream_t stream) {
  return LaunchFloatsAndDouble<CosOf>(call, stream);
}

}  // namespace cuda
}  // namespace kernels
}  // namespace flaggems
