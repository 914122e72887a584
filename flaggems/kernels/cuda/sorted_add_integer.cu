#include "flaggems/kernels/cuda/sorted_add.cuh"

namespace flaggems {
namespace kernels {
namespace cuda {

cudaError_t LaunchIntegerSums(Element element, bool wide,
                              const SumParams& params, cudaStream_t stream) {
  const auto launch = [&](auto tag) {
    using T = typename decltype(tag)::Type;
    return wide ? LaunchSumsOf<T, 1, uint64_t>(params, stream)
                : LaunchSumsOf<T, 1, uint32_t>(params, stream);
  };
  if (element == Element::kBool) return launch(TypeTag<bool>());
  return ForIntegers(element, launch);
}

}  // namespace cuda
}  // namespace kernels
}  // namespace flaggems
