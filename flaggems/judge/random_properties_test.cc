#include "flaggems/judge/random_properties.h"

#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <map>
#include <optional>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "flaggems/aten/op_traits_of.h"
#include "flaggems/core/status_testutil.h"
#include "flaggems/judge/random_table.h"

namespace flaggems {
namespace {

using Values = std::vector<c10::IValue>;
using Named = std::map<std::string, c10::IValue>;

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kInf = std::numeric_limits<double>::infinity();

OpKey Key(const std::string& op) { return OpKey::Parse(op).value(); }

// The arguments of `op` in the order of its schema, defaults filled in.
Values Arguments(const std::string& op, const Named& named) {
  const auto handle = FindOperator(Key(op));
  EXPECT_TRUE(handle.has_value()) << op;
  Values values;
  size_t used = 0;
  for (const c10::Argument& argument : handle->schema().arguments()) {
    const auto it = named.find(argument.name());
    if (it != named.end()) {
      values.push_back(it->second);
      ++used;
    } else {
      values.push_back(argument.default_value().value_or(c10::IValue()));
    }
  }
  EXPECT_EQ(used, named.size()) << op << " has no such argument";
  return values;
}

Values Copy(const Values& values) {
  Values copy;
  for (const c10::IValue& value : values) {
    copy.push_back(value.isTensor() ? c10::IValue(value.toTensor().clone())
                                    : value);
  }
  return copy;
}

std::optional<RandomFailure> Judge(const std::string& op, const Values& before,
                                   const Values& outputs,
                                   const Values& after = {},
                                   double rate = kRandomFalseAlarmRate) {
  auto failure =
      JudgeRandom(*FindOperator(Key(op)), before, outputs, after, rate);
  EXPECT_TRUE(failure.ok()) << op << ": " << failure.status();
  return failure.ok() ? *std::move(failure) : std::nullopt;
}

// A call of torch's own kernel, judged.
std::optional<RandomFailure> JudgeNative(const std::string& op,
                                         Values arguments) {
  const Values before = Copy(arguments);
  torch::jit::Stack stack = arguments;
  FindOperator(Key(op))->callBoxed(stack);
  return Judge(op, before, stack, arguments);
}

std::string Describe(const RandomFailure& failure) {
  return failure.property + ": " + failure.message;
}

// ---- Right kernels are not reported

struct NativeCase {
  std::string op;
  std::string about;
  // The arguments; `sizes` is that of the output, or what comes closest.
  std::function<Named(c10::IntArrayRef sizes)> arguments;
};

const at::ScalarType kFloats[] = {at::kFloat, at::kDouble, at::kHalf,
                                  at::kBFloat16};

std::vector<NativeCase> NativeCases() {
  std::vector<NativeCase> cases;
  const auto add = [&](std::string op, std::string about,
                       std::function<Named(c10::IntArrayRef)> arguments) {
    cases.push_back({std::move(op), std::move(about), std::move(arguments)});
  };
  for (const at::ScalarType type : kFloats) {
    const std::string name = c10::toString(type);
    const auto empty = [type](c10::IntArrayRef sizes) {
      return at::zeros(sizes, type);
    };
    const auto in_place = [&](const std::string& op, const std::string& about,
                              const Named& named) {
      add(op, name + about, [=](c10::IntArrayRef sizes) {
        Named all = named;
        all["self"] = empty(sizes);
        return all;
      });
    };
    for (const char* op : {"rand", "randn"}) {
      add(op, name, [type](c10::IntArrayRef sizes) {
        return Named{{"size", sizes}, {"dtype", type}};
      });
    }
    for (const char* op : {"rand_like", "randn_like"}) {
      add(op, name, [empty](c10::IntArrayRef sizes) {
        return Named{{"self", empty(sizes)}};
      });
    }
    in_place("uniform_", "", {});
    in_place("uniform_", "From3To10", {{"from", 3.0}, {"to", 10.0}});
    in_place("uniform_", "From1000", {{"from", 1000.0}, {"to", 1001.0}});
    in_place("uniform_", "Negative", {{"from", -0.3}, {"to", 0.7}});
    in_place("uniform_", "NotRepresentable", {{"from", 0.0}, {"to", 0.1}});
    in_place("uniform_", "One", {{"from", 5.0}, {"to", 5.0}});
    in_place("uniform", "", {{"from", -1.0}});
    in_place("normal_", "", {});
    in_place("normal_", "FarAway", {{"mean", 1000.0}, {"std", 1.0}});
    in_place("normal_", "Wide", {{"mean", -3.0}, {"std", 100.0}});
    in_place("normal_", "NoSpread", {{"mean", 2.5}, {"std", 0.0}});
    in_place("normal_functional", "", {{"std", 0.1}});
    in_place("log_normal_", "", {});
    in_place("log_normal_", "Wide", {{"mean", 0.0}, {"std", 5.0}});
    in_place("cauchy_", "", {{"median", 1.0}, {"sigma", 3.0}});
    in_place("exponential_", "", {{"lambd", 2.5}});
    in_place("geometric_", "", {{"p", 0.3}});
    in_place("geometric_", "Rare", {{"p", 0.002}});
    in_place("random_", "", {});
    in_place("random_.to", "", {{"to", 100}});
    in_place("random_.from", "", {{"from", -20}, {"to", 7}});
    in_place("random_.from", "Open", {{"from", 3}});
    in_place("bernoulli_.float", "", {{"p", 0.1}});
    in_place("bernoulli_.float", "Never", {{"p", 0.0}});
    in_place("bernoulli_.float", "Always", {{"p", 1.0}});
    in_place("bernoulli.p", "", {{"p", 0.9}});
    add("normal.Tensor_float", name, [type](c10::IntArrayRef sizes) {
      return Named{{"mean", at::randn(sizes, type)}, {"std", 2.0}};
    });
    add("normal.float_Tensor", name, [type](c10::IntArrayRef sizes) {
      return Named{{"mean", -1.0}, {"std", at::rand(sizes, type)}};
    });
    add("normal.Tensor_Tensor", name, [type](c10::IntArrayRef sizes) {
      return Named{{"mean", at::randn(sizes, type)},
                   {"std", at::rand(sizes, type)}};
    });
    add("normal.float_float", name, [type](c10::IntArrayRef sizes) {
      return Named{
          {"mean", 1.0}, {"std", 2.0}, {"size", sizes}, {"dtype", type}};
    });
    add("randint", name, [type](c10::IntArrayRef sizes) {
      return Named{{"high", 17}, {"size", sizes}, {"dtype", type}};
    });
    add("bernoulli", name, [type](c10::IntArrayRef sizes) {
      return Named{{"self", at::rand(sizes, type)}};
    });
    add("bernoulli.Tensor", name, [type](c10::IntArrayRef sizes) {
      return Named{{"self", at::zeros(sizes, type)},
                   {"p", at::rand(sizes, type)}};
    });
    for (const double p : {0.0, 0.1, 0.5, 1.0}) {
      for (const bool train : {true, false}) {
        const std::string about = name + "_" + std::to_string(int(10 * p)) +
                                  (train ? "Train" : "Eval");
        add("native_dropout", about, [=](c10::IntArrayRef sizes) {
          return Named{
              {"input", at::randn(sizes, type)}, {"p", p}, {"train", train}};
        });
        add("dropout", about, [=](c10::IntArrayRef sizes) {
          return Named{{"input", at::randn(sizes, type).relu()},
                       {"p", p},
                       {"train", train}};
        });
        add("dropout_", about, [=](c10::IntArrayRef sizes) {
          return Named{
              {"self", at::randn(sizes, type)}, {"p", p}, {"train", train}};
        });
      }
    }
    add("native_dropout", name + "SpecialInputs", [=](c10::IntArrayRef sizes) {
      at::Tensor x = at::randn(sizes, type);
      x.masked_fill_(at::rand(sizes).lt(0.1), kNan);
      x.masked_fill_(at::rand(sizes).lt(0.1), kInf);
      x.masked_fill_(at::rand(sizes).lt(0.1), 60000);
      return Named{{"input", x}, {"p", 0.4}, {"train", true}};
    });
    add("alpha_dropout", name, [=](c10::IntArrayRef sizes) {
      return Named{
          {"input", at::randn(sizes, type)}, {"p", 0.4}, {"train", true}};
    });
    add("poisson", name, [type](c10::IntArrayRef sizes) {
      return Named{{"self", at::rand(sizes, type) * 10}};
    });
    add("poisson", name + "Large", [type](c10::IntArrayRef sizes) {
      return Named{{"self", at::full(sizes, 500, type)}};
    });
    if (type == at::kFloat || type == at::kDouble) {
      add("binomial", name, [type](c10::IntArrayRef sizes) {
        return Named{{"count", at::randint(0, 50, sizes, type)},
                     {"prob", at::rand(sizes, type)}};
      });
      for (const double shape : {0.01, 0.5, 1.0, 30.0}) {
        const std::string about = name + std::to_string(int(100 * shape));
        add("_standard_gamma", about, [=](c10::IntArrayRef sizes) {
          return Named{{"self", at::full(sizes, shape, type)}};
        });
        add("_sample_dirichlet", about, [=](c10::IntArrayRef sizes) {
          return Named{{"self", at::full(sizes, shape, type)}};
        });
      }
    }
    for (const bool replacement : {true, false}) {
      for (const int64_t draws : {1, 5}) {
        add("multinomial",
            name + std::to_string(draws) + (replacement ? "Replaced" : ""),
            [=](c10::IntArrayRef sizes) {
              // Rows of 12 weights, some of them 0.
              const int64_t rows = c10::multiply_integers(sizes) % 500 + 1;
              const at::Tensor weights =
                  at::rand({rows, 12})
                      .sub_(0.2)
                      .relu_()
                      .add_(at::eye(12).sum(0).slice(0, 0, 12) *
                            at::tensor({1., 1., 1., 1., 1., 0., 0., 0., 0., 0.,
                                        0., 0.}));
              return Named{{"self", weights.to(type)},
                           {"num_samples", draws},
                           {"replacement", replacement}};
            });
      }
    }
    add("multinomial", name + "OneRow", [=](c10::IntArrayRef sizes) {
      return Named{{"self", at::rand({100}).to(type)},
                   {"num_samples", c10::multiply_integers(sizes) + 1},
                   {"replacement", true}};
    });
    if (type == at::kFloat || type == at::kDouble) {
      for (const char* op : {"rrelu_with_noise", "rrelu_with_noise_",
                             "rrelu_with_noise_functional"}) {
        for (const bool training : {true, false}) {
          add(op, name + (training ? "Training" : ""),
              [=](c10::IntArrayRef sizes) {
                return Named{{"self", at::randn(sizes, type)},
                             {"noise", at::zeros(sizes, type)},
                             {"training", training}};
              });
        }
      }
      add("rrelu", name, [=](c10::IntArrayRef sizes) {
        return Named{{"self", at::randn(sizes, type)}, {"training", true}};
      });
    }
  }
  for (const at::ScalarType type :
       {at::kByte, at::kChar, at::kShort, at::kInt, at::kLong, at::kBool}) {
    const std::string name = c10::toString(type);
    const bool flag = type == at::kBool;
    const auto in_place = [&](const std::string& op, const std::string& about,
                              const Named& named) {
      add(op, name + about, [=](c10::IntArrayRef sizes) {
        Named all = named;
        all["self"] = at::zeros(sizes, type);
        return all;
      });
    };
    in_place("random_", "", {});
    in_place("random_.to", "", {{"to", flag ? 2 : 100}});
    in_place("random_.from", "Open", {{"from", flag ? 0 : 3}});
    in_place("bernoulli_.float", "", {{"p", 0.3}});
    if (!flag) in_place("geometric_", "", {{"p", 0.3}});
    in_place("randint_like", "", {{"high", flag ? 2 : 11}});
    in_place("randint_like.low_dtype", "",
             {{"low", flag ? 0 : 5}, {"high", flag ? 2 : 6}});
  }
  add("randint.low", "Long", [](c10::IntArrayRef sizes) {
    return Named{{"low", -5}, {"high", 1000}, {"size", sizes}};
  });
  add("randint.low", "Huge", [](c10::IntArrayRef sizes) {
    return Named{{"low", -(int64_t{3} << 60)},
                 {"high", int64_t{3} << 60},
                 {"size", sizes}};
  });
  add("randint", "NotAPowerOfTwo", [](c10::IntArrayRef sizes) {
    return Named{{"high", int64_t{3} << 30}, {"size", sizes}};
  });
  for (const at::ScalarType type : {at::kLong, at::kInt, at::kFloat}) {
    add("randperm", c10::toString(type), [type](c10::IntArrayRef sizes) {
      return Named{{"n", c10::multiply_integers(sizes)}, {"dtype", type}};
    });
  }
  for (const char* op : {"rand", "randn"}) {
    add(op, "Complex", [](c10::IntArrayRef sizes) {
      return Named{{"size", sizes}, {"dtype", at::kComplexFloat}};
    });
  }
  return cases;
}

const std::vector<NativeCase>& AllNativeCases() {
  static const auto* const cases = new std::vector<NativeCase>(NativeCases());
  return *cases;
}

std::vector<std::string> NativeOps() {
  std::vector<std::string> ops;
  for (const NativeCase& c : AllNativeCases()) {
    if (std::find(ops.begin(), ops.end(), c.op) == ops.end()) {
      ops.push_back(c.op);
    }
  }
  return ops;
}

// One operator: all its cases in turn.
class NativeTest : public testing::TestWithParam<std::string> {
 protected:
  void SetUp() override { at::set_num_threads(1); }

