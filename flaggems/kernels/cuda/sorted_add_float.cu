#include "flaggems/kernels/cuda/sorted_add.cuh"

namespace flaggems {
namespace kernels {
namespace cuda {

cudaError_t LaunchSums(Element element, bool wide, bool vectorised,
                       const SumParams& params, cudaStream_t stream) {
  return ForFloatsAndDouble(element, [&](auto tag) {
    using T = typename decltype(tag)::Type;
    if (wide) return LaunchSumsOf<T, 1, uint64_t>(params, stream);
    return vectorised ? LaunchSumsOf<T, kVecWidth<T>, uint32_t>(params, stream)
                      : LaunchSumsOf<T, 1, uint32_t>(params, stream);
  });
}

}  // namespace cuda
}  // namespace kernels
}  // namespace flaggems
