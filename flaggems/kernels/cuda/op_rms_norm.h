// aten::_fused_rms_norm(Tensor input, int[] normalized_shape, Tensor? weight,
// float? eps) -> (Tensor, Tensor) and aten::_fused_rms_norm_backward, CUDA.

#ifndef FLAGGEMS_KERNELS_CUDA_OP_RMS_NORM_H_
#define FLAGGEMS_KERNELS_CUDA_OP_RMS_NORM_H_

#include <ATen/core/Tensor.h>

#include <array>
#include <optional>
#include <tuple>

namespace flaggems {
namespace kernels {
namespace cuda {

// Output and 1 / sqrt(mean of squares + eps) of each row, the latter in float
// (double for float64). No eps: the epsilon of that type. Cost as layer_norm.
std::tuple<at::Tensor, at::Tensor> rms_norm(
    const at::Tensor& input, at::IntArrayRef normalized_shape,
    const std::optional<at::Tensor>& weight, std::optional<double> eps);

// Gradients of input and weight, those that output_mask asks for.
std::tuple<at::Tensor, at::Tensor> rms_norm_backward(
    const at::Tensor& grad_out, const at::Tensor& input,
    at::IntArrayRef normalized_shape, const at::Tensor& rstd,
    const std::optional<at::Tensor>& weight, std::array<bool, 2> output_mask);

}  // namespace cuda
}  // namespace kernels
}  // namespace flaggems

#endif  // FLAGGEMS_KERNELS_CUDA_OP_RMS_NORM_H_