  std::vector<const NativeCase*> cases() const {
    std::vector<const NativeCase*> cases;
    for (const NativeCase& c : AllNativeCases()) {
      if (c.op == GetParam()) cases.push_back(&c);
    }
    return cases;
  }
};

// 2,000 calls over shapes from none to some thousand elements. They are judged
// with a rate that so many calls can measure, too: 20 alarms are expected at
// most, 34 is three standard deviations more.
TEST_P(NativeTest, IsNotReported) {
  constexpr double kMeasurableRate = 1e-2;
  const std::vector<std::vector<int64_t>> shapes = {
      {},      {1},    {0},       {7},          {3, 0, 2}, {64},
      {16, 8}, {1000}, {64, 100}, {2, 3, 4, 5}, {4097}};
  at::manual_seed(20261129);
  const std::vector<const NativeCase*> cases = this->cases();
  int alarms = 0;
  for (size_t i = 0; i < 2000; ++i) {
    const NativeCase& c = *cases[i % cases.size()];
    std::vector<int64_t> shape = shapes[i / cases.size() % shapes.size()];
    // It wants a last dimension.
    if (shape.empty() && c.op == "_sample_dirichlet") shape = {3};
    Values arguments = Arguments(c.op, c.arguments(shape));
    const Values before = Copy(arguments);
    torch::jit::Stack stack = arguments;
    FindOperator(Key(c.op))->callBoxed(stack);
    if (!Judge(c.op, before, stack, arguments, kMeasurableRate)) continue;
    ++alarms;
    const auto failure = Judge(c.op, before, stack, arguments);
    ASSERT_FALSE(failure.has_value())
        << c.about << ", call " << i << ", sizes " << c10::IntArrayRef(shape)
        << ": " << Describe(*failure);
  }
  EXPECT_LE(alarms, 34);
}

// Large ones show what small ones hide in their noise.
TEST_P(NativeTest, IsNotReportedWithManyElements) {
  at::manual_seed(2);
  for (const NativeCase* c : cases()) {
    const auto failure =
        JudgeNative(c->op, Arguments(c->op, c->arguments({100, 1001})));
    EXPECT_FALSE(failure.has_value()) << c->about << ": " << Describe(*failure);
  }
}

INSTANTIATE_TEST_SUITE_P(All, NativeTest, testing::ValuesIn(NativeOps()),
                         [](const auto& info) {
                           std::string name = info.param;
                           std::replace(name.begin(), name.end(), '.', '_');
                           return name;
                         });

// ---- Wrong kernels are reported

struct WrongCase {
  std::string name;
  std::string op;
  Named arguments;
  // What a wrong kernel returns.
  std::function<Values()> outputs;
  std::string property;
};

void PrintTo(const WrongCase& c, std::ostream* os) { *os << c.name; }

// One element replaced.
at::Tensor With(at::Tensor x, double value) {
  x.view(-1)[7] = value;
  return x;
}

at::Tensor Zeros(c10::IntArrayRef sizes) { return at::zeros(sizes); }

// Dropout's outputs with a mask of elements that are kept.
Values Dropped(const at::Tensor& input, const at::Tensor& mask, double scale) {
  return {at::where(mask, input * scale, 0), mask};
}

at::Tensor Classes(int64_t draws, int64_t classes) {
  return at::multinomial(at::ones({classes}), draws, /*replacement=*/true);
}

std::vector<WrongCase> WrongCases() {
  std::vector<WrongCase> cases;
  const auto add = [&](std::string name, std::string op, Named arguments,
                       std::string property, std::function<Values()> outputs) {
    cases.push_back({std::move(name), std::move(op), std::move(arguments),
                     std::move(outputs), std::move(property)});
  };
  const std::vector<int64_t> kSmall = {1000};
  const std::vector<int64_t> kLarge = {100, 1000};
  const Named small = {{"size", kSmall}};
  const Named large = {{"size", kLarge}};
  // Uniform.
  add("UniformNan", "rand", small, "nan",
      [] { return Values{With(at::rand({1000}), kNan)}; });
  add("UniformInf", "rand", small, "range",
      [] { return Values{With(at::rand({1000}), kInf)}; });
  add("UniformOne", "rand", small, "range",
      [] { return Values{With(at::rand({1000}), 1)}; });
  add("UniformOneInBFloat16", "rand", small, "range",
      [] { return Values{With(at::rand({1000}), 0.9999).to(at::kBFloat16)}; });
  add("UniformOneInFloat64", "rand", small, "range",
      [] { return Values{With(at::rand({1000}, at::kDouble), 1)}; });
  add("UniformNegative", "rand", small, "range",
      [] { return Values{With(at::rand({1000}), -1e-9)}; });
  add("UniformShort", "rand", large, "distribution", [] {
    return Values{at::rand({100, 1000}) * 0.98};
  });
  add("UniformToZeroPoint99", "rand",
      {{"size", std::vector<int64_t>{400, 1000}}}, "distribution", [] {
        return Values{at::rand({400, 1000}) * 0.99};
      });
  add("UniformUnwrittenTail", "rand", large, "repetition", [] {
    at::Tensor x = at::rand({100, 1000});
    x.view(-1).narrow(0, 99'900, 100).zero_();
    return Values{x};
  });
  // More elements than are judged one by one.
  add("UniformUnwrittenTailOfMany", "rand",
      {{"size", std::vector<int64_t>{5'000'000}}}, "", [] {
        at::Tensor x = at::rand({5'000'000});
        x.narrow(0, 4'990'000, 10'000).zero_();
        return Values{x};
      });
  add("UniformConstant", "rand", {{"size", std::vector<int64_t>{64}}},
      "repetition", [] { return Values{at::full({64}, 0.5)}; });
  add("UniformConstantRows", "rand", large, "", [] {
    return Values{at::rand({100, 1}).expand({100, 1000})};
  });
  add("UniformRowsAlike", "rand", large, "repetition", [] {
    return Values{at::rand({1, 1000}).expand({100, 1000})};
  });
  add("UniformSecondHalfIsTheFirst", "rand", small, "repetition",
      [] { return Values{at::rand({500}).repeat({2})}; });
  add("UniformBlocksAlikeInBFloat16", "rand", large, "repetition", [] {
    return Values{at::rand({1, 256}, at::kBFloat16)
                      .repeat({391, 1})
                      .view(-1)
                      .narrow(0, 0, 100'000)
                      .view({100, 1000})};
  });
  add("UniformWithoutRange", "uniform_",
      {{"self", Zeros(kSmall)}, {"from", 2.0}, {"to", 4.0}}, "range",
      [] { return Values{at::rand({1000})}; });
  // Normal.
  add("NormalOfUniform", "randn", small, "distribution",
      [] { return Values{at::rand({1000})}; });
  add("NormalStd105", "randn", large, "spread", [] {
    return Values{at::randn({100, 1000}) * 1.05};
  });
  add("NormalStd105InBFloat16", "randn", large, "spread", [] {
    return Values{(at::randn({100, 1000}) * 1.05).to(at::kBFloat16)};
  });
  add("NormalShifted", "randn", large, "mean", [] {
    return Values{at::randn({100, 1000}) + 0.03};
  });
  add("NormalOutlier", "randn", small, "tail",
      [] { return Values{With(at::randn({1000}), 12)}; });
  add("NormalInf", "randn", small, "tail",
      [] { return Values{With(at::randn({1000}), kInf)}; });
  add("NormalConstant", "randn", {{"size", std::vector<int64_t>{64}}}, "",
      [] { return Values{at::full({64}, 0.1)}; });
  add("NormalVarianceForStd", "normal_",
      {{"self", Zeros(kSmall)}, {"std", 2.0}}, "",
      [] { return Values{at::randn({1000}) * std::sqrt(2.0)}; });
  add("NormalMeanAndStdSwapped", "normal.Tensor_float",
      {{"mean", at::full({1000}, 0.5)}, {"std", 2.0}}, "",
      [] { return Values{at::randn({1000}) * 0.5 + 2}; });
  add("NormalTensorStdIgnored", "normal.float_Tensor",
      {{"mean", 0.0}, {"std", at::linspace(0.1, 3, 1000)}}, "",
      [] { return Values{at::randn({1000})}; });
  add("ComplexNormalOfTwiceTheVariance", "randn", small, "", [] {
    return Values{at::randn({1000}, at::kComplexFloat) * std::sqrt(2.0)};
  });
  add("LogNormalWithoutExp", "log_normal_", {{"self", Zeros(kSmall)}}, "range",
      [] { return Values{at::randn({1000}) * 2 + 1}; });
  add("LogNormalOfBase2", "log_normal_", {{"self", Zeros(kSmall)}}, "",
      [] { return Values{(at::randn({1000}) * 2 + 1).exp2()}; });
  add("CauchyScaleIgnored", "cauchy_",
      {{"self", Zeros(kSmall)}, {"sigma", 3.0}}, "distribution",
      [] { return Values{at::zeros({1000}).cauchy_(0, 1)}; });
  add("ExponentialMeanForRate", "exponential_",
      {{"self", Zeros(kSmall)}, {"lambd", 2.0}}, "",
      [] { return Values{at::zeros({1000}).exponential_(0.5)}; });
  add("ExponentialInf", "exponential_", {{"self", Zeros(kSmall)}}, "",
      [] { return Values{With(at::zeros({1000}).exponential_(), kInf)}; });
  add("GeometricFromZero", "geometric_", {{"self", Zeros(kSmall)}, {"p", 0.3}},
      "range", [] { return Values{at::zeros({1000}).geometric_(0.3) - 1}; });
  add("GeometricOfTheOther", "geometric_",
      {{"self", Zeros(kSmall)}, {"p", 0.3}}, "distribution",
      [] { return Values{at::zeros({1000}).geometric_(0.7)}; });
  // Integers.
  add("RandintTopIncluded", "randint", {{"high", 10}, {"size", kSmall}},
      "range", [] { return Values{at::randint(0, 11, {1000})}; });
  add("RandintTopMissing", "randint", {{"high", 10}, {"size", kSmall}},
      "frequency", [] { return Values{at::randint(0, 9, {1000})}; });
  add("RandintBottomMissing", "randint.low",
      {{"low", -3}, {"high", 3}, {"size", kSmall}}, "frequency",
      [] { return Values{at::randint(-2, 3, {1000})}; });
  add("RandintNoInteger", "randint",
      {{"high", 10}, {"size", kSmall}, {"dtype", at::kFloat}}, "range",
      [] { return Values{at::rand({1000}) * 9}; });
  add("RandintConstant", "randint", {{"high", 1000000}, {"size", kSmall}}, "",
      [] { return Values{at::full({1000}, 500000, at::kLong)}; });
  add("RandomHalfOfTheRange", "random_",
      {{"self", at::zeros(kSmall, at::kInt)}}, "distribution",
      [] { return Values{at::randint(0, 1 << 30, {1000}, at::kInt)}; });
  add("RandomNegative", "random_", {{"self", at::zeros(kSmall, at::kInt)}},
      "range",
      [] { return Values{at::zeros({1000}, at::kInt).random_(-1000, 1000)}; });
  // Bernoulli.
  add("BernoulliTwo", "bernoulli_.float", {{"self", Zeros(kSmall)}}, "range",
      [] { return Values{at::zeros({1000}).bernoulli_() * 2}; });
  add("BernoulliOfTheOther", "bernoulli_.float",
      {{"self", Zeros(kSmall)}, {"p", 0.3}}, "mean",
      [] { return Values{at::zeros({1000}).bernoulli_(0.7)}; });
  add("BernoulliTensorOfTheOther", "bernoulli",
      {{"self", at::linspace(0, 1, 1000)}}, "",
      [] { return Values{at::bernoulli(1 - at::linspace(0, 1, 1000))}; });
  add("BernoulliNever", "bernoulli_.float",
      {{"self", Zeros(kSmall)}, {"p", 0.0}}, "range",
      [] { return Values{at::zeros({1000}).bernoulli_(0.01)}; });
  add("BernoulliRowsAlike", "bernoulli_.float", {{"self", Zeros(kLarge)}},
      "repetition", [] {
        return Values{at::zeros({1, 1000}).bernoulli_().expand({100, 1000})};
      });
  // Counts.
  add("PoissonConstant", "poisson", {{"self", at::full({1000}, 50.)}},
      "repetition", [] { return Values{at::full({1000}, 50.)}; });
  add("PoissonTwice", "poisson", {{"self", at::full({1000}, 5.)}}, "mean",
      [] { return Values{at::poisson(at::full({1000}, 10.))}; });
  add("PoissonNegative", "poisson", {{"self", at::full({1000}, 5.)}}, "range",
      [] { return Values{at::poisson(at::full({1000}, 5.)) - 1}; });
  add("PoissonNoZeros", "poisson", {{"self", at::full({1000}, 0.5)}}, "",
      [] { return Values{at::poisson(at::full({1000}, 0.5)).clamp_min_(1)}; });
  add("BinomialOfTheOther", "binomial",
      {{"count", at::full({1000}, 20.)}, {"prob", at::full({1000}, 0.3)}},
      "mean", [] {
        return Values{
            at::binomial(at::full({1000}, 20.), at::full({1000}, 0.7))};
      });
  add("BinomialTooMany", "binomial",
      {{"count", at::full({1000}, 5.)}, {"prob", at::full({1000}, 0.9)}},
      "range", [] { return Values{at::full({1000}, 6.)}; });
  add("GammaShapeIgnored", "_standard_gamma", {{"self", at::full({1000}, 3.)}},
      "mean", [] { return Values{at::_standard_gamma(at::ones({1000}))}; });
  add("GammaNegative", "_standard_gamma", {{"self", at::full({1000}, 3.)}},
      "range",
      [] { return Values{at::_standard_gamma(at::full({1000}, 3.)) - 5}; });
  add("GammaZeros", "_standard_gamma", {{"self", at::full({1000}, 3.)}},
      "frequency", [] {
        return Values{With(at::_standard_gamma(at::full({1000}, 3.)), 0)};
      });
  add("DirichletNotNormalised", "_sample_dirichlet",
      {{"self", at::ones({100, 5})}}, "sum", [] {
        return Values{at::_sample_dirichlet(at::ones({100, 5})) * 0.99};
      });
  add("DirichletShapesIgnored", "_sample_dirichlet",
      {{"self", at::tensor({1., 2., 7.}).expand({1000, 3})}}, "mean", [] {
        return Values{at::_sample_dirichlet(at::ones({1000, 3}, at::kDouble))};
      });
  // Indices.
  const Named replaced = {
      {"self", at::ones({10})}, {"num_samples", 1000}, {"replacement", true}};
  add("MultinomialNeverDrawn", "multinomial", replaced, "frequency",
      [] { return Values{Classes(1000, 9)}; });
  add("MultinomialOutOfRange", "multinomial", replaced, "range",
      [] { return Values{Classes(1000, 11)}; });
  add("MultinomialZeroWeight", "multinomial",
      {{"self", at::tensor({1., 0., 1.})},
       {"num_samples", 4},
       {"replacement", true}},
      "frequency", [] {
        return Values{at::tensor({0, 2, 1, 0}, at::kLong)};
      });
  // A class that is rarer than 1e-4, of which none comes up.
  add("MultinomialRareClassNeverDrawn", "multinomial",
      {{"self", at::tensor({5e-5, 0.4, 0.6})},
       {"num_samples", 1'000'000},
       {"replacement", true}},
      "frequency", [] {
        return Values{at::multinomial(at::tensor({0., 0.4, 0.6}), 1'000'000,
                                      /*replacement=*/true)};
      });
  add("MultinomialWeightsIgnored", "multinomial",
      {{"self", at::tensor({1., 2., 3., 4.}).expand({1000, 4})},
       {"num_samples", 1}},
      "", [] {
        return Values{at::randint(0, 4, {1000, 1})};
      });
  add("MultinomialDuplicate", "multinomial",
      {{"self", at::ones({10})}, {"num_samples", 4}}, "duplicate", [] {
        return Values{at::tensor({3, 1, 4, 1}, at::kLong)};
      });
  add("PermutationDuplicate", "randperm", {{"n", 100}}, "permutation", [] {
    const at::Tensor x = at::randperm(100);
    x[7] = x[8];
    return Values{x};
  });
  add("PermutationFromOne", "randperm", {{"n", 100}}, "permutation",
      [] { return Values{at::randperm(100) + 1}; });
  add("PermutationIdentity", "randperm", {{"n", 100}}, "order",
      [] { return Values{at::arange(100)}; });
  add("PermutationRotation", "randperm", {{"n", 100}}, "order",
      [] { return Values{at::arange(100).roll(30)}; });
  // Dropout.
  const at::Tensor x = at::linspace(-3, 5, 1000);
  const auto dropout = [&](double p, bool train = true) {
    return Named{{"input", x}, {"p", p}, {"train", train}};
  };
  add("DropoutUnscaled", "native_dropout", dropout(0.3), "scale",
      [x] { return Dropped(x, at::rand({1000}).ge(0.3), 1); });
  add("DropoutScaledByP", "native_dropout", dropout(0.3), "scale",
      [x] { return Dropped(x, at::rand({1000}).ge(0.3), 1 / 0.3); });
  add("DropoutOfTheOther", "native_dropout", dropout(0.3), "kept share",
      [x] { return Dropped(x, at::rand({1000}).ge(0.7), 1 / 0.7); });
  add("DropoutInvertedMask", "native_dropout", dropout(0.5), "mask", [x] {
    const at::Tensor mask = at::rand({1000}).ge(0.5);
    return Values{at::where(mask, x * 2, 0), ~mask};
  });
  add("DropoutOneElementOff", "native_dropout", dropout(0.5), "scale", [x] {
    Values outputs = Dropped(x, at::ones({1000}, at::kBool), 2);
    outputs[0].toTensor()[17] *= 1 + 1e-5;
    return outputs;
  });
  add("DropoutDropsNothing", "native_dropout", dropout(0.5), "kept share",
      [x] { return Dropped(x, at::ones({1000}, at::kBool), 2); });
  add("DropoutDropsWithP0", "native_dropout", dropout(0), "kept share",
      [x] { return Dropped(x, at::rand({1000}).ge(0.01), 1); });
  add("DropoutKeepsWithP1", "native_dropout", dropout(1), "",
      [x] { return Dropped(x, at::rand({1000}).ge(0.5), 1); });
  add("DropoutInEvaluation", "native_dropout", dropout(0.5, false), "scale",
      [x] { return Dropped(x, at::rand({1000}).ge(0.5), 2); });
  add("DropoutMaskInEvaluation", "native_dropout", dropout(0.5, false), "mask",
      [x] {
        return Values{x, at::zeros({1000}, at::kBool)};
      });
  add("DropoutRowsAlike", "native_dropout",
      {{"input", at::ones({20, 100})}, {"p", 0.5}, {"train", true}},
      "repetition", [] {
        return Dropped(at::ones({20, 100}),
                       at::rand({100}).ge(0.5).expand({20, 100}).contiguous(),
                       2);
      });
  add("DropoutWithoutMaskUnscaled", "dropout", dropout(0.3), "scale",
      [x] { return Values{Dropped(x, at::rand({1000}).ge(0.3), 1)[0]}; });
  add("FusedDropoutOfTheOther", "_fused_dropout", {{"self", x}, {"p", 0.3}},
      "kept share",
      [x] { return Dropped(x, at::rand({1000}).ge(0.3), 1 / 0.3); });
  add("AlphaDropoutShape", "alpha_dropout", dropout(0.5), "shape",
      [] { return Values{at::zeros({10})}; });
  // Leaky ReLU.
  add("LeakyReluSlopeOutOfRange", "rrelu_with_noise_functional",
      {{"self", at::full({1000}, -1.)},
       {"noise", at::zeros({1000})},
       {"training", true}},
      "noise", [] {
        const at::Tensor noise = at::rand({1000});
        return Values{-noise, noise};
      });
  add("LeakyReluOtherNoise", "rrelu_with_noise_functional",
      {{"self", at::full({1000}, -1.)},
       {"noise", at::zeros({1000})},
       {"training", true}},
      "scale", [] {
        const at::Tensor noise = at::zeros({1000}).uniform_(0.2, 0.3);
        return Values{-noise.roll(1), noise};
      });
  add("LeakyReluOneSlope", "rrelu",
      {{"self", at::full({1000}, -1.)}, {"training", true}}, "distribution",
      [] { return Values{at::full({1000}, -0.25)}; });
  add("LeakyReluPositiveScaled", "rrelu",
      {{"self", at::ones({10})}, {"training", true}}, "scale",
      [] { return Values{at::full({10}, 0.25)}; });
  return cases;
}

class WrongTest : public testing::TestWithParam<WrongCase> {
 protected:
  void SetUp() override { at::set_num_threads(1); }
};

TEST_P(WrongTest, IsReported) {
  const WrongCase& c = GetParam();
  at::manual_seed(20261129);
  for (int i = 0; i < 5; ++i) {
    const auto failure = Judge(c.op, Arguments(c.op, c.arguments), c.outputs());
    ASSERT_TRUE(failure.has_value());
    if (!c.property.empty()) {
      EXPECT_EQ(failure->property, c.property) << Describe(*failure);
    }
    EXPECT_FALSE(failure->message.empty());
    EXPECT_EQ(failure->worst_index.has_value(), !failure->got.empty());
  }
}

INSTANTIATE_TEST_SUITE_P(All, WrongTest, testing::ValuesIn(WrongCases()),
                         [](const auto& info) { return info.param.name; });

// The noise of the in-place form is an argument.
TEST(LeakyReluTest, NoiseIsReadAfterTheCall) {
  const Values before =
      Arguments("rrelu_with_noise", {{"self", at::full({8}, -1.)},
                                     {"noise", at::zeros({8})},
                                     {"training", true}});
  const Values outputs = {at::full({8}, -0.25)};
  Values after = before;
  after[1] = at::full({8}, 0.25);
  EXPECT_FALSE(Judge("rrelu_with_noise", before, outputs, after).has_value());
  const auto failure = Judge("rrelu_with_noise", before, outputs, before);
  ASSERT_TRUE(failure.has_value());
  EXPECT_EQ(failure->property, "noise");
}

TEST(RandomFailureTest, NamesTheFirstWrongElement) {
  at::Tensor x = at::full({2, 3}, 0.5);
  x[1][2] = -1;
  const auto failure = Judge(
      "rand", Arguments("rand", {{"size", std::vector<int64_t>{2, 3}}}), {x});
  ASSERT_TRUE(failure.has_value());
  EXPECT_EQ(failure->worst_index, std::vector<int64_t>({1, 2}));
  EXPECT_EQ(failure->got, "-1.0");
  EXPECT_EQ(failure->want, "a number in [0.0, 1.0)");
}

// ---- Errors

TEST(JudgeRandomTest, RefusesWhatItDoesNotKnow) {
  const Values none;
  EXPECT_THAT(JudgeRandom(*FindOperator(Key("relu")), none, none),
              StatusIs(absl::StatusCode::kUnimplemented));
  EXPECT_THAT(JudgeRandom(*FindOperator(Key("rand")), none, none),
              StatusIs(absl::StatusCode::kInvalidArgument));
  const Values arguments =
      Arguments("rand", {{"size", std::vector<int64_t>{2}}});
  EXPECT_THAT(JudgeRandom(*FindOperator(Key("rand")), arguments, none),
              StatusIs(absl::StatusCode::kInvalidArgument));
  const Values meta = {at::empty({2}, at::TensorOptions(at::kMeta))};
  EXPECT_THAT(JudgeRandom(*FindOperator(Key("rand")), arguments, meta),
              StatusIs(absl::StatusCode::kUnimplemented));
}

// ---- The table

TEST(RandomTableTest, EveryRowNamesAnOperatorOfTorchAndItsArguments) {
  const std::vector<OpKey> known = KnownOperators();
  for (const RandomRow& row : RandomRows()) {
    bool found = false;
    bool first = row.first.argument.empty();
    bool second = row.second.argument.empty();
    for (const OpKey& key : known) {
      if (FindRandomRow(key) != &row) continue;
      found = true;
      for (const auto& argument : FindOperator(key)->schema().arguments()) {
        first |= argument.name() == row.first.argument;
        second |= argument.name() == row.second.argument;
      }
    }
    EXPECT_TRUE(found) << row.name;
    EXPECT_TRUE(first) << row.name << " has no " << row.first.argument;
    EXPECT_TRUE(second) << row.name << " has no " << row.second.argument;
  }
}

TEST(RandomTableTest, FindsInPlaceAndFunctionalForms) {
  for (const char* op :
       {"rand", "rand.generator", "normal_", "normal_functional", "uniform",
        "normal.Tensor_float_out", "rrelu_with_noise_functional"}) {
    EXPECT_TRUE(HasRandomProperties(Key(op))) << op;
  }
  for (const char* op : {"relu", "add_", "my::rand", "random_like", "", "_"}) {
    const auto key = OpKey::Parse(op);
    EXPECT_FALSE(key.ok() && HasRandomProperties(*key)) << op;
  }
}

}  // namespace
}  // namespace flaggems
