#include "flaggems/kernels/cpu/op_bmm.h"

#include <ATen/ops/empty.h>

#include "flaggems/kernels/cpu/gemm.h"

namespace flaggems {
namespace kernels {
namespace cpu {

at::Tensor bmm(const at::Tensor& self, const at::Tensor& mat2) {
  TORCH_CHECK(self.dim() == 3 && mat2.dim() == 3,
              "bmm: both arguments must have 3 dimensions, got shapes ",
              self.sizes(), " and ", mat2.sizes());
  TORCH_CHECK(self.size(0) == mat2.size(0) && self.size(2) == mat2.size(1),
              "bmm: shapes ", self.sizes(), " and ", mat2.sizes(),
              " cannot be multiplied");
  // aten refuses these before it compares the two dtypes.
  TORCH_CHECK_NOT_IMPLEMENTED(
      self.scalar_type() == mat2.scalar_type() ||
          (self.scalar_type() != at::kBool &&
           !at::isBarebonesUnsignedType(self.scalar_type())),
      "bmm_cpu: not implemented for ", self.scalar_type());
  TORCH_CHECK(self.scalar_type() == mat2.scalar_type(),
              "bmm: both arguments must have the same dtype, got ",
              self.scalar_type(), " and ", mat2.scalar_type());
  at::Tensor out =
      at::empty({self.size(0), self.size(1), mat2.size(2)}, self.options());
  BatchedGemm(self, mat2, out);
  return out;
}

}  // namespace cpu
}  // namespace kernels
}  // namespace flaggems
