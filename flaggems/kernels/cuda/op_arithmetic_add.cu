// Sums.

#include "flaggems/kernels/cuda/elementwise.cuh"
#include "flaggems/kernels/cuda/op_arithmetic_launch.h"

namespace flaggems {
namespace kernels {
namespace cuda {

namespace {

template <typename T>
struct Add {
  using Out = T;
  using A = T;
  using B = T;
  using C = None;
  Compute<T> alpha;
  explicit Add(const Number* scalars) : alpha(NumberAs<T>(scalars[0])) {}
  __device__ Compute<T> operator()(Compute<T> a, Compute<T> b) const {
    if constexpr (std::is_same<T, bool>::value) {
      return a || (alpha && b);
    } else {
      return a + alpha * b;
    }
  }
};

}  // namespace

cudaError_t LaunchAdd(const ElementwiseCall& call, cudaStream_t stream) {
  if (call.compute == Element::kBool) return LaunchBool<Add>(call, stream);
  return LaunchNumbers<Add, kRowsAndTiles>(call, stream);
}

}  // namespace cuda
}  // namespace kernels
}  // namespace flaggems
