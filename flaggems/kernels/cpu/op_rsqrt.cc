#include "flaggems/kernels/cpu/op_rsqrt.h"

#include <ATen/Dispatch.h>
#include <ATen/TensorIterator.h>
#include <c10/util/complex.h>

#include <cmath>

#include "flaggems/kernels/cpu/pointwise.h"

namespace flaggems {
namespace kernels {
namespace cpu {

at::Tensor rsqrt(const at::Tensor& self) {
  at::Tensor out;
  auto iter = at::TensorIterator::unary_float_op(out, self);
  AT_DISPATCH_FLOATING_AND_COMPLEX_TYPES_AND2(
      at::kBFloat16, at::kHalf, iter.common_dtype(), "rsqrt_cpu", [&] {
        MapUnary<scalar_t>(iter, Elementwise([](auto a) {
                             return decltype(a)(1) / std::sqrt(a);
                           }));
      });
  return iter.output();
}

}  // namespace cpu
}  // namespace kernels
}  // namespace flaggems
