#include "flaggems/kernels/cuda/op_layer_norm.h"

#include <ATen/native/layer_norm.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/zeros_like.h>

#include <limits>
#include <optional>

#include "flaggems/kernels/cuda/launch.h"
#include "flaggems/kernels/cuda/norm_checks.h"
#include "flaggems/kernels/cuda/op_layer_norm_launch.h"

namespace flaggems {
namespace kernels {
namespace cuda {
namespace {

constexpr char kForward[] = "layer_norm_cuda";
constexpr char kBackward[] = "layer_norm_backward_cuda";

}  // namespace

std::tuple<at::Tensor, at::Tensor, at::Tensor> layer_norm(
    const at::Tensor& input, at::IntArrayRef normalized_shape,
    const std::optional<at::Tensor>& weight,
    const std::optional<at::Tensor>& bias, double eps) {
  const at::Tensor& gamma = OrNone(weight);
  const at::Tensor& beta = OrNone(bias);
  CheckSameDevice(kForward,
                  {{input, "input"}, {gamma, "weight"}, {beta, "bias"}});
  const auto [rows, n] = at::native::_check_layer_norm_inputs(
      input, normalized_shape, gamma, beta);
  const at::ScalarType dtype = input.scalar_type();
  const Element element = NormElement(dtype, kForward);
  const size_t outer = input.dim() - normalized_shape.size();
  at::DimVector statistics_sizes(input.sizes());
  for (size_t d = outer; d < statistics_sizes.size(); ++d) {
    statistics_sizes[d] = 1;
  }
  const DeviceStream on(input);
  const at::Tensor out = EmptyLike(input);
  const at::ScalarType statistics = StatisticsDtype(dtype);
  at::Tensor mean = Empty(statistics_sizes, statistics, input);
  at::Tensor rstd = Empty(statistics_sizes, statistics, input);
  if (rows > 0 && n == 0) {
    mean.zero_();
    rstd.fill_(std::numeric_limits<double>::quiet_NaN());
  } else if (rows > 0) {
    CheckDtype(gamma, dtype);
    CheckDtype(beta, dtype);
    const at::Tensor x = input.contiguous();
    const at::Tensor g = Contiguous(gamma);
    const at::Tensor b = Contiguous(beta);
    const NormShape shape = ShapeOf(rows, n);
    const NormScratch scratch(shape);
    CheckLaunch(
        LaunchLayerNorm(shape, element, DataOf(x), DataOf(g), DataOf(b), eps,
                        out.mutable_data_ptr(), mean.mutable_data_ptr(),
                        rstd.mutable_data_ptr(), scratch.data(), on.stream()),
        dtype, kForward);
  }
  return {out, mean, rstd};
}

std::tuple<at::Tensor, at::Tensor, at::Tensor> layer_norm_backward(
    const at::Tensor& grad_out, const at::Tensor& input,
    at::IntArrayRef normalized_shape, const at::Tensor& mean,
    const at::Tensor& rstd, const std::optional<at::Tensor>& weight,
    const std::optional<at::Tensor>& bias, std::array<bool, 3> output_mask) {
  const at::Tensor& gamma = OrNone(weight);
  const at::Tensor& beta = OrNone(bias);
  CheckSameDevice(kBackward, {{grad_out, "grad_out"},
                              {input, "input"},
                              {mean, "mean"},
                              {rstd, "rstd"},
                              {gamma, "weight"},
                              {beta, "bias"}});
  const auto [rows, n] = at::native::_check_layer_norm_inputs(
      input, normalized_shape, gamma, beta);
  const at::ScalarType dtype = input.scalar_type();
  const bool empty = rows == 0 || n == 0;
  const Element element = NormElement(dtype, kBackward);
  const DeviceStream on(input);
  at::Tensor grad_in;
  at::Tensor grad_gamma;
  at::Tensor grad_beta;
  if (output_mask[0]) grad_in = EmptyLike(input);
  const auto weights_gradient = [rows = rows](const at::Tensor& like) {
    return rows > 0 ? at::empty_like(like, at::MemoryFormat::Contiguous)
                    : at::zeros_like(like, at::MemoryFormat::Contiguous);
  };
  if (output_mask[1]) grad_gamma = weights_gradient(gamma);
  if (output_mask[2]) grad_beta = weights_gradient(beta);
  if (empty || !(output_mask[0] || output_mask[1] || output_mask[2])) {
    return {grad_in, grad_gamma, grad_beta};
  }
  CheckDtype(grad_out, dtype);
  CheckDtype(gamma, dtype);
  CheckDtype(grad_beta, dtype);
  CheckDtype(mean, StatisticsDtype(dtype));
  CheckDtype(rstd, StatisticsDtype(dtype));
  TORCH_CHECK(grad_out.numel() == rows * n && mean.numel() == rows &&
                  rstd.numel() == rows,
              kBackward, ": grad_out, mean and rstd do not fit the input");
  const at::Tensor dy = grad_out.contiguous();
  const at::Tensor x = input.contiguous();
  const at::Tensor m = mean.contiguous();
  const at::Tensor r = rstd.contiguous();
  const at::Tensor g = Contiguous(gamma);
  const NormShape shape = ShapeOf(rows, n);
  std::optional<Scratch> scratch;
  if (output_mask[1] || output_mask[2]) {
    scratch.emplace(NormBackwardScratchBytes(shape));
  }
  NormGradients gradients;
  gradients.grad_out = DataOf(dy);
  gradients.in = DataOf(x);
  gradients.mean = DataOf(m);
  gradients.rstd = DataOf(r);
  gradients.gamma = DataOf(g);
  gradients.grad_in = output_mask[0] ? grad_in.mutable_data_ptr() : nullptr;
  gradients.grad_gamma =
      output_mask[1] ? grad_gamma.mutable_data_ptr() : nullptr;
  gradients.grad_beta = output_mask[2] ? grad_beta.mutable_data_ptr() : nullptr;
  gradients.scratch = scratch.has_value() ? scratch->data() : nullptr;
  CheckLaunch(LaunchLayerNormBackward(shape, element, gradients, on.stream()),
              dtype, kBackward);
  return {grad_in, grad_gamma, grad_beta};
}

}  // namespace cuda
}  // namespace kernels
}  // namespace flaggems
