// Softmax, log softmax and their gradients, CUDA:
//   aten::_softmax(Tensor self, int dim, bool half_to_float) -> Tensor
//   aten::_log_softmax, aten::_softmax_backward_data,
//   aten::_log_softmax_backward_data, and the .out overloads.

#ifndef FLAGGEMS_KERNELS_CUDA_OP_SOFTMAX_H_
#define FLAGGEMS_KERNELS_CUDA_OP_SOFTMAX_H_

#include <ATen/core/Tensor.h>
#include <c10/core/ScalarType.h>

#include <cstdint>

namespace flaggems {
namespace kernels {
namespace cuda {

// exp(self - max) / sum(exp(self - max)) along dim, computed in float (double
// for float64); half_to_float leaves the result of float16 in float32. One pass
// over memory for rows of up to 32768 elements (262144 on Hopper), two beyond.
at::Tensor softmax(const at::Tensor& self, int64_t dim, bool half_to_float);
at::Tensor& softmax_out(const at::Tensor& self, int64_t dim, bool half_to_float,
                        at::Tensor& out);

// self - max - log(sum(exp(self - max))).
at::Tensor log_softmax(const at::Tensor& self, int64_t dim, bool half_to_float);
at::Tensor& log_softmax_out(const at::Tensor& self, int64_t dim,
                            bool half_to_float, at::Tensor& out);

// output (grad_output - sum(grad_output output)). input_dtype: that of the
// forward's self, float16 for a forward with half_to_float.
at::Tensor softmax_backward_data(const at::Tensor& grad_output,
                                 const at::Tensor& output, int64_t dim,
                                 at::ScalarType input_dtype);
at::Tensor& softmax_backward_data_out(const at::Tensor& grad_output,
                                      const at::Tensor& output, int64_t dim,
                                      at::ScalarType input_dtype,
                                      at::Tensor& grad_input);

// grad_output - exp(output) sum(grad_output).
at::Tensor log_softmax_backward_data(const at::Tensor& grad_output,
                                     const at::Tensor& output, int64_t dim,
                                     at::ScalarType input_dtype);
at::Tensor& log_softmax_backward_data_out(const at::Tensor& grad_output,
                                          const at::Tensor& output, int64_t dim,
                                          at::ScalarType input_dtype,
                                          at::Tensor& out);

}  // namespace cuda
}  // namespace kernels
}  // namespace flaggems

#endif  // FLAGGEMS_KERNELS_CUDA_OP_SOFTMAX_H_
