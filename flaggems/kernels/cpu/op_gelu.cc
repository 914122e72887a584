#include "flaggems/kernels/cpu/op_gelu.h"

#include <ATen/Dispatch.h>
#include <ATen/TensorIterator.h>

#include <cmath>
#include <cstdint>

#include "flaggems/kernels/cpu/pointwise.h"
#include "flaggems/kernels/cpu/vec_math.h"

namespace flaggems {
namespace kernels {
namespace cpu {
namespace {

// x * erfc(-x / sqrt(2)) / 2. The argument z of erfc is rounded, and a relative
// error d of z becomes 2 z^2 d in the tail (z up to 10), so the rounding error
// is found and put right to first order: erfc(z + e) = erfc(z) (1 - 2 z e).
template <typename A>
void GeluErf(const A* x, A* y, int64_t n) {
  // -1 / sqrt(2) as a sum of two.
  constexpr double kExact = -0.70710678118654752440;
  constexpr A kHigh = static_cast<A>(kExact);
  constexpr A kLow = sizeof(A) == sizeof(float)
                         ? static_cast<A>(kExact - static_cast<double>(kHigh))
                         : static_cast<A>(4.8336466567264567e-17);
  A erfc[kPointwiseBlock];
  A* const e = erfc;
  SimdFor(n, [=](int64_t i) { e[i] = x[i] * kHigh; });
  ErfcArray(e, e, n);
  SimdFor(n, [=](int64_t i) {
    const A v = x[i];
    const A z = v * kHigh;
    const A rest = std::fma(v, kHigh, -z) + v * kLow;
    // Only the tail needs it, and an infinite x has no rest.
    const A factor = z > A(1) && z < A(100) ? A(1) - A(2) * z * rest : A(1);
    y[i] = v * (A(0.5) * e[i] * factor);
  });
}

// x * sigmoid(2 sqrt(2 / pi) (x + 0.044715 x^3)), which equals
// x * (1 + tanh(..)) / 2 without its cancellation.
template <typename A>
void GeluTanh(const A* x, A* y, int64_t n) {
  constexpr A kScale = static_cast<A>(1.5957691216057307117597842397375);
  constexpr A kCubic = static_cast<A>(0.044715);
  A argument[kPointwiseBlock];
  A* const z = argument;
  SimdFor(n, [=](int64_t i) {
    const A v = x[i];
    z[i] = kScale * (v + kCubic * v * v * v);
  });
  MulSigmoidArray(x, z, y, n);
}

}  // namespace

at::Tensor gelu(const at::Tensor& self, c10::string_view approximate) {
  const bool use_tanh = approximate == "tanh";
  TORCH_CHECK(use_tanh || approximate == "none",
              "gelu: approximate must be 'none' or 'tanh', not '", approximate,
              "'");
  at::Tensor out;
  auto iter = at::TensorIterator::unary_op(out, self);
  AT_DISPATCH_FLOATING_TYPES_AND2(at::kBFloat16, at::kHalf, iter.common_dtype(),
                                  "gelu_cpu", [&] {
                                    using A = at::opmath_type<scalar_t>;
                                    if (use_tanh) {
                                      MapUnary<scalar_t>(iter, GeluTanh<A>);
                                    } else {
                                      MapUnary<scalar_t>(iter, GeluErf<A>);
                                    }
                                  });
  return iter.output();
}

}  // namespace cpu
}  // namespace kernels
}  // namespace flaggems
