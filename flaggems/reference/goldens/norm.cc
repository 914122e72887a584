#include "flaggems/reference/goldens/norm.h"

#include <ATen/ATen.h>

#include <array>
#include <optional>
#include <tuple>
#include <vector>

namespace flaggems {
namespace {

using at::Tensor;
using OptionalTensor = std::optional<Tensor>;

Tensor Wide(const Tensor& tensor) { return tensor.to(at::kDouble); }

bool IsDefined(const OptionalTensor& tensor) {
  return tensor && tensor->defined();
}

// ---- rms_norm ----

// With y = x r w, r = rsqrt(mean(x^2) + eps) and g = dy w:
// dx = r (g - x r mean(g x r)), dw = sum(dy x r).
std::tuple<Tensor, Tensor> RmsNormBackward(const Tensor& grad,
                                           const Tensor& input,
                                           at::IntArrayRef normalized_shape,
                                           const Tensor& rstd,
                                           const OptionalTensor& weight,
                                           std::array<bool, 2> output_mask) {
  const auto outer =
      input.dim() - static_cast<int64_t>(normalized_shape.size());
  std::vector<int64_t> inner_dims;
  std::vector<int64_t> outer_dims;
  for (int64_t d = 0; d < input.dim(); ++d) {
    (d < outer ? outer_dims : inner_dims).push_back(d);
  }
  std::vector<int64_t> sizes = input.sizes().vec();
  for (const int64_t d : inner_dims) sizes[static_cast<size_t>(d)] = 1;
  const Tensor r = Wide(rstd).reshape(sizes);
  const Tensor normed = Wide(input) * r;
  const Tensor dy = Wide(grad);
  Tensor grad_input;
  Tensor grad_weight;
  if (output_mask[0]) {
    const Tensor g = IsDefined(weight) ? dy * Wide(*weight) : dy;
    grad_input =
        (r * (g - normed * (g * normed).mean(inner_dims, /*keepdim=*/true)))
            .to(input.scalar_type());
  }
  if (output_mask[1] && IsDefined(weight)) {
    const Tensor product = dy * normed;
    grad_weight = (outer_dims.empty() ? product : product.sum(outer_dims))
                      .to(weight->scalar_type());
  }
  return {grad_input, grad_weight};
}

// ---- batch norm: cuDNN's, and the parts of torch.nn.SyncBatchNorm ----

// (1, C, 1, ...)
Tensor OfChannels(const Tensor& values, const Tensor& input) {
  std::vector<int64_t> sizes(static_cast<size_t>(input.dim()), 1);
  sizes[1] = -1;
  return Wide(values).reshape(sizes);
}

std::vector<int64_t> AllButChannels(const Tensor& input) {
  std::vector<int64_t> dims = {0};
  for (int64_t d = 2; d < input.dim(); ++d) dims.push_back(d);
  return dims;
}

at::ScalarType StatisticsType(const Tensor& input) {
  return input.scalar_type() == at::kDouble ? at::kDouble : at::kFloat;
}

struct Moments {
  Tensor mean;
  Tensor variance;  // over n
};

Moments MomentsOf(const Tensor& input) {
  const std::vector<int64_t> dims = AllButChannels(input);
  const Tensor wide = Wide(input);
  return {wide.mean(dims), wide.var(dims, /*unbiased=*/false)};
}

void Update(const OptionalTensor& running, const Tensor& value,
            double momentum) {
  if (!IsDefined(running)) return;
  running->copy_(Wide(*running) * (1 - momentum) + value * momentum);
}

Tensor Normalized(const Tensor& input, const Tensor& mean, const Tensor& invstd,
                  const OptionalTensor& weight, const OptionalTensor& bias) {
  Tensor y =
      (Wide(input) - OfChannels(mean, input)) * OfChannels(invstd, input);
  if (IsDefined(weight)) y = y * OfChannels(*weight, input);
  if (IsDefined(bias)) y = y + OfChannels(*bias, input);
  return y.to(input.scalar_type());
}

std::tuple<Tensor, Tensor, Tensor, Tensor> CudnnBatchNorm(
    const Tensor& input, const Tensor& weight, const OptionalTensor& bias,
    const OptionalTensor& running_mean, const OptionalTensor& running_var,
    bool training, double momentum, double epsilon) {
  const at::ScalarType type = StatisticsType(input);
  Moments moments;
  if (training) {
    moments = MomentsOf(input);
    const auto n =
        static_cast<double>(input.numel()) / static_cast<double>(input.size(1));
    Update(running_mean, moments.mean, momentum);
    Update(running_var, moments.variance * (n / (n - 1)), momentum);
  } else {
    TORCH_CHECK(IsDefined(running_mean) && IsDefined(running_var),
                "no statistics to normalise with");
    moments = {Wide(*running_mean), Wide(*running_var)};
  }
  const Tensor invstd = at::rsqrt(moments.variance + epsilon);
  return {Normalized(input, moments.mean, invstd, weight, bias),
          training ? moments.mean.to(type) : at::empty({0}, type),
          training ? invstd.to(type) : at::empty({0}, type),
          at::empty({0}, at::kByte)};
}

std::tuple<Tensor, Tensor, Tensor> CudnnBatchNormBackward(
    const Tensor& input, const Tensor& grad, const Tensor& weight,
    const OptionalTensor&, const OptionalTensor&,
    const OptionalTensor& save_mean, const OptionalTensor& save_var,
    double /*epsilon*/, const Tensor& /*reserve*/) {
  TORCH_CHECK(IsDefined(save_mean) && IsDefined(save_var),
              "no saved statistics");
  const std::vector<int64_t> dims = AllButChannels(input);
  const Tensor dy = Wide(grad);
  const Tensor invstd = OfChannels(*save_var, input);
  const Tensor normed = (Wide(input) - OfChannels(*save_mean, input)) * invstd;
  const Tensor grad_bias = dy.sum(dims);
  const Tensor grad_weight = (dy * normed).sum(dims);
  const auto n =
      static_cast<double>(input.numel()) / static_cast<double>(input.size(1));
  const Tensor grad_input = OfChannels(weight, input) * invstd *
                            (dy - OfChannels(grad_bias, input) / n -
                             normed * OfChannels(grad_weight, input) / n);
  return {grad_input.to(input.scalar_type()),
          grad_weight.to(weight.scalar_type()),
          grad_bias.to(weight.scalar_type())};
}

std::tuple<Tensor, Tensor> BatchNormStats(const Tensor& input, double epsilon) {
  const Moments moments = MomentsOf(input);
  const at::ScalarType type = StatisticsType(input);
  return {moments.mean.to(type),
          at::rsqrt(moments.variance + epsilon).to(type)};
}

Tensor BatchNormElemt(const Tensor& input, const OptionalTensor& weight,
                      const OptionalTensor& bias, const Tensor& mean,
                      const Tensor& invstd, double /*epsilon*/) {
  return Normalized(input, mean, invstd, weight, bias);
}

// `mean` and `invstd` are (devices, C), `counts` (devices).
std::tuple<Tensor, Tensor> BatchNormGatherStatsWithCounts(
    const Tensor& /*input*/, const Tensor& mean, const Tensor& invstd,
    const OptionalTensor& running_mean, const OptionalTensor& running_var,
    double momentum, double epsilon, const Tensor& counts) {
  const Tensor n = Wide(counts).reshape({-1, 1});
  const Tensor total = n.sum();
  const Tensor means = Wide(mean);
  const Tensor variances = Wide(invstd).square().reciprocal() - epsilon;
  const Tensor all_mean = (means * n).sum(0) / total;
  const Tensor all_variance =
      ((variances + (means - all_mean).square()) * n).sum(0) / total;
  Update(running_mean, all_mean, momentum);
  Update(running_var, all_variance * (total / (total - 1)), momentum);
  return {all_mean.to(mean.scalar_type()),
          at::rsqrt(all_variance + epsilon).to(invstd.scalar_type())};
}

std::tuple<Tensor, Tensor, Tensor, Tensor> BatchNormBackwardReduce(
    const Tensor& grad, const Tensor& input, const Tensor& mean,
    const Tensor& invstd, const OptionalTensor& weight, bool input_g,
    bool weight_g, bool bias_g) {
  const std::vector<int64_t> dims = AllButChannels(input);
  const Tensor dy = Wide(grad);
  const Tensor sum_dy = dy.sum(dims);
  const Tensor sum_dy_xmu =
      (dy * (Wide(input) - OfChannels(mean, input))).sum(dims);
  const at::ScalarType type =
      IsDefined(weight) ? weight->scalar_type() : StatisticsType(input);
  return {input_g ? sum_dy.to(mean.scalar_type()) : Tensor(),
          input_g ? sum_dy_xmu.to(mean.scalar_type()) : Tensor(),
          weight_g ? (sum_dy_xmu * Wide(invstd)).to(type) : Tensor(),
          bias_g ? sum_dy.to(type) : Tensor()};
}

Tensor BatchNormBackwardElemt(const Tensor& grad, const Tensor& input,
                              const Tensor& mean, const Tensor& invstd,
                              const OptionalTensor& weight,
                              const Tensor& sum_dy, const Tensor& sum_dy_xmu,
                              const Tensor& count) {
  const Tensor n = Wide(count).sum();
  const Tensor r = OfChannels(invstd, input);
  const Tensor centred = Wide(input) - OfChannels(mean, input);
  const Tensor dx = Wide(grad) - OfChannels(sum_dy, input) / n -
                    centred * r.square() * OfChannels(sum_dy_xmu, input) / n;
  const Tensor scaled = dx * r;
  return (IsDefined(weight) ? scaled * OfChannels(*weight, input) : scaled)
      .to(input.scalar_type());
}

}  // namespace

std::vector<GoldenRow> NormGoldens() {
  constexpr char kWhy[] = "no CPU kernel";
  return {
      GoldenOf<&RmsNormBackward>("aten::_fused_rms_norm_backward", kWhy),
      GoldenOf<&CudnnBatchNorm>("aten::cudnn_batch_norm", kWhy),
      GoldenOf<&CudnnBatchNormBackward>("aten::cudnn_batch_norm_backward",
                                        kWhy),
      GoldenOf<&BatchNormStats>("aten::batch_norm_stats", kWhy),
      GoldenOf<&BatchNormElemt>("aten::batch_norm_elemt", kWhy),
      GoldenOf<&BatchNormGatherStatsWithCounts>(
          "aten::batch_norm_gather_stats_with_counts", kWhy),
      GoldenOf<&BatchNormBackwardReduce>("aten::batch_norm_backward_reduce",
                                         kWhy),
      GoldenOf<&BatchNormBackwardElemt>("aten::batch_norm_backward_elemt",
                                        kWhy),
  };
}

}  // namespace flaggems
