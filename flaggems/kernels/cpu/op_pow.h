// aten::pow.Tensor_Scalar(Tensor self, Scalar exponent) -> Tensor, CPU.

#ifndef FLAGGEMS_KERNELS_CPU_OP_POW_H_
#define FLAGGEMS_KERNELS_CPU_OP_POW_H_

#include <ATen/core/Tensor.h>
#include <c10/core/Scalar.h>

namespace flaggems {
namespace kernels {
namespace cpu {

// self^exponent in the promoted type of both.
at::Tensor pow(const at::Tensor& self, const at::Scalar& exponent);

}  // namespace cpu
}  // namespace kernels
}  // namespace flaggems

#endif  // FLAGGEMS_KERNELS_CPU_OP_POW_H_
