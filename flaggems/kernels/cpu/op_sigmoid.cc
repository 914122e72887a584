#include "flaggems/kernels/cpu/op_sigmoid.h"

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

at::Tensor sigmoid(const at::Tensor& self) {
  at::Tensor out;
  auto iter = at::TensorIterator::unary_float_op(out, self);
  AT_DISPATCH_FLOATING_AND_COMPLEX_TYPES_AND2(
      at::kBFloat16, at::kHalf, iter.common_dtype(), "sigmoid_cpu", [&] {
        MapUnary<scalar_t>(
            iter, RealOrComplex([](const auto* a, auto* y,
                                   int64_t n) { SigmoidArray(a, y, n); },
                                [](auto a) {
                                  // exp of a number with a negative real part
                                  // does not overflow.
                                  using A = decltype(a);
                                  if (a.real() < 0) {
                                    const A e = std::exp(a);
                                    return e / (A(1) + e);
                                  }
                                  return A(1) / (A(1) + std::exp(-a));
                                }));
      });
  return iter.output();
}

}  // namespace cpu
}  // namespace kernels
}  // namespace flaggems
