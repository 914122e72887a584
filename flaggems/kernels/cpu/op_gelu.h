// aten::gelu(Tensor self, *, str approximate='none') -> Tensor, CPU.

#ifndef FLAGGEMS_KERNELS_CPU_OP_GELU_H_
#define FLAGGEMS_KERNELS_CPU_OP_GELU_H_

#include <ATen/core/Tensor.h>
#include <c10/util/string_view.h>

namespace flaggems {
namespace kernels {
namespace cpu {

// approximate "none": self * Phi(self), through erfc, so that the negative tail
// keeps its digits; "tanh": self * sigmoid(2 k (self + c self^3)). gelu(Inf) is
// Inf; gelu(-Inf) is NaN, as in aten.
at::Tensor gelu(const at::Tensor& self, c10::string_view approximate);

}  // namespace cpu
}  // namespace kernels
}  // namespace flaggems

#endif  // FLAGGEMS_KERNELS_CPU_OP_GELU_H_
