#include "flaggems/kernels/cpu/op_exp.h"

#include <ATen/Dispatch.h>
#include <ATen/TensorIterator.h>
#include <c10/util/complex.h>

#include <cmath>
#include <cstdint>

#include "flaggems/kernels/cpu/pointwise.h"
#include "flaggems/kernels/cpu/vec_math.h"

namespace flaggems {
namespace kernels {
namespace cpu {

at::Tensor exp(const at::Tensor& self) {
  at::Tensor out;
  auto iter = at::TensorIterator::unary_float_op(out, self);
  AT_DISPATCH_FLOATING_AND_COMPLEX_TYPES_AND2(
      at::kBFloat16, at::kHalf, iter.common_dtype(), "exp_cpu", [&] {
        MapUnary<scalar_t>(iter,
                           RealOrComplex([](const auto* a, auto* y,
                                            int64_t n) { ExpArray(a, y, n); },
                                         [](auto a) { return std::exp(a); }));
      });
  return iter.output();
}

}  // namespace cpu
}  // namespace kernels
}  // namespace flaggems
