#include "flaggems/kernels/cuda/op_rms_norm.h"

#include <ATen/native/layer_norm.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/zeros_like.h>

#include <limits>
#include <optional>

#include "flaggems/kernels/cuda/launch.h"
#include "flaggems/kernels/cuda/norm_checks.h"
#include "flaggems/kernels/cuda/op_rms_norm_launch.h"

namespace flaggems {
namespace kernels {
namespace cuda {
namespace {

constexpr char kForward[] = "fused_rms_norm_cuda";
constexpr char kBackward[] = "fused_rms_norm_backward_cuda";

}  // namespace

std::tuple<at::Tensor, at::Tensor> rms_norm(
    const at::Tensor& input, at::IntArrayRef normalized_shape,
    const std::optional<at::Tensor>& weight, std::optional<double> eps) {
  const at::Tensor& gamma = OrNone(weight);
  CheckSameDevice(kForward, {{input, "input"}, {gamma, "weight"}});
  const auto [rows, n] = at::native::_check_layer_norm_inputs(
      input, normalized_shape, gamma, at::Tensor());
  const at::ScalarType dtype = input.scalar_type();
  const Element element = NormElement(dtype, kForward);
  const size_t outer = input.dim() - normalized_shape.size();
  at::DimVector statistics_sizes(input.sizes());
  for (size_t d = outer; d < statistics_sizes.size(); ++d) {
    statistics_sizes[d] = 1;
  }
  const DeviceStream on(input);
  const at::Tensor out = EmptyLike(input);
  at::Tensor rstd = Empty(statistics_sizes, StatisticsDtype(dtype), input);
  if (rows > 0 && n == 0) {
    rstd.fill_(std::numeric_limits<double>::quiet_NaN());
  } else if (rows > 0) {
    CheckDtype(gamma, dtype);
    const at::Tensor x = input.contiguous();
    const at::Tensor g = Contiguous(gamma);
    const NormShape shape = ShapeOf(rows, n);
    const NormScratch scratch(shape);
    const double epsilon = dtype == at::kDouble
                               ? std::numeric_limits<double>::epsilon()
                               : std::numeric_limits<float>::epsilon();
    CheckLaunch(
        LaunchRmsNorm(shape, element, DataOf(x), DataOf(g),
                      eps.value_or(epsilon), out.mutable_data_ptr(),
                      rstd.mutable_data_ptr(), scratch.data(), on.stream()),
        dtype, kForward);
  }
  return {out, rstd};
}

std::tuple<at::Tensor, at::Tensor> rms_norm_backward(
    const at::Tensor& grad_out, const at::Tensor& input,
    at::IntArrayRef normalized_shape, const at::Tensor& rstd,
    const std::optional<at::Tensor>& weight, std::array<bool, 2> output_mask) {
  const at::Tensor& gamma = OrNone(weight);
  CheckSameDevice(kBackward, {{grad_out, "grad_out"},
                              {input, "input"},
                              {rstd, "rstd"},
                              {gamma, "weight"}});
  const auto [rows, n] = at::native::_check_layer_norm_inputs(
      input, normalized_shape, gamma, at::Tensor());
  const at::ScalarType dtype = input.scalar_type();
  const bool empty = rows == 0 || n == 0;
  const Element element = NormElement(dtype, kBackward);
  const DeviceStream on(input);
  at::Tensor grad_in;
  at::Tensor grad_gamma;
  if (output_mask[0]) grad_in = EmptyLike(input);
  if (output_mask[1]) {
    grad_gamma = rows > 0 ? at::empty_like(gamma, at::MemoryFormat::Contiguous)
                          : at::zeros_like(gamma, at::MemoryFormat::Contiguous);
  }
  if (empty || !(output_mask[0] || output_mask[1])) {
    return {grad_in, grad_gamma};
  }
  CheckDtype(grad_out, dtype);
  CheckDtype(gamma, dtype);
  CheckDtype(rstd, StatisticsDtype(dtype));
  TORCH_CHECK(grad_out.numel() == rows * n && rstd.numel() == rows, kBackward,
              ": grad_out and rstd do not fit the input");
  const at::Tensor dy = grad_out.contiguous();
  const at::Tensor x = input.contiguous();
  const at::Tensor r = rstd.contiguous();
  const at::Tensor g = Contiguous(gamma);
  const NormShape shape = ShapeOf(rows, n);
  std::optional<Scratch> scratch;
  if (output_mask[1]) {
    scratch.emplace(NormBackwardScratchBytes(shape));
  }
  NormGradients gradients;
  gradients.grad_out = DataOf(dy);
  gradients.in = DataOf(x);
  gradients.mean = nullptr;
  gradients.rstd = DataOf(r);
  gradients.gamma = DataOf(g);
  gradients.grad_in = output_mask[0] ? grad_in.mutable_data_ptr() : nullptr;
  gradients.grad_gamma =
      output_mask[1] ? grad_gamma.mutable_data_ptr() : nullptr;
  gradients.grad_beta = nullptr;
  gradients.scratch = scratch.has_value() ? scratch->data() : nullptr;
  CheckLaunch(LaunchRmsNormBackward(shape, element, gradients, on.stream()),
              dtype, kBackward);
  return {grad_in, grad_gamma};
}

}  // namespace cuda
}  // namespace kernels
}  // namespace flaggems
