// aten::mean.dim(Tensor self, int[1]? dim, bool keepdim=False, *,
// ScalarType? dtype=None) -> Tensor, CPU.

#ifndef FLAGGEMS_KERNELS_CPU_OP_MEAN_H_
#define FLAGGEMS_KERNELS_CPU_OP_MEAN_H_

#include <ATen/core/Tensor.h>
#include <c10/util/OptionalArrayRef.h>

#include <optional>

namespace flaggems {
namespace kernels {
namespace cpu {

// Mean over dim (all if none): the sum of op_sum.h before rounding, divided
// once. The mean of nothing is NaN.
at::Tensor mean(const at::Tensor& self, at::OptionalIntArrayRef dim,
                bool keepdim, std::optional<at::ScalarType> dtype);

}  // namespace cpu
}  // namespace kernels
}  // namespace flaggems

#endif  // FLAGGEMS_KERNELS_CPU_OP_MEAN_H_
