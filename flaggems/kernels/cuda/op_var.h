// Variances on CUDA: aten::var.correction, aten::std.correction and
// aten::var_mean.correction.

#ifndef FLAGGEMS_KERNELS_CUDA_OP_VAR_H_
#define FLAGGEMS_KERNELS_CUDA_OP_VAR_H_

#include <ATen/core/Tensor.h>
#include <c10/core/Scalar.h>
#include <c10/util/OptionalArrayRef.h>

#include <optional>
#include <tuple>

namespace flaggems {
namespace kernels {
namespace cuda {

// One pass over the input; squared distances are from an element of the output
// and are joined in double, so that a large mean costs no digits. The mean of
// elements with infinities of one sign is that infinity, wherever they stand;
// aten's var_mean mostly makes NaN of it.
at::Tensor var(const at::Tensor& self, at::OptionalIntArrayRef dim,
               const std::optional<at::Scalar>& correction, bool keepdim);
at::Tensor std(const at::Tensor& self, at::OptionalIntArrayRef dim,
               const std::optional<at::Scalar>& correction, bool keepdim);
std::tuple<at::Tensor, at::Tensor> var_mean(
    const at::Tensor& self, at::OptionalIntArrayRef dim,
    const std::optional<at::Scalar>& correction, bool keepdim);

}  // namespace cuda
}  // namespace kernels
}  // namespace flaggems

#endif  // FLAGGEMS_KERNELS_CUDA_OP_VAR_H_
