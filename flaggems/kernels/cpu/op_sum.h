// aten::sum.dim_IntList(Tensor self, int[1]? dim, bool keepdim=False, *,
// ScalarType? dtype=None) -> Tensor, CPU.

#ifndef FLAGGEMS_KERNELS_CPU_OP_SUM_H_
#define FLAGGEMS_KERNELS_CPU_OP_SUM_H_

#include <ATen/core/Tensor.h>
#include <c10/util/OptionalArrayRef.h>

#include <optional>

namespace flaggems {
namespace kernels {
namespace cpu {

// Sum over dim (all if none). Accumulates as reduce.h says: the error does not
// grow with the number of terms. Integers and bools give int64.
at::Tensor sum(const at::Tensor& self, at::OptionalIntArrayRef dim,
               bool keepdim, std::optional<at::ScalarType> dtype);

}  // namespace cpu
}  // namespace kernels
}  // namespace flaggems

#endif  // FLAGGEMS_KERNELS_CPU_OP_SUM_H_
