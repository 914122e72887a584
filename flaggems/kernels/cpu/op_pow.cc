#include "flaggems/kernels/cpu/op_pow.h"

#include <ATen/Dispatch.h>
#include <ATen/TensorIterator.h>
#include <ATen/ops/result_type.h>
#include <c10/util/complex.h>

#include <cmath>
#include <cstdint>
#include <type_traits>

#include "flaggems/kernels/cpu/pointwise.h"
#include "flaggems/kernels/cpu/vec_math.h"

namespace flaggems {
namespace kernels {
namespace cpu {
namespace {

template <typename T>
T IntegerPower(T base, int64_t exponent) {
  // Wraps as integers of the type do; unsigned, because the wrapping of signed
  // ones is undefined.
  uint64_t result = 1;
  uint64_t factor = static_cast<uint64_t>(base);
  for (; exponent > 0; exponent >>= 1) {
    if (exponent & 1) result *= factor;
    factor *= factor;
  }
  return static_cast<T>(result);
}

// The exponents that aten computes by multiplication, division and sqrt, for
// the same special values (the square root of -Inf, for instance).
template <typename T, typename A>
bool SimplePower(at::TensorIteratorBase& iter, double exponent) {
  // Of float16, aten takes no roots but powers: that of -Inf is Inf, not NaN,
  // and that of -0 has no sign.
  constexpr bool kRoots = !std::is_same<T, at::Half>::value;
  if (exponent == 2) {
    MapUnary<T>(iter, Elementwise([](A a) -> A { return a * a; }));
  } else if (exponent == 3) {
    MapUnary<T>(iter, Elementwise([](A a) -> A { return a * a * a; }));
  } else if (!kRoots && std::fabs(exponent) == 0.5) {
    return false;
  } else if (exponent == 0.5) {
    MapUnary<T>(iter, Elementwise([](A a) -> A { return std::sqrt(a); }));
  } else if (exponent == -0.5) {
    MapUnary<T>(iter,
                Elementwise([](A a) -> A { return A(1) / std::sqrt(a); }));
  } else if (exponent == -1) {
    MapUnary<T>(iter, Elementwise([](A a) -> A { return A(1) / a; }));
  } else if (exponent == -2) {
    MapUnary<T>(iter, Elementwise([](A a) -> A {
                  const A r = A(1) / a;
                  return r * r;
                }));
  } else {
    return false;
  }
  return true;
}

template <typename T, typename A>
void RealPower(at::TensorIteratorBase& iter, double exponent) {
  if (SimplePower<T, A>(iter, exponent)) return;
  const A rounded = static_cast<A>(exponent);
  if (static_cast<double>(rounded) == exponent) {
    MapUnary<T>(iter, [rounded](const A* a, A* y, int64_t n) {
      PowArray(a, rounded, y, n);
    });
    return;
  }
  // Rounding the exponent would cost log(a) ulps.
  MapUnary<T>(iter, [exponent](const A* a, A* y, int64_t n) {
    double wide[kPointwiseBlock];
    for (int64_t i = 0; i < n; ++i) wide[i] = a[i];
    PowArray(wide, exponent, wide, n);
    for (int64_t i = 0; i < n; ++i) y[i] = static_cast<A>(wide[i]);
  });
}

template <typename T>
void FloatPower(at::TensorIteratorBase& iter, const at::Scalar& exponent) {
  using A = at::opmath_type<T>;
  if constexpr (c10::is_complex<A>::value) {
    if (!exponent.isComplex() && SimplePower<T, A>(iter, exponent.toDouble())) {
      return;
    }
    // In double: exp(e log(a)) loses digits in proportion to log(a).
    using Wide = c10::complex<double>;
    const Wide e = exponent.to<Wide>();
    MapUnary<T>(iter, Elementwise([e](A a) -> A {
                  return static_cast<A>(std::pow(static_cast<Wide>(a), e));
                }));
  } else {
    RealPower<T, A>(iter, exponent.toDouble());
  }
}

}  // namespace

at::Tensor pow(const at::Tensor& self, const at::Scalar& exponent) {
  TORCH_CHECK(!(at::isIntegralType(self.scalar_type(), true) &&
                exponent.isIntegral(true) && exponent.toLong() < 0),
              "pow: an integer to a negative integer power is not an integer; "
              "make the base or the exponent a floating point number");
  const at::ScalarType dtype = at::result_type(self, exponent);
  at::Tensor out;
  auto iter = at::TensorIterator::unary_op(out, self.to(dtype));
  if (exponent.equal(0.0) || exponent.equal(false)) {
    return iter.output().fill_(1);
  }
  if (exponent.equal(1.0) || exponent.equal(true)) {
    return iter.output().copy_(self);
  }
  if (at::isIntegralType(dtype, /*includeBool=*/false)) {
    AT_DISPATCH_INTEGRAL_TYPES(dtype, "pow_cpu", [&] {
      const int64_t e = exponent.to<int64_t>();
      MapUnary<scalar_t>(iter, [e](const scalar_t* a, scalar_t* y, int64_t n) {
        if (e == 2) {
          SimdFor(n, [a, y](int64_t i) { y[i] = IntegerPower(a[i], 2); });
        } else {
          for (int64_t i = 0; i < n; ++i) y[i] = IntegerPower(a[i], e);
        }
      });
    });
    return iter.output();
  }
  AT_DISPATCH_FLOATING_AND_COMPLEX_TYPES_AND2(
      at::kBFloat16, at::kHalf, dtype, "pow_cpu",
      [&] { FloatPower<scalar_t>(iter, exponent); });
  return iter.output();
}

}  // namespace cpu
}  // namespace kernels
}  // namespace flaggems
