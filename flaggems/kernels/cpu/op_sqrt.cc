#include "flaggems/kernels/cpu/op_sqrt.h"

#include <ATen/Dispatch.h>
#include <ATen/TensorIterator.h>
#include <c10/util/complex.h>

#include <cmath>

#include "flaggems/kernels/cpu/pointwise.h"

namespace flaggems {
namespace kernels {
namespace cpu {

at::Tensor sqrt(const at::Tensor& self) {
  at::Tensor out;
  auto iter = at::TensorIterator::unary_float_op(out, self);
  AT_DISPATCH_FLOATING_AND_COMPLEX_TYPES_AND2(
      at::kBFloat16, at::kHalf, iter.common_dtype(), "sqrt_cpu", [&] {
        MapUnary<scalar_t>(iter,
                           Elementwise([](auto a) { return std::sqrt(a); }));
      });
  return iter.output();
}

}  // namespace cpu
}  // namespace kernels
}  // namespace flaggems
