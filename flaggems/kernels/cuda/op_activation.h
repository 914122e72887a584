// Activation functions and their backwards, CUDA.

#ifndef FLAGGEMS_KERNELS_CUDA_OP_ACTIVATION_H_
#define FLAGGEMS_KERNELS_CUDA_OP_ACTIVATION_H_

#include <ATen/core/Tensor.h>
#include <c10/core/Scalar.h>
#include <c10/util/string_view.h>

namespace flaggems {
namespace kernels {
namespace cuda {

at::Tensor gelu(const at::Tensor& self, c10::string_view approximate);
at::Tensor& gelu_(at::Tensor& self, c10::string_view approximate);
at::Tensor& gelu_out(const at::Tensor& self, c10::string_view approximate,
                     at::Tensor& out);

at::Tensor silu(const at::Tensor& self);
at::Tensor& silu_(at::Tensor& self);
at::Tensor& silu_out(const at::Tensor& self, at::Tensor& out);

at::Tensor leaky_relu(const at::Tensor& self, const at::Scalar& slope);
at::Tensor& leaky_relu_(at::Tensor& self, const at::Scalar& slope);
at::Tensor& leaky_relu_out(const at::Tensor& self, const at::Scalar& slope,
                           at::Tensor& out);

at::Tensor softplus(const at::Tensor& self, const at::Scalar& beta,
                    const at::Scalar& threshold);
at::Tensor& softplus_out(const at::Tensor& self, const at::Scalar& beta,
                         const at::Scalar& threshold, at::Tensor& out);

at::Tensor threshold(const at::Tensor& self, const at::Scalar& threshold,
                     const at::Scalar& value);
at::Tensor& threshold_(at::Tensor& self, const at::Scalar& threshold,
                       const at::Scalar& value);
at::Tensor& threshold_out(const at::Tensor& self, const at::Scalar& threshold,
                          const at::Scalar& value, at::Tensor& out);

at::Tensor gelu_backward(const at::Tensor& grad_output, const at::Tensor& self,
                         c10::string_view approximate);
at::Tensor& gelu_backward_out(const at::Tensor& grad_output,
                              const at::Tensor& self,
                              c10::string_view approximate,
                              at::Tensor& grad_input);

at::Tensor silu_backward(const at::Tensor& grad_output, const at::Tensor& self);
at::Tensor& silu_backward_out(const at::Tensor& grad_output,
                              const at::Tensor& self, at::Tensor& grad_input);

at::Tensor sigmoid_backward(const at::Tensor& grad_output,
                            const at::Tensor& output);
at::Tensor& sigmoid_backward_out(const at::Tensor& grad_output,
                                 const at::Tensor& output,
                                 at::Tensor& grad_input);

at::Tensor tanh_backward(const at::Tensor& grad_output,
                         const at::Tensor& output);
at::Tensor& tanh_backward_out(const at::Tensor& grad_output,
                              const at::Tensor& output, at::Tensor& grad_input);

at::Tensor threshold_backward(const at::Tensor& grad_output,
                              const at::Tensor& self,
                              const at::Scalar& threshold);
at::Tensor& threshold_backward_out(const at::Tensor& grad_output,
                                   const at::Tensor& self,
                                   const at::Scalar& threshold,
                                   at::Tensor& grad_input);

}  // namespace cuda
}  // namespace kernels
}  // namespace flaggems

#endif  // FLAGGEMS_KERNELS_CUDA_OP_ACTIVATION_H_
