// aten::native_layer_norm(Tensor input, SymInt[] normalized_shape,
// Tensor? weight, Tensor? bias, float eps) -> (Tensor, Tensor, Tensor), CPU.

#ifndef FLAGGEMS_KERNELS_CPU_OP_LAYER_NORM_H_
#define FLAGGEMS_KERNELS_CPU_OP_LAYER_NORM_H_

#include <ATen/core/Tensor.h>

#include <optional>
#include <tuple>

namespace flaggems {
namespace kernels {
namespace cpu {

// Output, mean and 1 / sqrt(variance + eps) of each row. The variance is that
// of the deviations (two passes), not a difference of large sums.
std::tuple<at::Tensor, at::Tensor, at::Tensor> layer_norm(
    const at::Tensor& input, at::IntArrayRef normalized_shape,
    const std::optional<at::Tensor>& weight,
    const std::optional<at::Tensor>& bias, double eps);

}  // namespace cpu
}  // namespace kernels
}  // namespace flaggems

#endif  // FLAGGEMS_KERNELS_CPU_OP_LAYER_NORM_H_
