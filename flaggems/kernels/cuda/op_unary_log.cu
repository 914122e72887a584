// log and erf.

#include "flaggems/kernels/cuda/elementwise.cuh"
#include "flaggems/kernels/cuda/op_unary_launch.h"
#include "flaggems/kernels/cuda/pointwise_math.cuh"

namespace flaggems {
namespace kernels {
namespace cuda {
namespace {

template <typename T>
struct LogOf {
  using Out = T;
  using A = T;
  using B = None;
  using C = None;
  explicit LogOf(const Number*) {}
  __device__ Compute<T> operator()(Compute<T> x) const { return Log<T>(x); }
};

template <typename T>
struct ErfOf {
  using Out = T;
  using A = T;
  using B = None;
  using C = None;
  explicit ErfOf(const Number*) {}
  __device__ Compute<T> operator()(Compute<T> x) const { return Erf<T>(x); }
};

}  // namespace

cudaError_t LaunchLog(const ElementwiseCall& call, cudaStream_t stream) {
  return LaunchFloatsAndDouble<LogOf>(call, stream);
}

cudaError_t LaunchErf(const ElementwiseCall& call, cudaStream_t stream) {
  return LaunchFloatsAndDouble<ErfOf>(call, stream);
}

}  // namespace cuda
}  // namespace kernels
}  // namespace flaggems
