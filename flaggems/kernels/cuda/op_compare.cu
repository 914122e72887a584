// All comparisons: which one is a number of the call, not a kernel of its own.

#include "flaggems/kernels/cuda/elementwise.cuh"
#include "flaggems/kernels/cuda/op_compare_launch.h"

namespace flaggems {
namespace kernels {
namespace cuda {

namespace {

template <typename T>
struct CompareOf {
  using Out = bool;
  using A = T;
  using B = T;
  using C = None;
  bool less;
  bool equal;
  bool greater;
  bool negated;
  explicit CompareOf(const Number* scalars)
      : less(scalars[0].integer & kLess),
        equal(scalars[0].integer & kEqual),
        greater(scalars[0].integer & kGreater),
        negated(scalars[0].integer & kNegated) {}
  __device__ bool operator()(Compute<T> a, Compute<T> b) const {
    return ((a < b && less) || (a == b && equal) || (a > b && greater)) !=
           negated;
  }
};

}  // namespace

cudaError_t LaunchCompare(const ElementwiseCall& call, cudaStream_t stream) {
  if (call.compute == Element::kBool) {
    return LaunchBool<CompareOf>(call, stream);
  }
  return LaunchNumbers<CompareOf, kRowsAndTiles>(call, stream);
}

}  // namespace cuda
}  // namespace kernels
}  // namespace flaggems
