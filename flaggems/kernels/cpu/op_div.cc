#include "flaggems/kernels/cpu/op_div.h"

#include <ATen/Dispatch.h>
#include <ATen/TensorIterator.h>

#include "flaggems/kernels/cpu/pointwise.h"

namespace flaggems {
namespace kernels {
namespace cpu {

at::Tensor div(const at::Tensor& self, const at::Tensor& other) {
  at::Tensor out;
  auto iter = at::TensorIterator::binary_float_op(out, self, other);
  AT_DISPATCH_FLOATING_AND_COMPLEX_TYPES_AND2(
      at::kBFloat16, at::kHalf, iter.common_dtype(), "div_cpu", [&] {
        using A = at::opmath_type<scalar_t>;
        MapBinary<scalar_t>(iter,
                            Elementwise2([](A a, A b) -> A { return a / b; }));
      });
  return iter.output();
}

}  // namespace cpu
}  // namespace kernels
}  // namespace flaggems
