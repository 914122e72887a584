// aten::native_group_norm(Tensor input, Tensor? weight, Tensor? bias, SymInt N,
// SymInt C, SymInt HxW, int group, float eps) -> (Tensor, Tensor, Tensor),
// CUDA.

#ifndef FLAGGEMS_KERNELS_CUDA_OP_GROUP_NORM_H_
#define FLAGGEMS_KERNELS_CUDA_OP_GROUP_NORM_H_

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <optional>
#include <tuple>

namespace flaggems {
namespace kernels {
namespace cuda {

// Output, mean and 1 / sqrt(variance + eps) of each sample's groups; all of the
// input's dtype, but the output is computed from unrounded statistics. One pass
// over memory for groups of up to 32768 elements (262144 on Hopper), two
// beyond.
std::tuple<at::Tensor, at::Tensor, at::Tensor> group_norm(
    const at::Tensor& input, const std::optional<at::Tensor>& weight,
    const std::optional<at::Tensor>& bias, int64_t N, int64_t C, int64_t HxW,
    int64_t group, double eps);

}  // namespace cuda
}  // namespace kernels
}  // namespace flaggems

#endif  // FLAGGEMS_KERNELS_CUDA_OP_GROUP_NORM_H_
