#include "flaggems/kernels/cpu/op_mm.h"

#include <ATen/ops/empty.h>

#include "flaggems/kernels/cpu/gemm.h"

namespace flaggems {
namespace kernels {
namespace cpu {

at::Tensor mm(const at::Tensor& self, const at::Tensor& mat2) {
  TORCH_CHECK(self.dim() == 2, "mm: self must be a matrix, not of shape ",
              self.sizes());
  TORCH_CHECK(mat2.dim() == 2, "mm: mat2 must be a matrix, not of shape ",
              mat2.sizes());
  TORCH_CHECK(self.size(1) == mat2.size(0), "mm: shapes ", self.sizes(),
              " and ", mat2.sizes(), " cannot be multiplied");
  TORCH_CHECK(self.scalar_type() == mat2.scalar_type(),
              "mm: both matrices must have the same dtype, got ",
              self.scalar_type(), " and ", mat2.scalar_type());
  at::Tensor out = at::empty({self.size(0), mat2.size(1)}, self.options());
  Gemm(self, mat2, /*addend=*/at::Tensor(), /*beta=*/0, /*alpha=*/1, out);
  return out;
}

}  // namespace cpu
}  // namespace kernels
}  // namespace flaggems
