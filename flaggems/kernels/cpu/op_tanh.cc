#include "flaggems/kernels/cpu/op_tanh.h"

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

at::Tensor tanh(const at::Tensor& self) {
  at::Tensor out;
  auto iter = at::TensorIterator::unary_float_op(out, self);
  AT_DISPATCH_FLOATING_AND_COMPLEX_TYPES_AND2(
      at::kBFloat16, at::kHalf, iter.common_dtype(), "tanh_cpu", [&] {
        MapUnary<scalar_t>(iter,
                           RealOrComplex([](const auto* a, auto* y,
                                            int64_t n) { TanhArray(a, y, n); },
                                         [](auto a) { return std::tanh(a); }));
      });
  return iter.output();
}

}  // namespace cpu
}  // namespace kernels
}  // namespace flaggems
