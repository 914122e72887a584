// maximum and minimum.

#include "flaggems/kernels/cuda/elementwise.cuh"
#include "flaggems/kernels/cuda/extreme.cuh"
#include "flaggems/kernels/cuda/op_clamp_launch.h"

namespace flaggems {
namespace kernels {
namespace cuda {

namespace {

template <typename T>
struct Extreme {
  using Out = T;
  using A = T;
  using B = T;
  using C = None;
  bool larger;
  explicit Extreme(const Number* scalars) : larger(scalars[0].integer != 0) {}
  __device__ Compute<T> operator()(Compute<T> a, Compute<T> b) const {
    return larger ? Larger(a, b) : Smaller(a, b);
  }
};

}  // namespace

cudaError_t LaunchExtreme(const ElementwiseCall& call, cudaStream_t stream) {
  if (call.compute == Element::kBool) return LaunchBool<Extreme>(call, stream);
  return LaunchNumbers<Extreme, kRowsAndTiles>(call, stream);
}

}  // namespace cuda
}  // namespace kernels
}  // namespace flaggems
