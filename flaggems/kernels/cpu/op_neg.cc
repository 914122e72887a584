#include "flaggems/kernels/cpu/op_neg.h"

#include <ATen/Dispatch.h>
#include <ATen/TensorIterator.h>

#include "flaggems/kernels/cpu/pointwise.h"

namespace flaggems {
namespace kernels {
namespace cpu {

at::Tensor neg(const at::Tensor& self) {
  TORCH_CHECK(self.scalar_type() != at::kBool,
              "neg: bool tensors have no negative; use logical_not");
  at::Tensor out;
  auto iter = at::TensorIterator::unary_op(out, self);
  AT_DISPATCH_ALL_TYPES_AND_COMPLEX_AND3(
      at::kComplexHalf, at::kBFloat16, at::kHalf, iter.common_dtype(),
      "neg_cpu", [&] {
        using A = at::opmath_type<scalar_t>;
        MapUnary<scalar_t>(iter, Elementwise([](A a) -> A { return -a; }));
      });
  return iter.output();
}

}  // namespace cpu
}  // namespace kernels
}  // namespace flaggems
