#include "flaggems/kernels/cuda/softmax_backward_rows.cuh"

namespace flaggems {
namespace kernels {
namespace cuda {

cudaError_t LaunchSoftmaxBackward(const SoftmaxShape& shape, Element in_type,
                                  Element out_type, const void* grad_out,
                                  const void* result, void* grad_in,
                                  cudaStream_t stream) {
  return internal_softmax::LaunchBackwardOf<false>(
      shape, in_type, out_type, grad_out, result, grad_in, stream);
}

}  // namespace cuda
}  // namespace kernels
}  // namespace flaggems
