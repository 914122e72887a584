// where, masked_fill and fill.

#include "flaggems/kernels/cuda/elementwise.cuh"
#include "flaggems/kernels/cuda/op_select_launch.h"

namespace flaggems {
namespace kernels {
namespace cuda {

namespace {

template <typename T>
struct Where {
  using Out = T;
  using A = bool;
  using B = T;
  using C = T;
  explicit Where(const Number*) {}
  __device__ T operator()(bool condition, T a, T b) const {
    return condition ? a : b;
  }
};

template <typename T>
struct MaskedFill {
  using Out = T;
  using A = bool;
  using B = T;
  using C = None;
  T value;
  explicit MaskedFill(const Number* scalars) : value(NumberAs<T>(scalars[0])) {}
  __device__ T operator()(bool mask, T x) const { return mask ? value : x; }
};

template <typename T>
struct Fill {
  using Out = T;
  using A = T;
  using B = T;
  using C = None;
  explicit Fill(const Number*) {}
  __device__ T operator()(T value, T) const { return value; }
};

template <template <typename> class F, int kShapes>
cudaError_t LaunchBytes(const ElementwiseCall& call, cudaStream_t stream) {
  const auto launch = [&](auto tag) {
    return LaunchElementwise<kShapes>(
        F<typename decltype(tag)::Type>(call.scalars), call, stream);
  };
  switch (call.compute) {
    case Element::kUInt8:
      return launch(TypeTag<uint8_t>());
    case Element::kInt16:
      return launch(TypeTag<uint16_t>());
    case Element::kInt32:
      return launch(TypeTag<uint32_t>());
    case Element::kInt64:
      return launch(TypeTag<uint64_t>());
    default:
      return cudaErrorNotSupported;
  }
}

}  // namespace

cudaError_t LaunchWhere(const ElementwiseCall& call, cudaStream_t stream) {
  return LaunchBytes<Where, kRowsAndTiles>(call, stream);
}

cudaError_t LaunchMaskedFill(const ElementwiseCall& call, cudaStream_t stream) {
  return LaunchBytes<MaskedFill, kRowsAndTiles>(call, stream);
}

cudaError_t LaunchFill(const ElementwiseCall& call, cudaStream_t stream) {
  return LaunchBytes<Fill, kRows>(call, stream);
}

}  // namespace cuda
}  // namespace kernels
}  // namespace flaggems
