// aten::nll_loss_forward(Tensor self, Tensor target, Tensor? weight,
//   int reduction, SymInt ignore_index)
//   -> (Tensor output, Tensor total_weight), CUDA.
// aten::nll_loss_backward(Tensor grad_output, Tensor self, Tensor target,
//   Tensor? weight, int reduction, SymInt ignore_index, Tensor total_weight)
//   -> Tensor, CUDA.
// nll_loss2d_forward, nll_loss2d_backward: the same for (N, C, H, W).
// Sums are in double, in a fixed order. A target out of range is a device
// assertion, as in native aten.

#ifndef FLAGGEMS_KERNELS_CUDA_OP_NLL_LOSS_H_
#define FLAGGEMS_KERNELS_CUDA_OP_NLL_LOSS_H_

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <optional>
#include <tuple>

namespace flaggems {
namespace kernels {
namespace cuda {

std::tuple<at::Tensor, at::Tensor> nll_loss_forward(
    const at::Tensor& self, const at::Tensor& target,
    const std::optional<at::Tensor>& weight, int64_t reduction,
    int64_t ignore_index);
at::Tensor nll_loss_backward(const at::Tensor& grad_output,
                             const at::Tensor& self, const at::Tensor& target,
                             const std::optional<at::Tensor>& weight,
                             int64_t reduction, int64_t ignore_index,
                             const at::Tensor& total_weight);
std::tuple<at::Tensor, at::Tensor> nll_loss2d_forward(
    const at::Tensor& self, const at::Tensor& target,
    const std::optional<at::Tensor>& weight, int64_t reduction,
    int64_t ignore_index);
at::Tensor nll_loss2d_backward(const at::Tensor& grad_output,
                               const at::Tensor& self, const at::Tensor& target,
                               const std::optional<at::Tensor>& weight,
                               int64_t reduction, int64_t ignore_index,
                               const at::Tensor& total_weight);

}  // namespace cuda
}  // namespace kernels
}  // namespace flaggems

#endif  // FLAGGEMS_KERNELS_CUDA_OP_NLL_LOSS_H_
