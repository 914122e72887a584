// aten::native_layer_norm(Tensor input, SymInt[] normalized_shape,
// Tensor? weight, Tensor? bias, float eps) -> (Tensor, Tensor, Tensor) and
// aten::native_layer_norm_backward, CUDA.

#ifndef FLAGGEMS_KERNELS_CUDA_OP_LAYER_NORM_H_
#define FLAGGEMS_KERNELS_CUDA_OP_LAYER_NORM_H_

#include <ATen/core/Tensor.h>

#include <array>
#include <optional>
#include <tuple>

namespace flaggems {
namespace kernels {
namespace cuda {

// Output, mean and 1 / sqrt(variance + eps) of each row, the last two in float
// (double for float64). One pass over memory for rows of up to 32768 elements
// (262144 on Hopper), two beyond.
std::tuple<at::Tensor, at::Tensor, at::Tensor> layer_norm(
    const at::Tensor& input, at::IntArrayRef normalized_shape,
    const std::optional<at::Tensor>& weight,
    const std::optional<at::Tensor>& bias, double eps);

// Gradients of input, weight and bias, those that output_mask asks for. The
// sums over rows are in a fixed order: equal inputs give equal bits.
std::tuple<at::Tensor, at::Tensor, at::Tensor> layer_norm_backward(
    const at::Tensor& grad_out, const at::Tensor& input,
    at::IntArrayRef normalized_shape, const at::Tensor& mean,
    const at::Tensor& rstd, const std::optional<at::Tensor>& weight,
    const std::optional<at::Tensor>& bias, std::array<bool, 3> output_mask);

}  // namespace cuda
}  // namespace kernels
}  // namespace flaggems

#endif  // FLAGGEMS_KERNELS_CUDA_OP_LAYER_NORM_H_
