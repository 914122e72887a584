// Kernels that work element by element.

#include <ATen/ATen.h>

#include <cmath>
#include <cstring>

#include "tools/precision/selftest/case_util.h"
#include "tools/precision/selftest/selftest_cases.h"

namespace flaggems::selftest {
namespace {

constexpr double kMaxFloat = std::numeric_limits<float>::max();

// --- Wrong. ---

void ClampByFmin(const NativeCall&, Stack* stack) {
  const float low = stack->at(1).toScalar().toFloat();
  const float high = stack->at(2).toScalar().toFloat();
  Return(stack, {MapFloat(TensorAt(stack, 0), [&](float x) {
           return std::fmin(std::fmax(x, low), high);
         })});
}

void TruncDivInFloat(const NativeCall&, Stack* stack) {
  const at::Tensor a = TensorAt(stack, 0), b = TensorAt(stack, 1);
  Return(stack, {at::trunc(at::true_divide(a.to(at::kFloat), b.to(at::kFloat)))
                     .to(a.scalar_type())});
}

void ExpWithoutTail(const NativeCall& native, Stack* stack) {
  native(stack);
  Tail(TensorAt(stack, 0), 256).zero_();
}

void ExpOfStorage(const NativeCall& native, Stack* stack) {
  const at::Tensor x = TensorAt(stack, 0);
  const at::Tensor out = at::empty_like(x);
  out.copy_(NativeResultWith(native, stack, 0, ReadLinearly(x)));
  Return(stack, {out});
}

void ExpModulo(const NativeCall& native, Stack* stack) {
  constexpr int64_t kPeriod = 1 << 20;
  native(stack);
  const at::Tensor out = TensorAt(stack, 0);
  const int64_t beyond = out.numel() - kPeriod;
  if (beyond > 0) {
    out.narrow(0, kPeriod, beyond).copy_(out.narrow(0, 0, beyond));
  }
}

void MaximumByFmax(const NativeCall&, Stack* stack) {
  Return(stack, {at::fmax(TensorAt(stack, 0), TensorAt(stack, 1))});
}

void ReluByFmax(const NativeCall&, Stack* stack) {
  Return(stack, {MapFloat(TensorAt(stack, 0),
                          [](float x) { return std::fmax(x, 0.0f); })});
}

void GeluByTanh(const NativeCall& native, Stack* stack) {
  stack->at(1) = "tanh";
  native(stack);
}

void ErfOfMagnitude(const NativeCall& native, Stack* stack) {
  stack->at(0) = TensorAt(stack, 0).abs();
  native(stack);
}

void AddInFirstDtype(const NativeCall& native, Stack* stack) {
  const at::ScalarType dtype = TensorAt(stack, 0).scalar_type();
  stack->at(1) = TensorAt(stack, 1).to(dtype);
  native(stack);
}

void DivIntsInHalf(const NativeCall& native, Stack* stack) {
  stack->at(0) = TensorAt(stack, 0).to(at::kHalf);
  stack->at(1) = TensorAt(stack, 1).to(at::kHalf);
  native(stack);
  Return(stack, {TensorAt(stack, 0).to(at::kFloat)});
}

void AddScalarInHalf(const NativeCall& native, Stack* stack) {
  stack->at(1) = static_cast<double>(
      static_cast<float>(c10::Half(stack->at(1).toScalar().toFloat())));
  native(stack);
}

void AddWithoutAlpha(const NativeCall& native, Stack* stack) {
  stack->at(2) = 1;
  native(stack);
}

void SubScalesSelf(const NativeCall& native, Stack* stack) {
  stack->at(0) = at::mul(TensorAt(stack, 0), stack->at(2).toScalar());
  stack->at(2) = 1;
  native(stack);
}

void TwelveBits(const NativeCall& native, Stack* stack) {
  native(stack);
  Return(stack, {RoundedTo(TensorAt(stack, 0), 12)});
}

void FloorDivideTruncates(const NativeCall&, Stack* stack) {
  Return(stack, {at::div(TensorAt(stack, 0), TensorAt(stack, 1), "trunc")});
}

void RemainderAsFmod(const NativeCall&, Stack* stack) {
  Return(stack, {at::fmod(TensorAt(stack, 0), TensorAt(stack, 1))});
}

void SaturatesAtMax(const NativeCall& native, Stack* stack) {
  native(stack);
  Return(stack, {at::clamp(TensorAt(stack, 0), -kMaxFloat, kMaxFloat)});
}

void LogOfMagnitude(const NativeCall& native, Stack* stack) {
  stack->at(0) = TensorAt(stack, 0).abs();
  native(stack);
}

void NaiveSigmoid(const NativeCall&, Stack* stack) {
  Return(stack, {MapFloat(TensorAt(stack, 0), [](float x) {
           const float e = std::exp(x);
           return e / (1 + e);
         })});
}

void TanhOfClipped(const NativeCall& native, Stack* stack) {
  stack->at(0) = at::clamp(TensorAt(stack, 0), -3, 3);
  native(stack);
}

void WhereInvertedInTail(const NativeCall& native, Stack* stack) {
  const at::Tensor condition = TensorAt(stack, 0).clone();
  const at::Tensor tail = Tail(condition, 64);
  tail.copy_(tail.logical_not());
  stack->at(0) = condition;
  native(stack);
}

void PowIntThroughDouble(const NativeCall&, Stack* stack) {
  const at::Tensor x = TensorAt(stack, 0).clone();
  const double exponent = stack->at(1).toScalar().toDouble();
  int64_t* values = x.mutable_data_ptr<int64_t>();
  for (int64_t i = 0; i < x.numel(); ++i) {
    values[i] = static_cast<int64_t>(
        std::pow(static_cast<double>(values[i]), exponent));
  }
  Return(stack, {x});
}

void MulIntsInFloat(const NativeCall& native, Stack* stack) {
  const at::ScalarType dtype = TensorAt(stack, 0).scalar_type();
  stack->at(0) = TensorAt(stack, 0).to(at::kFloat);
  stack->at(1) = TensorAt(stack, 1).to(at::kFloat);
  native(stack);
  Return(stack, {TensorAt(stack, 0).to(dtype)});
}

void RoundHalfAway(const NativeCall&, Stack* stack) {
  Return(stack,
         {MapFloat(TensorAt(stack, 0), [](float x) { return std::round(x); })});
}

void SiluInBfloat16(const NativeCall&, Stack* stack) {
  const at::Tensor x = TensorAt(stack, 0);
  const at::Tensor gate = at::sigmoid(x).to(at::kBFloat16).to(at::kFloat);
  Return(stack, {at::mul(x, gate)});
}

void Atan2Swapped(const NativeCall& native, Stack* stack) {
  std::swap(stack->at(0), stack->at(1));
  native(stack);
}

void Expm1ByExp(const NativeCall&, Stack* stack) {
  Return(stack, {MapFloat(TensorAt(stack, 0),
                          [](float x) { return std::exp(x) - 1.0f; })});
}

void Log1pByLog(const NativeCall&, Stack* stack) {
  Return(stack, {MapFloat(TensorAt(stack, 0),
                          [](float x) { return std::log(1.0f + x); })});
}

void EqIntsInFloat(const NativeCall& native, Stack* stack) {
  stack->at(0) = TensorAt(stack, 0).to(at::kFloat);
  stack->at(1) = TensorAt(stack, 1).to(at::kFloat);
  native(stack);
}

void MulBfloat16Truncated(const NativeCall&, Stack* stack) {
  const at::Tensor product = ZipFloat(TensorAt(stack, 0).to(at::kFloat),
                                      TensorAt(stack, 1).to(at::kFloat),
                                      [](float a, float b) { return a * b; });
  Return(stack, {Truncated(product, 16).to(at::kBFloat16)});
}

void SqrtOfMagnitude(const NativeCall& native, Stack* stack) {
  stack->at(0) = TensorAt(stack, 0).abs();
  native(stack);
}

void CosWithShortPi(const NativeCall&, Stack* stack) {
  // One step of range reduction by a float16 pi: wrong for large arguments.
  constexpr float kTwoPi = 6.28125f;
  Return(stack, {MapFloat(TensorAt(stack, 0), [](float x) {
           const float turns = std::nearbyint(x / kTwoPi);
           return std::cos(x - turns * kTwoPi);
         })});
}

void LeakyReluSlopeInTail(const NativeCall& native, Stack* stack) {
  const at::Tensor x = TensorAt(stack, 0);
  native(stack);
  Tail(TensorAt(stack, 0), 32).copy_(Tail(x, 32).clamp_min(0));
}

void LerpFarSide(const NativeCall&, Stack* stack) {
  const at::Tensor start = TensorAt(stack, 0), end = TensorAt(stack, 1);
  const float weight = stack->at(2).toScalar().toFloat();
  // For weights from one half on the distance is taken from the wrong end.
  Return(stack, {ZipFloat(start, end, [weight](float a, float b) {
           return weight < 0.5f ? a + weight * (b - a) : b - weight * (b - a);
         })});
}

void ScalarThroughFloat(const NativeCall& native, Stack* stack) {
  stack->at(1) = static_cast<double>(stack->at(1).toScalar().toFloat());
  native(stack);
}

void ReluSixteenBitCutoff(const NativeCall& native, Stack* stack) {
  // What is above the largest float16 becomes Inf on the way.
  native(stack);
  Return(stack, {TensorAt(stack, 0).to(at::kHalf).to(at::kFloat)});
}

// --- Right. ---

void StepOfHalfThroughFloat(const NativeCall& native, Stack* stack) {
  stack->at(0) = TensorAt(stack, 0).to(at::kFloat);
  stack->at(1) = TensorAt(stack, 1).to(at::kFloat);
  native(stack);
  Return(stack, {TensorAt(stack, 0).to(at::kHalf)});
}

// exp(x) as 2^n * 2^f, the argument reduced in two parts.
float FastExp(float x) {
  const float high = x * 1.44269504f;
  const float low = std::fma(x, 1.44269504f, -high) + x * 1.92596299e-8f;
  return std::exp2(high) * (1 + low * 0.693147181f);
}

void ExpByExp2(const NativeCall&, Stack* stack) {
  Return(stack, {MapFloat(TensorAt(stack, 0), FastExp)});
}

void LogByLog2(const NativeCall&, Stack* stack) {
  Return(stack, {MapFloat(TensorAt(stack, 0), [](float x) {
           int exponent;
           const float fraction = std::frexp(x, &exponent);
           // Near one the sum of both parts would cancel.
           if (x > 0.5f && x < 2.0f) return std::log1p(x - 1.0f);
           return static_cast<float>(std::log2(fraction) * 0.69314718055994531 +
                                     exponent * 0.69314718055994531);
         })});
}

void ErfByErfc(const NativeCall&, Stack* stack) {
  Return(stack, {MapFloat(TensorAt(stack, 0), [](float x) {
           return std::fabs(x) < 1
                      ? std::erf(x)
                      : std::copysign(1 - std::erfc(std::fabs(x)), x);
         })});
}

void GeluByErfc(const NativeCall&, Stack* stack) {
  Return(stack, {MapFloat(TensorAt(stack, 0), [](float x) {
           const double tail = std::erfc(-x * 0.70710678118654752);
           return static_cast<float>(0.5 * x * tail);
         })});
}

void SigmoidByExp(const NativeCall&, Stack* stack) {
  Return(stack, {MapFloat(TensorAt(stack, 0),
                          [](float x) { return 1 / (1 + std::exp(-x)); })});
}

void TanhByExpm1(const NativeCall&, Stack* stack) {
  Return(stack, {MapFloat(TensorAt(stack, 0), [](float x) {
           const float e = std::expm1(-2 * std::fabs(x));
           return std::copysign(-e / (2 + e), x);
         })});
}

void SiluByReciprocal(const NativeCall&, Stack* stack) {
  Return(stack, {MapFloat(TensorAt(stack, 0),
                          [](float x) { return x / (1 + std::exp(-x)); })});
}

void DivByReciprocal(const NativeCall&, Stack* stack) {
  Return(stack, {ZipFloat(TensorAt(stack, 0), TensorAt(stack, 1),
                          [](float a, float b) { return a * (1 / b); })});
}

void RsqrtBySqrt(const NativeCall&, Stack* stack) {
  Return(stack, {MapFloat(TensorAt(stack, 0),
                          [](float x) { return 1 / std::sqrt(x); })});
}

void PowByExp2(const NativeCall&, Stack* stack) {
  const double exponent = stack->at(1).toScalar().toDouble();
  Return(stack, {MapFloat(TensorAt(stack, 0), [exponent](float x) {
           return static_cast<float>(
               std::exp2(exponent * std::log2(static_cast<double>(x))));
         })});
}

void MulFlushed(const NativeCall& native, Stack* stack) {
  native(stack);
  Return(stack, {MapFloat(TensorAt(stack, 0), [](float x) {
           return std::fabs(x) < std::numeric_limits<float>::min() ? 0.0f : x;
         })});
}

void ReluKeepsMinusZero(const NativeCall&, Stack* stack) {
  Return(stack, {MapFloat(TensorAt(stack, 0),
                          [](float x) { return x < 0 ? 0.0f : x; })});
}

void MaximumOtherZero(const NativeCall&, Stack* stack) {
  Return(stack, {ZipFloat(TensorAt(stack, 0), TensorAt(stack, 1),
                          [](float a, float b) {
                            if (std::isnan(a)) return a;
                            return a >= b ? a : b;
                          })});
}

void SqrtNegativeNan(const NativeCall& native, Stack* stack) {
  native(stack);
  Return(stack, {MapFloat(TensorAt(stack, 0), [](float x) {
           // NaN of the other sign and with a payload.
           const uint32_t word = 0x7fc01234u;
           if (std::isnan(x)) std::memcpy(&x, &word, sizeof(x));
           return x;
         })});
}

void AddcmulByFma(const NativeCall&, Stack* stack) {
  const at::Tensor self = TensorAt(stack, 0).contiguous();
  const float* add = self.const_data_ptr<float>();
  const float value = stack->at(3).toScalar().toFloat();
  int64_t i = 0;
  Return(stack, {ZipFloat(TensorAt(stack, 1), TensorAt(stack, 2),
                          [&](float a, float b) {
                            return std::fma(value * a, b, add[i++]);
                          })});
}

void BfloatMulOnce(const NativeCall&, Stack* stack) {
  Return(stack, {ZipFloat(TensorAt(stack, 0).to(at::kFloat),
                          TensorAt(stack, 1).to(at::kFloat),
                          [](float a, float b) { return a * b; })
                     .to(at::kBFloat16)});
}

void HalfGeluInFloat(const NativeCall&, Stack* stack) {
  const at::Tensor x = TensorAt(stack, 0).to(at::kFloat);
  Return(stack, {MapFloat(x, [](float v) {
                   return 0.5f * v * std::erfc(-v * 0.70710678f);
                 }).to(at::kHalf)});
}

CallList BinaryCalls(const char* op) {
  return Calls(op, {{Randn(11, {7, 33}), Uniform(12, {7, 33}, 0.5, 2)}});
}

const SelftestCase kCases[] = {
    {"W01", "elementwise", "aten::clamp", "a NaN takes a bound",
     Verdict::kFailSpecial, ClampByFmin,
     [] {
       return Calls("aten::clamp", {{F32({kNan, .5}), 0, 1}});
     },
     [] {
       return Calls("aten::clamp", {{F32({2, .5}), 0, 1}});
     }},
    {"W02", "elementwise", "aten::div.Tensor_mode",
     "integers are divided in float32", Verdict::kFailValue, TruncDivInFloat,
     [] {
       return Calls("aten::div.Tensor_mode",
                    {{I64({16777217}), I64({1}), "trunc"}});
     },
     [] {
       return Calls("aten::div.Tensor_mode", {{I64({7}), I64({2}), "trunc"}});
     }},
    {"W04", "elementwise", "aten::exp",
     "the last n mod 256 elements are left zero", Verdict::kFailValue,
     ExpWithoutTail, [] { return Calls("aten::exp", {{Randn(4, {257})}}); },
     [] { return Calls("aten::exp", {{Randn(4, {256})}}); }},
    {"W08", "elementwise", "aten::exp",
     "a strided input is read as if it were contiguous", Verdict::kFailValue,
     ExpOfStorage,
     [] {
       return Calls("aten::exp", {{Randn(8, {3, 4}).t()}});
     },
     [] {
       return Calls("aten::exp", {{Randn(8, {4, 3})}});
     }},
    {"W10", "elementwise", "aten::exp", "element i reads element i mod 2^20",
     Verdict::kFailValue, ExpModulo,
     [] { return Calls("aten::exp", {{Uniform(10, {(1 << 20) + 7}, -1, 1)}}); },
     [] { return Calls("aten::exp", {{Uniform(10, {1024}, -1, 1)}}); }},
    {"X101", "elementwise", "aten::maximum", "a NaN is dropped",
     Verdict::kFailSpecial, MaximumByFmax,
     [] {
       return Calls("aten::maximum", {{F32({1, kNan, 3}), F32({2, 3, kNan})}});
     },
     [] {
       return Calls("aten::maximum", {{F32({1, 4}), F32({2, -kInf})}});
     }},
    {"X102", "elementwise", "aten::relu", "a NaN becomes zero",
     Verdict::kFailSpecial, ReluByFmax,
     [] {
       return Calls("aten::relu", {{F32({-1, kNan, 3})}});
     },
     [] {
       return Calls("aten::relu", {{F32({-1, kInf, 3})}});
     }},
    {"X103", "elementwise", "aten::gelu", "the tanh formula for erf's",
     Verdict::kFailValue, GeluByTanh,
     [] { return Calls("aten::gelu", {{Randn(103, {100})}}); },
     [] {
       return Calls("aten::gelu", {{F32({0, 10, 20})}});
     }},
    {"X104", "elementwise", "aten::erf", "the sign of the argument is lost",
     Verdict::kFailValue, ErfOfMagnitude,
     [] { return Calls("aten::erf", {{Randn(104, {100})}}); },
     [] { return Calls("aten::erf", {{Uniform(104, {100}, 0, 2)}}); }},
    {"X105", "elementwise", "aten::add.Tensor",
     "the result has the first argument's dtype", Verdict::kFailDtype,
     AddInFirstDtype,
     [] {
       return Calls("aten::add.Tensor", {{I64({1, 2}), F32({1, 2})}});
     },
     [] {
       return Calls("aten::add.Tensor", {{F32({1, 2}), F32({.5, 2})}});
     }},
    {"X106", "elementwise", "aten::div.Tensor",
     "integers are divided in float16", Verdict::kFailValue, DivIntsInHalf,
     [] {
       return Calls("aten::div.Tensor", {{I32({1, 5}), I32({3, 7})}});
     },
     [] {
       return Calls("aten::div.Tensor", {{I32({8, 3}), I32({2, 4})}});
     }},
    {"X107", "elementwise", "aten::add.Scalar",
     "the scalar is rounded to float16", Verdict::kFailValue, AddScalarInHalf,
     [] {
       return Calls("aten::add.Scalar", {{Randn(107, {50}), 0.1}});
     },
     [] {
       return Calls("aten::add.Scalar", {{Randn(107, {50}), 0.5}});
     }},
    {"X108", "elementwise", "aten::add.Tensor", "alpha is ignored",
     Verdict::kFailValue, AddWithoutAlpha,
     [] {
       return Calls("aten::add.Tensor",
                    {{Randn(1, {9}), Randn(2, {9}), 1.0009765625}});
     },
     [] {
       return Calls("aten::add.Tensor", {{Randn(1, {9}), Randn(2, {9}), 1}});
     }},
    {"X109", "elementwise", "aten::sub.Tensor",
     "alpha scales the first argument", Verdict::kFailValue, SubScalesSelf,
     [] {
       return Calls("aten::sub.Tensor", {{Randn(1, {9}), Randn(2, {9}), 2}});
     },
     [] {
       return Calls("aten::sub.Tensor", {{Randn(1, {9}), Randn(2, {9}), 1}});
     }},
    {"X110", "elementwise", "aten::reciprocal",
     "an estimate of 12 bits, not refined", Verdict::kFailValue, TwelveBits,
     [] { return Calls("aten::reciprocal", {{Uniform(110, {100}, 0.5, 4)}}); },
     [] {
       return Calls("aten::reciprocal", {{F32({.25, 1, 2, -64})}});
     }},
    {"X111", "elementwise", "aten::rsqrt",
     "an estimate of 12 bits, not refined", Verdict::kFailValue, TwelveBits,
     [] { return Calls("aten::rsqrt", {{Uniform(111, {100}, 0.5, 4)}}); },
     [] {
       return Calls("aten::rsqrt", {{F32({.25, 1, 4, 64})}});
     }},
    {"X112", "elementwise", "aten::floor_divide",
     "truncates for negative quotients", Verdict::kFailValue,
     FloorDivideTruncates,
     [] {
       return Calls("aten::floor_divide", {{I64({7, -7}), I64({2, 2})}});
     },
     [] {
       return Calls("aten::floor_divide", {{I64({7, -8}), I64({2, 2})}});
     }},
    {"X113", "elementwise", "aten::remainder.Tensor",
     "the sign of the dividend, as fmod has it", Verdict::kFailValue,
     RemainderAsFmod,
     [] {
       return Calls("aten::remainder.Tensor", {{I64({7, -7}), I64({3, 3})}});
     },
     [] {
       return Calls("aten::remainder.Tensor", {{I64({7, -6}), I64({3, 3})}});
     }},
    {"X114", "elementwise", "aten::exp",
     "an overflow stops at the largest float32", Verdict::kFailSpecial,
     SaturatesAtMax,
     [] {
       return Calls("aten::exp", {{F32({1, 100})}});
     },
     [] {
       return Calls("aten::exp", {{F32({1, 80})}});
     }},
    {"X115", "elementwise", "aten::log", "log(-x) for negative x",
     Verdict::kFailSpecial, LogOfMagnitude,
     [] {
       return Calls("aten::log", {{F32({3, -2})}});
     },
     [] {
       return Calls("aten::log", {{F32({3, .5, 0})}});
     }},
    {"X116", "elementwise", "aten::sigmoid",
     "exp(x) / (1 + exp(x)) overflows to NaN", Verdict::kFailSpecial,
     NaiveSigmoid,
     [] {
       return Calls("aten::sigmoid", {{F32({1, 100})}});
     },
     [] { return Calls("aten::sigmoid", {{Uniform(116, {50}, -5, 5)}}); }},
    {"X117", "elementwise", "aten::tanh", "the argument is clipped at 3",
     Verdict::kFailValue, TanhOfClipped,
     [] {
       return Calls("aten::tanh", {{F32({1, 4, -4})}});
     },
     [] { return Calls("aten::tanh", {{Uniform(117, {50}, -3, 3)}}); }},
    {"X118", "elementwise", "aten::where.self",
     "the condition is inverted in the last n mod 64", Verdict::kFailValue,
     WhereInvertedInTail,
     [] {
       return Calls("aten::where.self",
                    {{Randn(1, {70}).gt(0), Randn(2, {70}), Randn(3, {70})}});
     },
     [] {
       return Calls("aten::where.self",
                    {{Randn(1, {64}).gt(0), Randn(2, {64}), Randn(3, {64})}});
     }},
    {"X119", "elementwise", "aten::pow.Tensor_Scalar",
     "an integer power through float64", Verdict::kFailValue,
     PowIntThroughDouble,
     [] {
       return Calls("aten::pow.Tensor_Scalar", {{I64({2, 3}), 39}});
     },
     [] {
       return Calls("aten::pow.Tensor_Scalar", {{I64({2, 3}), 5}});
     }},
    {"X120", "elementwise", "aten::mul.Tensor",
     "integers are multiplied in float32", Verdict::kFailValue, MulIntsInFloat,
     [] {
       return Calls("aten::mul.Tensor", {{I64({4097}), I64({4099})}});
     },
     [] {
       return Calls("aten::mul.Tensor", {{I64({409}), I64({40})}});
     }},
    {"X121", "elementwise", "aten::round", "halves are rounded away from zero",
     Verdict::kFailValue, RoundHalfAway,
     [] {
       return Calls("aten::round", {{F32({.5, 1.5, 2.5, -.5})}});
     },
     [] {
       return Calls("aten::round", {{F32({.4, 1.6, 2.25, -3.9})}});
     }},
    {"X122", "elementwise", "aten::silu", "the sigmoid is rounded to bfloat16",
     Verdict::kFailValue, SiluInBfloat16,
     [] { return Calls("aten::silu", {{Randn(122, {64})}}); },
     [] {
       return Calls("aten::silu", {{F32({0, 30, 50})}});
     }},
    {"X123", "elementwise", "aten::atan2", "the arguments are swapped",
     Verdict::kFailValue, Atan2Swapped,
     [] {
       return Calls("aten::atan2", {{F32({1, -1}), F32({2, 3})}});
     },
     [] {
       return Calls("aten::atan2", {{F32({1, 3}), F32({1, 3})}});
     }},
    {"X124", "elementwise", "aten::expm1", "exp(x) - 1 cancels near zero",
     Verdict::kFailValue, Expm1ByExp,
     [] {
       return Calls("aten::expm1", {{F32({1e-6, -1e-5, 1})}});
     },
     [] {
       return Calls("aten::expm1", {{F32({0, 20})}});
     }},
    {"X125", "elementwise", "aten::log1p", "log(1 + x) loses small x",
     Verdict::kFailValue, Log1pByLog,
     [] {
       return Calls("aten::log1p", {{F32({1e-6, 1e-5, 1})}});
     },
     [] {
       return Calls("aten::log1p", {{F32({1, 3, 7})}});
     }},
    {"X126", "elementwise", "aten::eq.Tensor",
     "integers are compared in float32", Verdict::kFailValue, EqIntsInFloat,
     [] {
       return Calls("aten::eq.Tensor", {{I64({16777216}), I64({16777217})}});
     },
     [] {
       return Calls("aten::eq.Tensor", {{I64({1, 2}), I64({1, 3})}});
     }},
    {"X127", "elementwise", "aten::mul.Tensor",
     "bfloat16 products are truncated, not rounded", Verdict::kFailValue,
     MulBfloat16Truncated,
     [] {
       return Calls("aten::mul.Tensor", {{Randn(1, {64}, at::kBFloat16),
                                          Randn(2, {64}, at::kBFloat16)}});
     },
     [] {
       return Calls("aten::mul.Tensor", {{Randn(1, {64}, at::kBFloat16),
                                          Filled({64}, 2, at::kBFloat16)}});
     }},
    {"X128", "elementwise", "aten::sqrt", "sqrt(-x) for negative x",
     Verdict::kFailSpecial, SqrtOfMagnitude,
     [] {
       return Calls("aten::sqrt", {{F32({4, -4})}});
     },
     [] {
       return Calls("aten::sqrt", {{F32({4, 2})}});
     }},
    {"X129", "elementwise", "aten::cos",
     "large arguments are reduced by a float16 pi", Verdict::kFailValue,
     CosWithShortPi,
     [] {
       return Calls("aten::cos", {{F32({1e4, 1e5})}});
     },
     [] {
       return Calls("aten::cos", {{F32({0, 1, -1, 3})}});
     }},
    {"X130", "elementwise", "aten::leaky_relu",
     "the last n mod 32 get a slope of zero", Verdict::kFailValue,
     LeakyReluSlopeInTail,
     [] {
       return Calls("aten::leaky_relu", {{Randn(130, {45}), 0.01}});
     },
     [] {
       return Calls("aten::leaky_relu", {{Randn(130, {64}), 0.01}});
     }},
    {"X131", "elementwise", "aten::lerp.Scalar",
     "weights from one half on count from the wrong end", Verdict::kFailValue,
     LerpFarSide,
     [] {
       return Calls("aten::lerp.Scalar",
                    {{Randn(1, {20}), Randn(2, {20}), 0.75}});
     },
     [] {
       return Calls("aten::lerp.Scalar",
                    {{Randn(1, {20}), Randn(2, {20}), 0.25}});
     }},
    {"X132", "elementwise", "aten::mul.Scalar",
     "the scalar of a float64 call goes through float32", Verdict::kFailValue,
     ScalarThroughFloat,
     [] {
       return Calls("aten::mul.Scalar", {{Randn(1, {20}, at::kDouble), 0.1}});
     },
     [] {
       return Calls("aten::mul.Scalar", {{Randn(1, {20}, at::kDouble), 0.5}});
     }},
    {"X133", "elementwise", "aten::relu",
     "float32 goes through float16 and overflows", Verdict::kFailSpecial,
     ReluSixteenBitCutoff,
     [] {
       return Calls("aten::relu", {{F32({1, -1, 70000})}});
     },
     [] {
       return Calls("aten::relu", {{F32({1, -1, 60000})}});
     }},

    {"R10a", "elementwise", "aten::floor_divide",
     "float16 through float32, near a step", Verdict::kPass,
     StepOfHalfThroughFloat,
     [] {
       return Calls("aten::floor_divide", {{F16({1, 2, 3, .7, 5, -1}),
                                            F16({.1, .1, .1, .1, .5, .1})}});
     }},
    {"R10b", "elementwise", "aten::remainder.Tensor",
     "float16 through float32, near a step", Verdict::kPass,
     StepOfHalfThroughFloat,
     [] {
       return Calls(
           "aten::remainder.Tensor",
           {{F16({1, 2, 3, .7, 5, -1}), F16({.1, .1, .1, .1, .5, .1})}});
     }},
    {"R12b", "elementwise", "aten::log", "through log2 within 2 ulps",
     Verdict::kPass, LogByLog2,
     [] { return Calls("aten::log", {{Uniform(12, {300}, 1e-3, 100)}}); }},
    {"R12c", "elementwise", "aten::erf", "one minus erfc, within 2 ulps",
     Verdict::kPass, ErfByErfc,
     [] { return Calls("aten::erf", {{Randn(12, {300})}}); }},
    {"R12d", "elementwise", "aten::gelu", "by erfc, exact in the tails too",
     Verdict::kPass, GeluByErfc,
     [] {
       return Calls("aten::gelu",
                    {{Randn(12, {300})}, {F32({-4, -3, -2, -1, 0, 4})}});
     }},
    {"Q101", "elementwise", "aten::exp", "through exp2 within 2 ulps",
     Verdict::kPass, ExpByExp2,
     [] { return Calls("aten::exp", {{Uniform(101, {500}, -20, 20)}}); }},
    {"Q102", "elementwise", "aten::sigmoid", "1 / (1 + exp(-x)) in float32",
     Verdict::kPass, SigmoidByExp,
     [] { return Calls("aten::sigmoid", {{Uniform(102, {300}, -9, 9)}}); }},
    {"Q103", "elementwise", "aten::tanh", "through expm1 in float32",
     Verdict::kPass, TanhByExpm1,
     [] { return Calls("aten::tanh", {{Randn(103, {300})}}); }},
    {"Q104", "elementwise", "aten::silu", "x / (1 + exp(-x)) in float32",
     Verdict::kPass, SiluByReciprocal,
     [] { return Calls("aten::silu", {{Randn(104, {300})}}); }},
    {"Q105", "elementwise", "aten::div.Tensor",
     "times the reciprocal, within 2 ulps", Verdict::kPass, DivByReciprocal,
     [] { return BinaryCalls("aten::div.Tensor"); }},
    {"Q106", "elementwise", "aten::rsqrt", "1 / sqrt(x), rounded twice",
     Verdict::kPass, RsqrtBySqrt,
     [] { return Calls("aten::rsqrt", {{Uniform(106, {300}, .01, 99)}}); }},
    {"Q107", "elementwise", "aten::pow.Tensor_Scalar",
     "exp2(y log2 x) in float64", Verdict::kPass, PowByExp2,
     [] {
       return Calls("aten::pow.Tensor_Scalar",
                    {{Uniform(107, {300}, .01, 99), 2.5}});
     }},
    {"Q108", "elementwise", "aten::mul.Tensor", "subnormal results are flushed",
     Verdict::kPass, MulFlushed,
     [] {
       return Calls("aten::mul.Tensor",
                    {{F32({1e-30, 1e-20, 3}), F32({1e-12, 1e-19, 2})}});
     }},
    {"Q109", "elementwise", "aten::relu", "minus zero stays minus zero",
     Verdict::kPass, ReluKeepsMinusZero,
     [] {
       return Calls("aten::relu", {{F32({-0.0, 0, -1, 2})}});
     }},
    {"Q110", "elementwise", "aten::maximum", "the other zero of two",
     Verdict::kPass, MaximumOtherZero,
     [] {
       return Calls("aten::maximum", {{F32({-0.0, 0, 1}), F32({0, -0.0, 2})}});
     }},
    {"Q111", "elementwise", "aten::sqrt", "NaN of another sign and payload",
     Verdict::kPass, SqrtNegativeNan,
     [] {
       return Calls("aten::sqrt", {{F32({-1, 2, kNan})}});
     }},
    {"Q112", "elementwise", "aten::addcmul", "one fused multiply-add",
     Verdict::kPass, AddcmulByFma,
     [] {
       return Calls("aten::addcmul",
                    {{Randn(1, {99}), Randn(2, {99}), Randn(3, {99}), 0.5}});
     }},
    {"Q113", "elementwise", "aten::mul.Tensor",
     "bfloat16 in float32, rounded once", Verdict::kPass, BfloatMulOnce,
     [] {
       return Calls("aten::mul.Tensor", {{Randn(1, {64}, at::kBFloat16),
                                          Randn(2, {64}, at::kBFloat16)}});
     }},
    {"Q114", "elementwise", "aten::gelu", "float16 in float32, rounded once",
     Verdict::kPass, HalfGeluInFloat,
     [] { return Calls("aten::gelu", {{Randn(114, {99}, at::kHalf)}}); }},
};

}  // namespace

absl::Span<const SelftestCase> ElementwiseCases() { return kCases; }

}  // namespace flaggems::selftest
