#include "flaggems/kernels/cuda/op_activation.h"

#include <ATen/ops/result_type.h>
#include <c10/util/Exception.h>

#include "flaggems/kernels/cuda/elementwise.h"
#include "flaggems/kernels/cuda/op_activation_launch.h"

namespace flaggems {
namespace kernels {
namespace cuda {

namespace {

constexpr Elementwise kSilu = {LaunchSilu, "silu_cuda"};
constexpr Elementwise kSiluBackward = {LaunchSiluBackward,
                                       "silu_backward_cuda"};
constexpr Elementwise kSigmoidBackward = {LaunchSigmoidBackward,
                                          "sigmoid_backward_cuda"};
constexpr Elementwise kTanhBackward = {LaunchTanhBackward,
                                       "tanh_backward_cuda"};

bool IsTanh(c10::string_view approximate, const char* op) {
  if (approximate == "tanh") return true;
  TORCH_CHECK(approximate == "none", op,
              ": approximate must be 'none' or 'tanh', not '", approximate,
              "'");
  return false;
}

Elementwise Gelu(c10::string_view approximate) {
  return {IsTanh(approximate, "gelu") ? LaunchGeluTanh : LaunchGelu,
          "gelu_cuda"};
}

Elementwise GeluBackward(c10::string_view approximate) {
  return {IsTanh(approximate, "gelu_backward") ? LaunchGeluTanhBackward
                                               : LaunchGeluBackward,
          "gelu_backward_cuda"};
}

Elementwise LeakyRelu(const at::Tensor& self, const at::Scalar& slope) {
  return {LaunchLeakyRelu,
          "leaky_relu_cuda",
          false,
          {NumberOf(slope, self.scalar_type())}};
}

Elementwise Softplus(const at::Tensor& self, const at::Scalar& beta,
                     const at::Scalar& threshold) {
  const at::ScalarType dtype = self.scalar_type();
  return {LaunchSoftplus,
          "softplus_cuda",
          false,
          {NumberOf(beta, dtype), NumberOf(threshold, dtype)}};
}

// A number that is compared with elements and stored as one; refused where
// `dtype` cannot hold it.
Number Stored(const at::Scalar& scalar, at::ScalarType dtype) {
  if (dtype == at::kHalf) scalar.toHalf();
  if (dtype == at::kBFloat16) scalar.toBFloat16();
  return NumberOf(scalar, dtype);
}

Elementwise Threshold(const at::Tensor& self, const at::Scalar& threshold,
                      const at::Scalar& value) {
  const at::ScalarType dtype = self.scalar_type();
  return {LaunchThreshold,
          "threshold_cuda",
          false,
          {Stored(threshold, dtype), Stored(value, dtype)}};
}

Elementwise ThresholdBackward(const at::Tensor& grad_output,
                              const at::Tensor& self,
                              const at::Scalar& threshold) {
  CheckElements("threshold_cuda", {&grad_output, &self});
  return {LaunchThresholdBackward,
          "threshold_cuda",
          false,
          {Stored(threshold, at::result_type(grad_output, self))}};
}

}  // namespace

at::Tensor gelu(const at::Tensor& self, c10::string_view approximate) {
  return MapUnary(Gelu(approximate), self);
}
at::Tensor& gelu_(at::Tensor& self, c10::string_view approximate) {
  return MapUnaryOut(Gelu(approximate), self, self);
}
at::Tensor& gelu_out(const at::Tensor& self, c10::string_view approximate,
                     at::Tensor& out) {
  return MapUnaryOut(Gelu(approximate), self, out);
}

at::Tensor silu(const at::Tensor& self) { return MapUnary(kSilu, self); }
at::Tensor& silu_(at::Tensor& self) { return MapUnaryOut(kSilu, self, self); }
at::Tensor& silu_out(const at::Tensor& self, at::Tensor& out) {
  return MapUnaryOut(kSilu, self, out);
}

at::Tensor leaky_relu(const at::Tensor& self, const at::Scalar& slope) {
  return MapUnary(LeakyRelu(self, slope), self);
}
at::Tensor& leaky_relu_(at::Tensor& self, const at::Scalar& slope) {
  return MapUnaryOut(LeakyRelu(self, slope), self, self);
}
at::Tensor& leaky_relu_out(const at::Tensor& self, const at::Scalar& slope,
                           at::Tensor& out) {
  return MapUnaryOut(LeakyRelu(self, slope), self, out);
}

at::Tensor softplus(const at::Tensor& self, const at::Scalar& beta,
                    const at::Scalar& threshold) {
  return MapUnary(Softplus(self, beta, threshold), self);
}
at::Tensor& softplus_out(const at::Tensor& self, const at::Scalar& beta,
                         const at::Scalar& threshold, at::Tensor& out) {
  return MapUnaryOut(Softplus(self, beta, threshold), self, out);
}

at::Tensor threshold(const at::Tensor& self, const at::Scalar& threshold,
                     const at::Scalar& value) {
  return MapUnary(Threshold(self, threshold, value), self);
}
at::Tensor& threshold_(at::Tensor& self, const at::Scalar& threshold,
                       const at::Scalar& value) {
  return MapUnaryOut(Threshold(self, threshold, value), self, self);
}
at::Tensor& threshold_out(const at::Tensor& self, const at::Scalar& threshold,
                          const at::Scalar& value, at::Tensor& out) {
  return MapUnaryOut(Threshold(self, threshold, value), self, out);
}

at::Tensor gelu_backward(const at::Tensor& grad_output, const at::Tensor& self,
                         c10::string_view approximate) {
  return MapBinary(GeluBackward(approximate), grad_output, self);
}
at::Tensor& gelu_backward_out(const at::Tensor& grad_output,
                              const at::Tensor& self,
                              c10::string_view approximate,
                              at::Tensor& grad_input) {
  return MapBinaryOut(GeluBackward(approximate), grad_output, self, grad_input);
}

at::Tensor silu_backward(const at::Tensor& grad_output,
                         const at::Tensor& self) {
  return MapBinary(kSiluBackward, grad_output, self);
}
at::Tensor& silu_backward_out(const at::Tensor& grad_output,
                              const at::Tensor& self, at::Tensor& grad_input) {
  return MapBinaryOut(kSiluBackward, grad_output, self, grad_input);
}

at::Tensor sigmoid_backward(const at::Tensor& grad_output,
                            const at::Tensor& output) {
  return MapBinary(kSigmoidBackward, grad_output, output);
}
at::Tensor& sigmoid_backward_out(const at::Tensor& grad_output,
                                 const at::Tensor& output,
                                 at::Tensor& grad_input) {
  return MapBinaryOut(kSigmoidBackward, grad_output, output, grad_input);
}

at::Tensor tanh_backward(const at::Tensor& grad_output,
                         const at::Tensor& output) {
  return MapBinary(kTanhBackward, grad_output, output);
}
at::Tensor& tanh_backward_out(const at::Tensor& grad_output,
                              const at::Tensor& output,
                              at::Tensor& grad_input) {
  return MapBinaryOut(kTanhBackward, grad_output, output, grad_input);
}

at::Tensor threshold_backward(const at::Tensor& grad_output,
                              const at::Tensor& self,
                              const at::Scalar& threshold) {
  // In aten's order, which decides on the result's strides.
  return MapBinary(ThresholdBackward(grad_output, self, threshold), self,
                   grad_output);
}
at::Tensor& threshold_backward_out(const at::Tensor& grad_output,
                                   const at::Tensor& self,
                                   const at::Scalar& threshold,
                                   at::Tensor& grad_input) {
  return MapBinaryOut(ThresholdBackward(grad_output, self, threshold), self,
                      grad_output, grad_input);
}

}  // namespace cuda
}  // namespace kernels
}  // namespace flaggems
