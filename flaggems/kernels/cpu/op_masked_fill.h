// aten::masked_fill.Scalar(Tensor self, Tensor mask, Scalar value) -> Tensor,
// CPU.

#ifndef FLAGGEMS_KERNELS_CPU_OP_MASKED_FILL_H_
#define FLAGGEMS_KERNELS_CPU_OP_MASKED_FILL_H_

#include <ATen/core/Tensor.h>
#include <c10/core/Scalar.h>

namespace flaggems {
namespace kernels {
namespace cpu {

// A contiguous copy of self with value where mask is true.
at::Tensor masked_fill(const at::Tensor& self, const at::Tensor& mask,
                       const at::Scalar& value);

}  // namespace cpu
}  // namespace kernels
}  // namespace flaggems

#endif  // FLAGGEMS_KERNELS_CPU_OP_MASKED_FILL_H_
