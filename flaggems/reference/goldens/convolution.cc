#include "flaggems/reference/goldens/convolution.h"

#include <ATen/ATen.h>

#include <optional>
#include <vector>

namespace flaggems {
namespace {

using at::Tensor;
using OptionalTensor = std::optional<Tensor>;

OptionalTensor Wide(const OptionalTensor& tensor) {
  if (!tensor || !tensor->defined()) return std::nullopt;
  return tensor->to(at::kDouble);
}

Tensor Convolve(const Tensor& input, const Tensor& weight,
                const OptionalTensor& bias, at::IntArrayRef stride,
                at::IntArrayRef padding, at::IntArrayRef dilation,
                int64_t groups) {
  const std::vector<int64_t> none(padding.size(), 0);
  return at::convolution(input.to(at::kDouble), weight.to(at::kDouble),
                         Wide(bias), stride, padding, dilation,
                         /*transposed=*/false, none, groups);
}

Tensor Cudnn(const Tensor& self, const Tensor& weight, at::IntArrayRef padding,
             at::IntArrayRef stride, at::IntArrayRef dilation, int64_t groups,
             bool, bool, bool) {
  return Convolve(self, weight, std::nullopt, stride, padding, dilation, groups)
      .to(self.scalar_type());
}

Tensor CudnnTranspose(const Tensor& self, const Tensor& weight,
                      at::IntArrayRef padding, at::IntArrayRef output_padding,
                      at::IntArrayRef stride, at::IntArrayRef dilation,
                      int64_t groups, bool, bool, bool) {
  return at::convolution(self.to(at::kDouble), weight.to(at::kDouble),
                         std::nullopt, stride, padding, dilation,
                         /*transposed=*/true, output_padding, groups)
      .to(self.scalar_type());
}

Tensor CudnnRelu(const Tensor& self, const Tensor& weight,
                 const OptionalTensor& bias, at::IntArrayRef stride,
                 at::IntArrayRef padding, at::IntArrayRef dilation,
                 int64_t groups) {
  return Convolve(self, weight, bias, stride, padding, dilation, groups)
      .relu()
      .to(self.scalar_type());
}

Tensor CudnnAddRelu(const Tensor& self, const Tensor& weight, const Tensor& z,
                    const std::optional<at::Scalar>& alpha,
                    const OptionalTensor& bias, at::IntArrayRef stride,
                    at::IntArrayRef padding, at::IntArrayRef dilation,
                    int64_t groups) {
  return Convolve(self, weight, bias, stride, padding, dilation, groups)
      .add(z.to(at::kDouble), alpha.value_or(1))
      .relu()
      .to(self.scalar_type());
}

// One filter, or several, for each channel.
Tensor Depthwise(const Tensor& self, const Tensor& weight,
                 at::IntArrayRef /*kernel_size*/, const OptionalTensor& bias,
                 at::IntArrayRef stride, at::IntArrayRef padding,
                 at::IntArrayRef dilation) {
  const bool batched = self.dim() == weight.dim();
  const Tensor input = batched ? self : self.unsqueeze(0);
  const Tensor result = Convolve(input, weight, bias, stride, padding, dilation,
                                 /*groups=*/input.size(1))
                            .to(self.scalar_type());
  return batched ? result : result.squeeze(0);
}

}  // namespace

std::vector<GoldenRow> ConvolutionGoldens() {
  constexpr char kWhy[] = "no CPU kernel";
  return {
      GoldenOf<&Cudnn>("aten::cudnn_convolution", kWhy),
      GoldenOf<&CudnnTranspose>("aten::cudnn_convolution_transpose", kWhy),
      GoldenOf<&CudnnRelu>("aten::cudnn_convolution_relu", kWhy),
      GoldenOf<&CudnnAddRelu>("aten::cudnn_convolution_add_relu", kWhy),
      GoldenOf<&Depthwise>("aten::_conv_depthwise2d", kWhy),
      GoldenOf<&Depthwise>("aten::conv_depthwise3d", kWhy),
  };
}

}  // namespace flaggems
