// Special functions and activations.

#include <ATen/ATen.h>

#include <algorithm>
#include <cmath>

#include "tools/precision/selftest/case_util.h"
#include "tools/precision/selftest/selftest_cases.h"

namespace flaggems::selftest {
namespace {

constexpr double kPi = 3.14159265358979323846;

// --- Wrong. ---

void XlogyNaive(const NativeCall&, Stack* stack) {
  Return(stack, {ZipFloat(TensorAt(stack, 0), TensorAt(stack, 1),
                          [](float x, float y) { return x * std::log(y); })});
}

void SincNaive(const NativeCall&, Stack* stack) {
  Return(stack, {MapFloat(TensorAt(stack, 0), [](float x) {
           const double angle = kPi * x;
           return static_cast<float>(std::sin(angle) / angle);
         })});
}

void ErfinvEstimate(const NativeCall&, Stack* stack) {
  // Winitzki's closed form (2008), good to 2e-3, without a Newton step.
  Return(stack, {MapFloat(TensorAt(stack, 0), [](float x) {
           if (x == 1 || x == -1) return std::copysign(INFINITY, x);
           const double a = .147, log = std::log1p(-double{x} * x);
           const double half = 2 / (kPi * a) + log / 2;
           return static_cast<float>(std::copysign(
               std::sqrt(std::sqrt(half * half - log / a) - half), x));
         })});
}

void LgammaByStirling(const NativeCall&, Stack* stack) {
  Return(stack, {MapFloat(TensorAt(stack, 0), [](float value) {
           const double x = value;
           return static_cast<float>((x - .5) * std::log(x) - x +
                                     .5 * std::log(2 * kPi) + 1 / (12 * x));
         })});
}

void SoftplusOverflows(const NativeCall&, Stack* stack) {
  Return(stack, {MapFloat(TensorAt(stack, 0),
                          [](float x) { return std::log1p(std::exp(x)); })});
}

void HardswishUnclipped(const NativeCall&, Stack* stack) {
  Return(stack, {MapFloat(TensorAt(stack, 0), [](float x) {
           return x * std::max(0.0f, x + 3) / 6;
         })});
}

void EluByExp(const NativeCall&, Stack* stack) {
  Return(stack, {MapFloat(TensorAt(stack, 0), [](float x) {
           return x > 0 ? x : std::exp(x) - 1;
         })});
}

void BesselOfFiveTerms(const NativeCall&, Stack* stack) {
  Return(stack, {MapFloat(TensorAt(stack, 0), [](float x) {
           const double quarter = double{x} * x / 4;
           double term = 1, sum = 1;
           for (int k = 1; k < 6; ++k) {
             term *= quarter / (k * k);
             sum += term;
           }
           return static_cast<float>(sum);
         })});
}

void LogitIgnoresEps(const NativeCall& native, Stack* stack) {
  stack->at(1) = c10::IValue();
  native(stack);
}

void HypotNaive(const NativeCall&, Stack* stack) {
  Return(stack,
         {ZipFloat(TensorAt(stack, 0), TensorAt(stack, 1),
                   [](float a, float b) { return std::sqrt(a * a + b * b); })});
}

void DigammaWithoutReflection(const NativeCall& native, Stack* stack) {
  stack->at(0) = at::abs(TensorAt(stack, 0));
  native(stack);
}

void LogSigmoidNaive(const NativeCall& native, Stack* stack) {
  const at::Tensor x = TensorAt(stack, 0);
  native(stack);
  stack->at(0) = at::log(at::sigmoid(x));
}

// --- Right. ---

void SoftplusStable(const NativeCall&, Stack* stack) {
  Return(stack, {MapFloat(TensorAt(stack, 0), [](float x) {
           return std::max(x, 0.0f) + std::log1p(std::exp(-std::fabs(x)));
         })});
}

void HypotScaled(const NativeCall&, Stack* stack) {
  Return(
      stack,
      {ZipFloat(TensorAt(stack, 0), TensorAt(stack, 1), [](float a, float b) {
        const float large = std::max(std::fabs(a), std::fabs(b));
        const float small = std::min(std::fabs(a), std::fabs(b));
        if (large == 0) return 0.0f;
        const float ratio = small / large;
        return large * std::sqrt(1 + ratio * ratio);
      })});
}

void LgammaInDouble(const NativeCall&, Stack* stack) {
  Return(stack, {MapFloat(TensorAt(stack, 0), [](float x) {
           return static_cast<float>(std::lgamma(double{x}));
         })});
}

void XlogyInDouble(const NativeCall&, Stack* stack) {
  Return(
      stack,
      {ZipFloat(TensorAt(stack, 0), TensorAt(stack, 1), [](float x, float y) {
        if (std::isnan(y)) return y;
        return x == 0 ? 0.0f : static_cast<float>(x * std::log(double{y}));
      })});
}

const SelftestCase kCases[] = {
    {"X1001", "special", "aten::xlogy.Tensor", "0 log 0 is NaN",
     Verdict::kFailSpecial, XlogyNaive,
     [] {
       return Calls("aten::xlogy.Tensor", {{F32({0, 2}), F32({0, 3})}});
     },
     [] {
       return Calls("aten::xlogy.Tensor", {{F32({1, 2}), F32({0, 3})}});
     }},
    {"X1002", "special", "aten::sinc", "0 / 0 at zero", Verdict::kFailSpecial,
     SincNaive,
     [] {
       return Calls("aten::sinc", {{F32({0, .5})}});
     },
     [] {
       return Calls("aten::sinc", {{F32({.25, .5})}});
     }},
    {"X1003", "special", "aten::erfinv", "an estimate of three digits",
     Verdict::kFailValue, ErfinvEstimate,
     [] { return Calls("aten::erfinv", {{Uniform(3, {50}, -.99, .99)}}); },
     [] {
       return Calls("aten::erfinv", {{F32({0, 1, -1})}});
     }},
    {"X1004", "special", "aten::lgamma", "Stirling's series for small x too",
     Verdict::kFailValue, LgammaByStirling,
     [] {
       return Calls("aten::lgamma", {{F32({1.5, .5, 40})}});
     },
     [] {
       return Calls("aten::lgamma", {{F32({40, 100, 1000})}});
     }},
    {"X1005", "special", "aten::softplus", "overflows to Inf",
     Verdict::kFailSpecial, SoftplusOverflows,
     [] {
       return Calls("aten::softplus", {{F32({1, 100})}});
     },
     [] {
       return Calls("aten::softplus", {{F32({1, 10, -3})}});
     }},
    {"X1006", "special", "aten::hardswish", "not clipped from 3 on",
     Verdict::kFailValue, HardswishUnclipped,
     [] {
       return Calls("aten::hardswish", {{F32({1, 4})}});
     },
     [] {
       return Calls("aten::hardswish", {{F32({1, 2, -4})}});
     }},
    {"X1007", "special", "aten::elu", "exp(x) - 1 cancels near zero",
     Verdict::kFailValue, EluByExp,
     [] {
       return Calls("aten::elu", {{F32({-1e-6, 1})}});
     },
     [] {
       return Calls("aten::elu", {{F32({-50, 1, 0})}});
     }},
    {"X1008", "special", "aten::i0", "five terms of the series",
     Verdict::kFailValue, BesselOfFiveTerms,
     [] {
       return Calls("aten::i0", {{F32({.5, 6})}});
     },
     [] {
       return Calls("aten::i0", {{F32({.1, .5})}});
     }},
    {"X1009", "special", "aten::logit", "eps is ignored: Inf at one",
     Verdict::kFailSpecial, LogitIgnoresEps,
     [] {
       return Calls("aten::logit", {{F32({.3, 1}), 1e-3}});
     },
     [] {
       return Calls("aten::logit", {{F32({.3, .9}), 1e-3}});
     }},
    {"X1010", "special", "aten::hypot", "squares overflow",
     Verdict::kFailSpecial, HypotNaive,
     [] {
       return Calls("aten::hypot", {{F32({3e30, 3}), F32({4e30, 4})}});
     },
     [] {
       return Calls("aten::hypot", {{F32({6, 3}), F32({8, 4})}});
     }},
    {"X1011", "special", "aten::digamma",
     "negative arguments are not reflected", Verdict::kFailValue,
     DigammaWithoutReflection,
     [] {
       return Calls("aten::digamma", {{F32({2.5, -1.5})}});
     },
     [] {
       return Calls("aten::digamma", {{F32({2.5, 3})}});
     }},
    {"X1012", "special", "aten::log_sigmoid_forward",
     "the logarithm of an underflowed sigmoid", Verdict::kFailSpecial,
     LogSigmoidNaive,
     [] {
       return Calls("aten::log_sigmoid_forward", {{F32({1, -200})}});
     },
     [] {
       return Calls("aten::log_sigmoid_forward", {{F32({1, -2})}});
     }},

    {"Q1001", "special", "aten::softplus", "max(x, 0) + log1p(exp(-|x|))",
     Verdict::kPass, SoftplusStable,
     [] { return Calls("aten::softplus", {{Uniform(1, {100}, -19, 19)}}); }},
    {"Q1002", "special", "aten::hypot", "by the ratio, within 2 ulps",
     Verdict::kPass, HypotScaled,
     [] {
       return Calls("aten::hypot", {{Randn(2, {99}), Randn(3, {99})}});
     }},
    {"Q1003", "special", "aten::lgamma", "in float64, rounded once",
     Verdict::kPass, LgammaInDouble,
     [] { return Calls("aten::lgamma", {{Uniform(3, {99}, .1, 50)}}); }},
    {"Q1004", "special", "aten::xlogy.Tensor", "in float64, rounded once",
     Verdict::kPass, XlogyInDouble,
     [] {
       return Calls("aten::xlogy.Tensor",
                    {{F32({0, 0, 2, -1}), F32({0, 5, 3, .5})}});
     }},
};

}  // namespace

absl::Span<const SelftestCase> SpecialCases() { return kCases; }

}  // namespace flaggems::selftest
