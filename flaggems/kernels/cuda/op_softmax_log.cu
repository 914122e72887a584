#include "flaggems/kernels/cuda/softmax_rows.cuh"

namespace flaggems {
namespace kernels {
namespace cuda {

cudaError_t LaunchLogSoftmax(const SoftmaxShape& shape, Element in_type,
                             Element out_type, const void* in, void* out,
                             void* scratch, cudaStream_t stream) {
  return internal_softmax::LaunchForwardOf<true>(shape, in_type, out_type, in,
                                                 out, scratch, stream);
}

}  // namespace cuda
}  // namespace kernels
}  // namespace flaggems
