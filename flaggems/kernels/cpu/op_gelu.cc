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
void GeluErf(const double* x, double* y, int64_t n) {
  using A = double;
  // -1 / sqrt(2) as a sum of two.
  constexpr double kExact = -0.70710678118654752440;
  constexpr A kHigh = kExact;
  constexpr A kLow = -4.8336466567264567e-17;
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

// The same in float, with one exponential: for z = |x| / sqrt(2) and
// t = 1 / (1 + z / 2), erfc(z) = t exp(-z^2 + p(t)). p interpolates
// log(exp(z^2) erfc(z) / t) at the Chebyshev points of [0.15, 1], degree 9; in
// float arithmetic it is within 3e-7 there. Where t is smaller, the result is
// below the smallest float. The roundings of z^2 = x^2 / 2 and of the exponent
// are put right to first order, because exp multiplies them.
void GeluErf(const float* x, float* y, int64_t n) {
  constexpr float kLargest = 20.0f;  // exp(-20^2 / 2) is 0
  constexpr float kP[] = {
      -1.26548064f,  0.999321282f,  0.380513072f, 0.0648206174f, -0.0900389254f,
      0.0956789553f, -0.913351953f, 1.32271278f,  -0.752422571f, 0.158247396f};
  constexpr float kHalfOfRoot = 0.353553391f;  // 1 / (2 sqrt(2))
  float exponents[kPointwiseBlock];
  float factors[kPointwiseBlock];
  float* const e = exponents;
  float* const f = factors;
  SimdFor(n, [=](int64_t i) {
    const float magnitude = std::fabs(x[i]);
    const float v = magnitude < kLargest ? magnitude : kLargest;
    const float t = 1.0f / (1.0f + kHalfOfRoot * v);
    float p = kP[9];
    p = p * t + kP[8];
    p = p * t + kP[7];
    p = p * t + kP[6];
    p = p * t + kP[5];
    p = p * t + kP[4];
    p = p * t + kP[3];
    p = p * t + kP[2];
    p = p * t + kP[1];
    p = p * t + kP[0];
    const float square = 0.5f * v * v;
    const float square_rest = std::fma(0.5f * v, v, -square);
    const float sum = p - square;
    const float sum_rest =
        square > std::fabs(p) ? p - (sum + square) : (p - sum) - square;
    e[i] = sum;
    f[i] = 0.5f * t * (1.0f + (sum_rest - square_rest));
  });
  ExpArray(e, e, n);
  SimdFor(n, [=](int64_t i) {
    const float v = x[i];
    const float tail = e[i] * f[i];
    y[i] = v * (v < 0 ? tail : 1.0f - tail);
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
  AT_DISPATCH_FLOATING_TYPES_AND2(
      at::kBFloat16, at::kHalf, iter.common_dtype(), "gelu_cpu", [&] {
        using A = at::opmath_type<scalar_t>;
        if (use_tanh) {
          MapUnary<scalar_t>(iter, GeluTanh<A>);
        } else {
          MapUnary<scalar_t>(
              iter, [](const A* a, A* y, int64_t n) { GeluErf(a, y, n); });
        }
      });
  return iter.output();
}

}  // namespace cpu
}  // namespace kernels
}  // namespace flaggems
