// Maxima and minima on CUDA: aten::amax, aten::amin, their out= forms, and
// aten::max and aten::min over everything.

#ifndef FLAGGEMS_KERNELS_CUDA_OP_AMAX_H_
#define FLAGGEMS_KERNELS_CUDA_OP_AMAX_H_

#include <ATen/core/Tensor.h>

namespace flaggems {
namespace kernels {
namespace cuda {

// A NaN wins. Every element type.
at::Tensor amax(const at::Tensor& self, at::IntArrayRef dim, bool keepdim);
at::Tensor& amax_out(const at::Tensor& self, at::IntArrayRef dim, bool keepdim,
                     at::Tensor& out);
at::Tensor amin(const at::Tensor& self, at::IntArrayRef dim, bool keepdim);
at::Tensor& amin_out(const at::Tensor& self, at::IntArrayRef dim, bool keepdim,
                     at::Tensor& out);
at::Tensor max(const at::Tensor& self);
at::Tensor min(const at::Tensor& self);

}  // namespace cuda
}  // namespace kernels
}  // namespace flaggems

#endif  // FLAGGEMS_KERNELS_CUDA_OP_AMAX_H_
