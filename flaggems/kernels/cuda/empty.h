// The maker of results and temporary tensors of CUDA kernels.

#ifndef FLAGGEMS_KERNELS_CUDA_EMPTY_H_
#define FLAGGEMS_KERNELS_CUDA_EMPTY_H_

#include <ATen/core/Tensor.h>
#include <ATen/cuda/EmptyTensor.h>

#include <optional>

namespace flaggems {
namespace kernels {
namespace cuda {

// Contiguous, on `like`'s device, not initialised. Past the dispatcher, which
// would cost as much as a small kernel's launch.
inline at::Tensor Empty(at::IntArrayRef sizes, at::ScalarType dtype,
                        const at::Tensor& like) {
  return at::detail::empty_cuda(sizes, dtype, like.device(), std::nullopt);
}

// The same with strides, which are those of a dense tensor.
inline at::Tensor EmptyStrided(at::IntArrayRef sizes, at::IntArrayRef strides,
                               at::ScalarType dtype, const at::Tensor& like) {
  return at::detail::empty_strided_cuda(sizes, strides, dtype, like.device());
}

}  // namespace cuda
}  // namespace kernels
}  // namespace flaggems

#endif  // FLAGGEMS_KERNELS_CUDA_EMPTY_H_
