#include "flaggems/kernels/cuda/op_pow.h"

#include <ATen/ScalarOps.h>
#include <ATen/TensorIterator.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/result_type.h>
#include <c10/util/Exception.h>

#include "flaggems/kernels/cuda/elementwise.h"
#include "flaggems/kernels/cuda/launch.h"
#include "flaggems/kernels/cuda/op_pow_launch.h"
#include "flaggems/kernels/cuda/op_unary_launch.h"

namespace flaggems {
namespace kernels {
namespace cuda {

namespace {

constexpr Elementwise kPow = {LaunchPow, "pow_cuda"};

void CheckExponent(const at::Tensor& self, const at::Scalar& exponent) {
  TORCH_CHECK(!(at::isIntegralType(self.scalar_type(), true) &&
                exponent.isIntegral(true) && exponent.toLong() < 0),
              "pow: an integer to a negative integer power is not an integer; "
              "make the base or the exponent a floating point number");
}

// The kernel for a real power: a product, a quotient or a root, if it is one.
Elementwise PowerOf(at::ScalarType dtype, const at::Scalar& exponent) {
  const double e = exponent.toDouble();
  if (e == 2 || e == 3 || (e == -2 && at::isFloatingType(dtype))) {
    return {
        LaunchSmallPower, "pow_cuda", false, {{e, static_cast<int64_t>(e)}}};
  }
  if (at::isFloatingType(dtype)) {
    if (e == 0.5) return {LaunchSqrt, "pow_cuda"};
    if (e == -0.5) return {LaunchRsqrt, "pow_cuda"};
    if (e == -1) return {LaunchReciprocal, "pow_cuda"};
  }
  return {LaunchPowerOf, "pow_cuda", false, {NumberOf(exponent, dtype)}};
}

void CheckReal(const at::Scalar& scalar) {
  if (scalar.isComplex()) ThrowNotImplemented(scalar.type(), kPow.name);
}

bool Is(const at::Scalar& scalar, bool value) {
  return scalar.equal(value ? 1.0 : 0.0) || scalar.equal(value);
}

}  // namespace

at::Tensor& pow_out(const at::Tensor& self, const at::Scalar& exponent,
                    at::Tensor& out) {
  CheckReal(exponent);
  CheckElements(kPow.name, {&self, &out});
  CheckExponent(self, exponent);
  const at::ScalarType dtype = at::result_type(self, exponent);
  const at::Tensor base = self.to(dtype);
  if (Is(exponent, false) || Is(exponent, true)) {
    // For the output's shape, and the checks.
    auto iter = at::TensorIterator::unary_op(out, base);
    out = iter.output();
    return Is(exponent, false) ? out.fill_(1) : out.copy_(self);
  }
  const Elementwise power = PowerOf(dtype, exponent);
  if (out.defined()) return MapUnaryOut(power, base, out);
  out = MapUnary(power, base);
  return out;
}

at::Tensor pow(const at::Tensor& self, const at::Scalar& exponent) {
  at::Tensor out;
  return cuda::pow_out(self, exponent, out);
}

at::Tensor& pow_(at::Tensor& self, const at::Scalar& exponent) {
  return cuda::pow_out(self, exponent, self);
}

at::Tensor pow_tensor(const at::Tensor& self, const at::Tensor& exponent) {
  return MapBinary(kPow, self, exponent);
}
at::Tensor& pow_tensor_(at::Tensor& self, const at::Tensor& exponent) {
  return MapBinaryOut(kPow, self, exponent, self);
}
at::Tensor& pow_tensor_out(const at::Tensor& self, const at::Tensor& exponent,
                           at::Tensor& out) {
  return MapBinaryOut(kPow, self, exponent, out);
}

at::Tensor& pow_of_scalar_out(const at::Scalar& self,
                              const at::Tensor& exponent, at::Tensor& out) {
  CheckReal(self);
  CheckElements(kPow.name, {&exponent, &out});
  if (self.equal(1.0)) {
    if (!out.sizes().equals(exponent.sizes())) out.resize_(exponent.sizes());
    return out.fill_(1);
  }
  return MapBinaryOut(kPow, at::native::wrapped_scalar_tensor(self), exponent,
                      out);
}

at::Tensor pow_of_scalar(const at::Scalar& self, const at::Tensor& exponent) {
  CheckReal(self);
  CheckElements(kPow.name, {&exponent});
  at::Tensor out =
      at::empty(exponent.sizes(),
                exponent.options().dtype(at::result_type(self, exponent)));
  return pow_of_scalar_out(self, exponent, out);
}

}  // namespace cuda
}  // namespace kernels
}  // namespace flaggems
