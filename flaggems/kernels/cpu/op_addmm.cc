#include "flaggems/kernels/cpu/op_addmm.h"

#include <ATen/ops/empty.h>

#include "flaggems/kernels/cpu/gemm.h"

namespace flaggems {
namespace kernels {
namespace cpu {

at::Tensor addmm(const at::Tensor& self, const at::Tensor& mat1,
                 const at::Tensor& mat2, const at::Scalar& beta,
                 const at::Scalar& alpha) {
  TORCH_CHECK(mat1.dim() == 2, "addmm: mat1 must be a matrix, not of shape ",
              mat1.sizes());
  TORCH_CHECK(mat2.dim() == 2, "addmm: mat2 must be a matrix, not of shape ",
              mat2.sizes());
  TORCH_CHECK(mat1.size(1) == mat2.size(0), "addmm: shapes ", mat1.sizes(),
              " and ", mat2.sizes(), " cannot be multiplied");
  TORCH_CHECK(self.scalar_type() == mat2.scalar_type() &&
                  mat1.scalar_type() == mat2.scalar_type(),
              "addmm: self, mat1 and mat2 must have the same dtype, got ",
              self.scalar_type(), ", ", mat1.scalar_type(), " and ",
              mat2.scalar_type());
  const int64_t m = mat1.size(0), n = mat2.size(1);
  const at::Tensor addend = self.expand({m, n});
  at::Tensor out = at::empty({m, n}, self.options());
  Gemm(mat1, mat2, addend, beta, alpha, out);
  return out;
}

}  // namespace cpu
}  // namespace kernels
}  // namespace flaggems
