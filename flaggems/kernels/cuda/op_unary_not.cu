// bitwise_not and logical_not.

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
struct BitwiseNot : Unary<T> {
  using Unary<T>::Unary;
  __device__ T operator()(T x) const {
    if constexpr (std::is_same<T, bool>::value) {
      return !x;
    } else {
      return ~x;
    }
  }
};

template <typename T>
struct LogicalNot : Unary<T> {
  using Out = bool;
  using Unary<T>::Unary;
  __device__ bool operator()(Compute<T> x) const { return x == Compute<T>(0); }
};

}  // namespace

cudaError_t LaunchBitwiseNot(const ElementwiseCall& call, cudaStream_t stream) {
  if (call.compute == Element::kBool) {
    return LaunchBool<BitwiseNot>(call, stream);
  }
  return LaunchIntegers<BitwiseNot>(call, stream);
}

cudaError_t LaunchLogicalNot(const ElementwiseCall& call, cudaStream_t stream) {
  if (call.compute == Element::kBool) {
    return LaunchBool<LogicalNot>(call, stream);
  }
  return LaunchNumbers<LogicalNot>(call, stream);
}

}  // namespace cuda
}  // namespace kernels
}  // namespace flaggems
