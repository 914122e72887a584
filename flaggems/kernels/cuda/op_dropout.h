// aten::native_dropout(Tensor input, float p, bool? train) -> (Tensor, Tensor),
//   CUDA.
// aten::native_dropout_backward(Tensor grad_output, Tensor mask, float scale)
//   -> Tensor, CUDA.
// The random numbers are Philox4x32-10 from the state of the device's default
// generator, also in a graph: the same state gives the same mask (not that of
// native aten), whatever the dtype.

#ifndef FLAGGEMS_KERNELS_CUDA_OP_DROPOUT_H_
#define FLAGGEMS_KERNELS_CUDA_OP_DROPOUT_H_

#include <ATen/core/Tensor.h>

#include <optional>
#include <tuple>

namespace flaggems {
namespace kernels {
namespace cuda {

std::tuple<at::Tensor, at::Tensor> native_dropout(const at::Tensor& input,
                                                  double p,
                                                  std::optional<bool> train);
at::Tensor native_dropout_backward(const at::Tensor& grad_output,
                                   const at::Tensor& mask, double scale);

}  // namespace cuda
}  // namespace kernels
}  // namespace flaggems

#endif  // FLAGGEMS_KERNELS_CUDA_OP_DROPOUT_H_
