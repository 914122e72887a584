// Random operators: right ones draw other numbers than libtorch's generator.

#include <ATen/ATen.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <random>
#include <vector>

#include "tools/precision/selftest/case_util.h"
#include "tools/precision/selftest/selftest_cases.h"

namespace flaggems::selftest {
namespace {

// Calls of a random operator: both generators start anew.
std::mt19937_64& Engine() {
  static std::mt19937_64& engine = *new std::mt19937_64(1);
  return engine;
}

CallList Seeded(const char* op, std::vector<std::vector<c10::IValue>> calls) {
  at::manual_seed(20240607);
  Engine().seed(7);
  return Calls(op, std::move(calls));
}

// Uniform in [0, 1), 24 bits.
float NextUniform() { return static_cast<float>(Engine()() >> 40) * 0x1p-24f; }

float NextNormal() {
  // Box and Muller; the argument of the logarithm is never zero.
  const double radius = std::sqrt(-2 * std::log(1.0 - NextUniform()));
  return static_cast<float>(radius *
                            std::cos(6.283185307179586 * NextUniform()));
}

template <typename Next>
void FillFloat(const at::Tensor& out, Next next) {
  float* values = out.mutable_data_ptr<float>();
  for (int64_t i = 0; i < out.numel(); ++i) values[i] = next();
}

// --- Wrong. ---

void NormalSwapped(const NativeCall& native, Stack* stack) {
  const at::Tensor mean = TensorAt(stack, 0);
  const double std = stack->at(1).toDouble();
  stack->at(0) = at::zeros_like(mean);
  stack->at(1) = 1.0;
  native(stack);
  Return(stack, {at::add(at::mul(TensorAt(stack, 0), mean), std)});
}

void DropoutWithoutScale(const NativeCall& native, Stack* stack) {
  const double p = stack->at(1).toDouble();
  const bool train = stack->at(2).toBool();
  native(stack);
  if (train) TensorAt(stack, 0).mul_(1 - p);
}

void DropoutMaskInverted(const NativeCall& native, Stack* stack) {
  const bool train = stack->at(2).toBool();
  native(stack);
  if (train) stack->at(1) = at::logical_not(TensorAt(stack, 1));
}

void DropoutOfTooFew(const NativeCall& native, Stack* stack) {
  // The share that is kept is right in the first half only.
  const at::Tensor x = TensorAt(stack, 0);
  const bool train = stack->at(2).toBool();
  const double p = stack->at(1).toDouble();
  native(stack);
  if (!train) return;
  const int64_t half = x.numel() / 2;
  TensorAt(stack, 0)
      .narrow(0, half, half)
      .copy_(at::div(x.narrow(0, half, half), 1 - p));
  TensorAt(stack, 1).narrow(0, half, half).fill_(true);
}

void FirstClassNeverDrawn(const NativeCall& native, Stack* stack) {
  native(stack);
  Return(stack, {at::clamp_min(TensorAt(stack, 0), 1)});
}

void BernoulliInverted(const NativeCall& native, Stack* stack) {
  stack->at(1) = 1 - stack->at(1).toDouble();
  native(stack);
}

void RowsAreConstant(const NativeCall& native, Stack* stack) {
  native(stack);
  const at::Tensor out = TensorAt(stack, 0);
  out.copy_(out.narrow(1, 0, 1).expand_as(out).clone());
}

void RandpermRepeats(const NativeCall& native, Stack* stack) {
  native(stack);
  const at::Tensor out = TensorAt(stack, 0);
  out.narrow(0, out.size(0) - 1, 1).copy_(out.narrow(0, 0, 1));
}

void UniformOfUnitWidth(const NativeCall& native, Stack* stack) {
  stack->at(2) = stack->at(1).toDouble() + 1;
  native(stack);
}

void RandnOfVarianceTwo(const NativeCall& native, Stack* stack) {
  native(stack);
  TensorAt(stack, 0).mul_(1.4142135);
}

void RandintWithHigh(const NativeCall& native, Stack* stack) {
  stack->at(0) = stack->at(0).toInt() + 1;
  native(stack);
}

void ExponentialOfInverse(const NativeCall& native, Stack* stack) {
  stack->at(1) = 1 / stack->at(1).toDouble();
  native(stack);
}

void UpperHalfOnly(const NativeCall& native, Stack* stack) {
  native(stack);
  TensorAt(stack, 0).mul_(.5).add_(.5);
}

void RandnNeverNegative(const NativeCall& native, Stack* stack) {
  native(stack);
  TensorAt(stack, 0).abs_();
}

void RandTailZero(const NativeCall& native, Stack* stack) {
  native(stack);
  Tail(TensorAt(stack, 0), 1024).zero_();
}

// --- Right. ---

void OwnRand(const NativeCall&, Stack* stack) {
  const at::Tensor out = at::empty(stack->at(0).toIntVector());
  FillFloat(out, NextUniform);
  Return(stack, {out});
}

void OwnRandnLike(const NativeCall&, Stack* stack) {
  const at::Tensor out = at::empty_like(TensorAt(stack, 0));
  FillFloat(out, NextNormal);
  Return(stack, {out});
}

void OwnDropout(const NativeCall&, Stack* stack) {
  const at::Tensor x = TensorAt(stack, 0);
  const float p = static_cast<float>(stack->at(1).toDouble());
  const at::Tensor draws = at::empty_like(x);
  FillFloat(draws, NextUniform);
  const at::Tensor mask = at::ge(draws, p);
  Return(stack, {at::mul(at::mul(x, mask), 1 / (1 - p)), mask});
}

void OwnBernoulli(const NativeCall&, Stack* stack) {
  const float p = static_cast<float>(stack->at(1).toDouble());
  const at::Tensor out = at::empty_like(TensorAt(stack, 0));
  FillFloat(out, [p] { return NextUniform() < p ? 1.0f : 0.0f; });
  Return(stack, {out});
}

void OwnRandperm(const NativeCall&, Stack* stack) {
  std::vector<int64_t> order(stack->at(0).toInt());
  std::iota(order.begin(), order.end(), 0);
  std::shuffle(order.begin(), order.end(), Engine());
  Return(stack, {I64(order)});
}

void OwnMultinomial(const NativeCall&, Stack* stack) {
  const at::Tensor in = TensorAt(stack, 0).contiguous();
  const float* weights = in.const_data_ptr<float>();
  std::discrete_distribution<int64_t> pick(weights, weights + in.numel());
  std::vector<int64_t> drawn(stack->at(1).toInt());
  for (int64_t& index : drawn) index = pick(Engine());
  Return(stack, {I64(drawn)});
}

void OwnRandint(const NativeCall&, Stack* stack) {
  std::uniform_int_distribution<int64_t> pick(0, stack->at(0).toInt() - 1);
  const std::vector<int64_t> sizes = stack->at(1).toIntVector();
  std::vector<int64_t> drawn(sizes.at(0));
  for (int64_t& value : drawn) value = pick(Engine());
  Return(stack, {I64(drawn)});
}

void OwnNormal(const NativeCall&, Stack* stack) {
  const at::Tensor mean = TensorAt(stack, 0);
  const at::Tensor out = at::empty_like(mean);
  FillFloat(out, NextNormal);
  Return(stack, {at::add(mean, out, stack->at(1).toDouble())});
}

void OwnUniform(const NativeCall&, Stack* stack) {
  const float from = static_cast<float>(stack->at(1).toDouble());
  const float to = static_cast<float>(stack->at(2).toDouble());
  const at::Tensor self = TensorAt(stack, 0);
  FillFloat(self, [&] {
    // Rounding must not reach the open end.
    return std::min(from + (to - from) * NextUniform(),
                    std::nextafter(to, from));
  });
  Return(stack, {self});
}

void OwnExponential(const NativeCall&, Stack* stack) {
  const double rate = stack->at(1).toDouble();
  const at::Tensor self = TensorAt(stack, 0);
  FillFloat(self, [&] {
    return static_cast<float>(
        -std::log1p(-static_cast<double>(NextUniform() + 0x1p-25f)) / rate);
  });
  Return(stack, {self});
}

CallList DropoutOf(double p, bool train) {
  return Seeded("aten::native_dropout", {{Filled({10000}, 1.5), p, train}});
}

const SelftestCase kCases[] = {
    {"X880", "random", "aten::normal.Tensor_float",
     "mean and standard deviation are swapped", Verdict::kFailRandom,
     NormalSwapped,
     [] {
       return Seeded("aten::normal.Tensor_float", {{Filled({10000}, 1), 2.0}});
     },
     [] {
       return Seeded("aten::normal.Tensor_float", {{Filled({10000}, 1), 1.0}});
     }},
    {"X881", "random", "aten::native_dropout", "what is kept is not scaled",
     Verdict::kFailRandom, DropoutWithoutScale,
     [] { return DropoutOf(.5, true); }, [] { return DropoutOf(.5, false); }},
    {"X882", "random", "aten::native_dropout",
     "the mask is that of the dropped ones", Verdict::kFailRandom,
     DropoutMaskInverted, [] { return DropoutOf(.5, true); },
     [] { return DropoutOf(.5, false); }},
    {"X883", "random", "aten::native_dropout",
     "nothing is dropped in the second half", Verdict::kFailRandom,
     DropoutOfTooFew, [] { return DropoutOf(.5, true); },
     [] { return DropoutOf(.5, false); }},
    {"X884", "random", "aten::multinomial", "the first class is never drawn",
     Verdict::kFailRandom, FirstClassNeverDrawn,
     [] {
       return Seeded("aten::multinomial",
                     {{F32({.1, .2, .3, .4}), 10000, true}});
     },
     [] {
       return Seeded("aten::multinomial",
                     {{F32({0, .2, .3, .5}), 10000, true}});
     }},
    {"X885", "random", "aten::bernoulli.p", "drawn with 1 - p",
     Verdict::kFailRandom, BernoulliInverted,
     [] {
       return Seeded("aten::bernoulli.p", {{Filled({10000}, 0), .3}});
     },
     [] {
       return Seeded("aten::bernoulli.p", {{Filled({10000}, 0), .5}});
     }},
    {"X886", "random", "aten::rand", "all of a row is its first number",
     Verdict::kFailRandom, RowsAreConstant,
     [] {
       return Seeded("aten::rand", {{Ints({50, 200})}});
     },
     [] {
       return Seeded("aten::rand", {{Ints({10000, 1})}});
     }},
    {"X887", "random", "aten::randperm", "one number stands twice",
     Verdict::kFailRandom, RandpermRepeats,
     [] { return Seeded("aten::randperm", {{1000}}); },
     [] { return Seeded("aten::randperm", {{1}}); }},
    {"X888", "random", "aten::uniform_", "the upper end is the lower plus one",
     Verdict::kFailRandom, UniformOfUnitWidth,
     [] {
       return Seeded("aten::uniform_", {{Filled({10000}, 0), 2.0, 4.0}});
     },
     [] {
       return Seeded("aten::uniform_", {{Filled({10000}, 0), 2.0, 3.0}});
     }},
    {"X889", "random", "aten::randn", "of variance two", Verdict::kFailRandom,
     RandnOfVarianceTwo,
     [] { return Seeded("aten::randn", {{Ints({10000})}}); }},
    {"X890", "random", "aten::randint", "the end of the range is drawn too",
     Verdict::kFailRandom, RandintWithHigh,
     [] {
       return Seeded("aten::randint", {{10, Ints({10000})}});
     }},
    {"X891", "random", "aten::exponential_", "the rate is inverted",
     Verdict::kFailRandom, ExponentialOfInverse,
     [] {
       return Seeded("aten::exponential_", {{Filled({10000}, 0), 4.0}});
     },
     [] {
       return Seeded("aten::exponential_", {{Filled({10000}, 0), 1.0}});
     }},
    {"X892", "random", "aten::rand_like", "from the upper half only",
     Verdict::kFailRandom, UpperHalfOnly,
     [] { return Seeded("aten::rand_like", {{Filled({10000}, 0)}}); }},
    {"X893", "random", "aten::randn_like", "never negative",
     Verdict::kFailRandom, RandnNeverNegative,
     [] { return Seeded("aten::randn_like", {{Filled({10000}, 0)}}); }},
    {"X894", "random", "aten::rand", "the last n mod 1024 stay zero",
     Verdict::kFailRandom, RandTailZero,
     [] { return Seeded("aten::rand", {{Ints({10000})}}); },
     [] { return Seeded("aten::rand", {{Ints({8192})}}); }},

    {"R7a", "random", "aten::rand", "another generator", Verdict::kPass,
     OwnRand,
     [] {
       return Seeded("aten::rand", {{Ints({100, 100})}});
     }},
    {"R7b", "random", "aten::randn_like", "another generator", Verdict::kPass,
     OwnRandnLike,
     [] {
       return Seeded("aten::randn_like", {{Filled({100, 100}, 0)}});
     }},
    {"R7c", "random", "aten::native_dropout", "another generator",
     Verdict::kPass, OwnDropout, [] { return DropoutOf(.3, true); }},
    {"Q881", "random", "aten::bernoulli.p", "another generator", Verdict::kPass,
     OwnBernoulli,
     [] {
       return Seeded("aten::bernoulli.p", {{Filled({10000}, 0), .3}});
     }},
    {"Q882", "random", "aten::randperm", "another generator", Verdict::kPass,
     OwnRandperm, [] { return Seeded("aten::randperm", {{1000}}); }},
    {"Q883", "random", "aten::multinomial", "another generator", Verdict::kPass,
     OwnMultinomial,
     [] {
       return Seeded("aten::multinomial",
                     {{F32({.1, 0, .2, .3, .4}), 10000, true}});
     }},
    {"Q884", "random", "aten::randint", "another generator", Verdict::kPass,
     OwnRandint,
     [] {
       return Seeded("aten::randint", {{10, Ints({10000})}});
     }},
    {"Q885", "random", "aten::normal.Tensor_float", "another generator",
     Verdict::kPass, OwnNormal,
     [] {
       return Seeded("aten::normal.Tensor_float", {{Filled({10000}, 1), 2.0}});
     }},
    {"Q886", "random", "aten::uniform_", "another generator", Verdict::kPass,
     OwnUniform,
     [] {
       return Seeded("aten::uniform_", {{Filled({10000}, 0), 2.0, 4.0}});
     }},
    {"Q887", "random", "aten::exponential_", "another generator",
     Verdict::kPass, OwnExponential,
     [] {
       return Seeded("aten::exponential_", {{Filled({10000}, 0), 4.0}});
     }},
};

}  // namespace

absl::Span<const SelftestCase> RandomCases() { return kCases; }

}  // namespace flaggems::selftest
