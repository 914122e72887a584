#include "flaggems/kernels/cuda/norm_backward_rows.cuh"
#include "flaggems/kernels/cuda/op_rms_norm_launch.h"

namespace flaggems {
namespace kernels {
namespace cuda {

cudaError_t LaunchRmsNormBackward(const NormShape& shape, Element element,
                                  const NormGradients& gradients,
                                  cudaStream_t stream) {
  return internal_norm::LaunchNormBackward<true>(shape, element, gradients,
                                                 stream);
}

}  // namespace cuda
}  // namespace kernels
}  // namespace flaggems
