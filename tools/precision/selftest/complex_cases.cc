// Complex numbers.

#include <ATen/ATen.h>

#include <cmath>
#include <complex>

#include "tools/precision/selftest/case_util.h"
#include "tools/precision/selftest/selftest_cases.h"

namespace flaggems::selftest {
namespace {

using Complex = c10::complex<float>;

// `fn(a, b)` of two complex tensors of equal sizes.
template <typename Fn>
at::Tensor ZipComplex(const at::Tensor& a, const at::Tensor& b, Fn fn) {
  const at::Tensor x = a.resolve_conj().contiguous();
  const at::Tensor y = b.resolve_conj().contiguous();
  const at::Tensor out = at::empty(x.sizes(), x.options());
  const Complex* left = x.const_data_ptr<Complex>();
  const Complex* right = y.const_data_ptr<Complex>();
  Complex* to = out.mutable_data_ptr<Complex>();
  for (int64_t i = 0; i < x.numel(); ++i) to[i] = fn(left[i], right[i]);
  return out;
}

Complex Product(Complex a, Complex b) {
  return {std::fma(a.real(), b.real(), -a.imag() * b.imag()),
          std::fma(a.real(), b.imag(), a.imag() * b.real())};
}

// The memory of `x`, its conjugate bit dropped.
at::Tensor WithoutBit(const at::Tensor& x) {
  return x.is_conj() ? at::_conj(x) : x;
}

// --- Wrong. ---

void MulIgnoresConjBit(const NativeCall&, Stack* stack) {
  Return(stack, {ZipComplex(WithoutBit(TensorAt(stack, 0)),
                            WithoutBit(TensorAt(stack, 1)), Product)});
}

void MmIgnoresConjBit(const NativeCall& native, Stack* stack) {
  stack->at(0) = WithoutBit(TensorAt(stack, 0));
  stack->at(1) = WithoutBit(TensorAt(stack, 1));
  native(stack);
}

void AbsIsSum(const NativeCall&, Stack* stack) {
  const at::Tensor parts = at::view_as_real(TensorAt(stack, 0));
  Return(stack, {at::sum(at::mul(parts, at::sign(parts)),
                         at::OptionalIntArrayRef({-1}))});
}

void ConjDoesNothing(const NativeCall&, Stack* stack) {
  Return(stack, {TensorAt(stack, 0).clone()});
}

void ImaginaryNegated(const NativeCall&, Stack* stack) {
  Return(stack, {ZipComplex(TensorAt(stack, 0), TensorAt(stack, 1),
                            [](Complex a, Complex b) {
                              const Complex c = Product(a, b);
                              return Complex(c.real(), -c.imag());
                            })});
}

void SumDropsImaginary(const NativeCall& native, Stack* stack) {
  native(stack);
  const at::Tensor out = TensorAt(stack, 0);
  at::view_as_real(out).select(-1, 1).zero_();
}

void ExpConjugated(const NativeCall&, Stack* stack) {
  const at::Tensor x = TensorAt(stack, 0);
  Return(stack, {ZipComplex(x, x, [](Complex a, Complex) {
           const float magnitude = std::exp(a.real());
           return Complex(magnitude * std::cos(a.imag()),
                          -magnitude * std::sin(a.imag()));
         })});
}

void NaiveDivision(const NativeCall&, Stack* stack) {
  Return(stack, {ZipComplex(TensorAt(stack, 0), TensorAt(stack, 1),
                            [](Complex a, Complex b) {
                              const float norm =
                                  b.real() * b.real() + b.imag() * b.imag();
                              const Complex c = Product(a, std::conj(b));
                              return Complex(c.real() / norm, c.imag() / norm);
                            })});
}

void AngleOfSwapped(const NativeCall&, Stack* stack) {
  const at::Tensor parts = at::view_as_real(TensorAt(stack, 0));
  Return(stack, {at::atan2(parts.select(-1, 0), parts.select(-1, 1))});
}

void ReciprocalWithoutConj(const NativeCall&, Stack* stack) {
  const at::Tensor x = TensorAt(stack, 0);
  Return(stack, {ZipComplex(x, x, [](Complex a, Complex) {
           const float norm = a.real() * a.real() + a.imag() * a.imag();
           return Complex(a.real() / norm, a.imag() / norm);
         })});
}

void AddScalarToBoth(const NativeCall& native, Stack* stack) {
  const double value = stack->at(1).toScalar().toDouble();
  native(stack);
  at::view_as_real(TensorAt(stack, 0)).select(-1, 1).add_(value);
}

// --- Right. ---

void MulByFma(const NativeCall&, Stack* stack) {
  Return(stack, {ZipComplex(TensorAt(stack, 0), TensorAt(stack, 1), Product)});
}

void AbsByHypot(const NativeCall&, Stack* stack) {
  const at::Tensor parts = at::view_as_real(TensorAt(stack, 0));
  Return(stack, {at::hypot(parts.select(-1, 0), parts.select(-1, 1))});
}

void DivInDouble(const NativeCall&, Stack* stack) {
  Return(stack, {ZipComplex(TensorAt(stack, 0), TensorAt(stack, 1),
                            [](Complex a, Complex b) {
                              const std::complex<double> quotient =
                                  std::complex<double>(a.real(), a.imag()) /
                                  std::complex<double>(b.real(), b.imag());
                              return Complex(
                                  static_cast<float>(quotient.real()),
                                  static_cast<float>(quotient.imag()));
                            })});
}

at::Tensor Random(uint64_t seed, int64_t n) {
  return at::view_as_complex(Randn(seed, {n, 2}));
}

CallList MulOf(const at::Tensor& a, const at::Tensor& b) {
  return Calls("aten::mul.Tensor", {{a, b}});
}

const SelftestCase kCases[] = {
    {"W40", "complex", "aten::mul.Tensor",
     "the conjugate bit of an input is ignored", Verdict::kFailValue,
     MulIgnoresConjBit,
     [] {
       return MulOf(C64({1, 2}).conj(), C64({1, 0}));
     },
     [] {
       return MulOf(C64({1, 2}), C64({1, 0}));
     }},
    {"X981", "complex", "aten::mm", "the conjugate bit of an input is ignored",
     Verdict::kFailValue, MmIgnoresConjBit,
     [] {
       return Calls("aten::mm", {{Random(1, 6).view({2, 3}).conj(),
                                  Random(2, 6).view({3, 2})}});
     },
     [] {
       return Calls("aten::mm",
                    {{Random(1, 6).view({2, 3}), Random(2, 6).view({3, 2})}});
     }},
    {"X982", "complex", "aten::abs", "|re| + |im|", Verdict::kFailValue,
     AbsIsSum,
     [] {
       return Calls("aten::abs", {{C64({3, 4})}});
     },
     [] {
       return Calls("aten::abs", {{C64({3, 0, 0, -4})}});
     }},
    {"X983", "complex", "aten::conj_physical", "does nothing",
     Verdict::kFailValue, ConjDoesNothing,
     [] {
       return Calls("aten::conj_physical", {{C64({3, 4})}});
     },
     [] {
       return Calls("aten::conj_physical", {{C64({3, 0})}});
     }},
    {"X984", "complex", "aten::mul.Tensor",
     "the imaginary part has the wrong sign", Verdict::kFailValue,
     ImaginaryNegated, [] { return MulOf(Random(1, 5), Random(2, 5)); },
     [] {
       return MulOf(C64({2, 0}), C64({3, 0}));
     }},
    {"X985", "complex", "aten::sum", "the imaginary part is dropped",
     Verdict::kFailValue, SumDropsImaginary,
     [] {
       return Calls("aten::sum", {{C64({1, 2, 3, 4})}});
     },
     [] {
       return Calls("aten::sum", {{C64({1, 2, 3, -2})}});
     }},
    {"X986", "complex", "aten::exp", "the conjugate of the result",
     Verdict::kFailValue, ExpConjugated,
     [] {
       return Calls("aten::exp", {{C64({.5, 1})}});
     },
     [] {
       return Calls("aten::exp", {{C64({.5, 0})}});
     }},
    {"X987", "complex", "aten::div.Tensor",
     "|b|^2 overflows for large divisors", Verdict::kFailSpecial, NaiveDivision,
     [] {
       return Calls("aten::div.Tensor",
                    {{C64({1e25, 2e25}), C64({3e25, 1e25})}});
     },
     [] {
       return Calls("aten::div.Tensor", {{C64({3, 1}), C64({1, 1})}});
     }},
    {"X988", "complex", "aten::angle", "real and imaginary part are swapped",
     Verdict::kFailValue, AngleOfSwapped,
     [] {
       return Calls("aten::angle", {{C64({3, 4})}});
     },
     [] {
       return Calls("aten::angle", {{C64({2, 2})}});
     }},
    {"X989", "complex", "aten::reciprocal", "the divisor is not conjugated",
     Verdict::kFailValue, ReciprocalWithoutConj,
     [] {
       return Calls("aten::reciprocal", {{C64({1, 2})}});
     },
     [] {
       return Calls("aten::reciprocal", {{C64({4, 0})}});
     }},
    {"X990", "complex", "aten::add.Scalar",
     "a real scalar is added to the imaginary part too", Verdict::kFailValue,
     AddScalarToBoth,
     [] {
       return Calls("aten::add.Scalar", {{C64({1, 2}), 1.5}});
     },
     [] {
       return Calls("aten::add.Scalar", {{C64({1, 2}), 0.0}});
     }},

    {"Q981", "complex", "aten::mul.Tensor",
     "by fused multiply-adds, conjugate bits too", Verdict::kPass, MulByFma,
     [] {
       return Calls("aten::mul.Tensor",
                    {{Random(1, 50), Random(2, 50)},
                     {Random(1, 50).conj(), Random(2, 50)}});
     }},
    {"Q982", "complex", "aten::abs", "by hypot", Verdict::kPass, AbsByHypot,
     [] {
       return Calls("aten::abs", {{Random(3, 50)}, {C64({3e30, 4e30})}});
     }},
    {"Q983", "complex", "aten::div.Tensor", "in complex128, rounded once",
     Verdict::kPass, DivInDouble,
     [] {
       return Calls("aten::div.Tensor", {{Random(4, 50), Random(5, 50)}});
     }},
};

}  // namespace

absl::Span<const SelftestCase> ComplexCases() { return kCases; }

}  // namespace flaggems::selftest
