#include "flaggems/judge/numbers.h"

#include <ATen/Context.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cfloat>
#include <cmath>
#include <limits>

#include "flaggems/judge/testutil.h"

namespace flaggems {
namespace {

using namespace judge_testing;  // NOLINT: a test's vocabulary

constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

struct NumbersCase {
  std::string name;
  std::string op;
  Values arguments;
  Kernel kernel;
  Verdict verdict;
  CallOptions options = {};
  std::string message = "";
};

void PrintTo(const NumbersCase& c, std::ostream* os) { *os << c.name; }

Judgement FirstResultOf(const MadeCall& made) {
  const KernelCall call = made.call();
  ReferenceRuns runs(call);
  return JudgeNumbers(call, runs, 0, ToHost(AsTensor(made.outputs()[0])));
}

class NumbersTest : public testing::TestWithParam<NumbersCase> {};

TEST_P(NumbersTest, GivesTheVerdict) {
  const NumbersCase& c = GetParam();
  const MadeCall made(c.op, c.arguments, c.kernel, c.options);
  ASSERT_TRUE(made.thrown().ok()) << made.thrown();
  const Judgement judgement = FirstResultOf(made);
  EXPECT_EQ(OutcomeName(OutcomeOf(judgement.verdict)),
            OutcomeName(OutcomeOf(c.verdict)))
      << ReasonName(judgement.verdict) << " got " << judgement.got << " want "
      << judgement.want << " " << judgement.message;
  EXPECT_EQ(ReasonName(judgement.verdict), ReasonName(c.verdict));
  EXPECT_THAT(judgement.message, testing::HasSubstr(c.message));
}

std::string NameOf(const testing::TestParamInfo<NumbersCase>& info) {
  return info.param.name;
}

CallOptions AsNative() {
  CallOptions options;
  options.native = true;
  return options;
}

CallOptions OnDevice() {
  CallOptions options;
  options.on_host = false;
  return options;
}

// Moves every element by `steps` of the output's type.
Kernel Off(const std::string& op, int steps) {
  return Native(op, [=](Values& r) {
    at::Tensor t = TensorOf(r).clone();
    ASSERT_EQ(t.scalar_type(), at::kFloat);
    float* const x = t.mutable_data_ptr<float>();
    for (int64_t i = 0; i < t.numel(); ++i) {
      for (int k = 0; k < steps; ++k) x[i] = std::nextafter(x[i], HUGE_VALF);
    }
    r[0] = t;
  });
}

// The operator in float64, rounded to the type of the first argument.
Kernel Exact(const std::string& op) {
  return [=](Values a) -> Values {
    const at::ScalarType type = TensorOf(a).scalar_type();
    for (c10::IValue& v : a) {
      if (v.isTensor() && v.toTensor().is_floating_point()) {
        v = v.toTensor().to(at::kDouble);
      }
    }
    Values r = CallNative(op, a);
    r[0] = TensorOf(r).to(type);
    return r;
  };
}

std::vector<NumbersCase> ZeroCases() {
  const at::Tensor zeros = F32({0., -0., 1, -3});
  const at::Tensor signs = F32({-1, 1, -2, 4});
  const std::string div = "aten::div.Tensor";
  const std::string mode = "aten::div.Tensor_mode";
  // 0 - x is 0 for 0.
  const Kernel by_difference = [](Values a) -> Values {
    return {at::zeros_like(TensorOf(a)) - TensorOf(a)};
  };
  const auto positive = [](const std::string& op) {
    return Native(op, [](Values& r) { r[0] = TensorOf(r) + 0.0; });
  };
  const std::string sign = "the sign of a zero";
  return {
      {"Neg",
       "aten::neg",
       {zeros},
       NativeKernelOf("aten::neg"),
       Verdict::kPass},
      {"NegByDifference",
       "aten::neg",
       {zeros},
       by_difference,
       Verdict::kFailValue,
       {},
       sign},
      {"Copysign",
       "aten::copysign.Tensor",
       {zeros, signs},
       NativeKernelOf("aten::copysign.Tensor"),
       Verdict::kPass},
      {"CopysignWithout",
       "aten::copysign.Tensor",
       {zeros, signs},
       positive("aten::copysign.Tensor"),
       Verdict::kFailValue,
       {},
       sign},
      {"Div", div, {zeros, signs}, NativeKernelOf(div), Verdict::kPass},
      {"DivOfBFloat16",
       div,
       {zeros.to(at::kBFloat16), signs.to(at::kBFloat16)},
       NativeKernelOf(div),
       Verdict::kPass},
      {"DivWithout",
       div,
       {zeros, signs},
       positive(div),
       Verdict::kFailValue,
       {},
       sign},
      {"DivTruncated",
       mode,
       {zeros, signs, "trunc"},
       positive(mode),
       Verdict::kPass},
      {"Relu", "aten::relu", {zeros}, positive("aten::relu"), Verdict::kPass},
      {"Mul",
       "aten::mul.Tensor",
       {zeros, signs},
       positive("aten::mul.Tensor"),
       Verdict::kPass},
  };
}

INSTANTIATE_TEST_SUITE_P(Zeros, NumbersTest, testing::ValuesIn(ZeroCases()),
                         NameOf);

// Adds to every element of the first result.
Kernel Above(const std::string& op, double by) {
  return Native(op, [=](Values& r) { r[0] = TensorOf(r) + by; });
}

// Norms of groups of one element, which are the bias whatever the element is,
// and of two.
std::vector<NumbersCase> FoldedNormCases() {
  const std::string layer = "aten::native_layer_norm";
  const std::string group = "aten::native_group_norm";
  const std::string batch = "aten::native_batch_norm";
  const at::Tensor column = Randn(1, {20, 1}) * 5;
  const at::Tensor w = Randn(2, {4});
  const at::Tensor b = Randn(3, {4});
  const std::vector<int64_t> one = {1};
  const Values of_layer = {column, one, kNone, kNone, 1e-5};
  const Values of_half = {column.to(at::kBFloat16), one, kNone, kNone, 1e-5};
  const Values of_group = {Randn(4, {2, 4, 1, 1}) * 5, w, b, 2, 4, 1, 4, 1e-5};
  const Values of_batch = {
      Randn(5, {1, 4, 1}) * 5, w, b, kNone, kNone, true, 0.1, 1e-5};
  const std::vector<int64_t> two = {2};
  const Values of_two = {Randn(6, {20, 2}), two, kNone, kNone, 1e-5};
  // Far from 0 and near each other.
  const Values of_near = {10 + 0.01 * Randn(7, {50, 2}), two, kNone, kNone,
                          1e-5};
  return {
      {"Layer", layer, of_layer, NativeKernelOf(layer), Verdict::kPass},
      {"LayerOfHalf", layer, of_half, NativeKernelOf(layer), Verdict::kPass},
      {"LayerOff", layer, of_layer, Above(layer, 0.05), Verdict::kFailValue},
      {"Group", group, of_group, NativeKernelOf(group), Verdict::kPass},
      {"GroupOff", group, of_group, Above(group, 0.05), Verdict::kFailValue},
      {"Batch", batch, of_batch, NativeKernelOf(batch), Verdict::kPass},
      {"BatchOff", batch, of_batch, Above(batch, 0.05), Verdict::kFailValue},
      {"LayerOfTwoOff", layer, of_two, Above(layer, 1e-3), Verdict::kFailValue},
      {"LayerOfTwoNear", layer, of_near, NativeKernelOf(layer), Verdict::kPass},
      {"LayerOfTwoNearOff", layer, of_near, Above(layer, 0.05),
       Verdict::kFailValue},
  };
}

INSTANTIATE_TEST_SUITE_P(FoldedNorms, NumbersTest,
                         testing::ValuesIn(FoldedNormCases()), NameOf);

std::vector<NumbersCase> RoundingCases() {
  const at::Tensor x = Randn(1, {100}).abs() + 0.1;
  const at::Tensor big = F32({16777216, 16777217, 16777218});
  return {
      {"Exact", "aten::sqrt", {x}, Exact("aten::sqrt"), Verdict::kPass},
      {"OneStepOff", "aten::sqrt", {x}, Off("aten::sqrt", 1), Verdict::kPass},
      {"ManyStepsOff",
       "aten::sqrt",
       {x},
       Off("aten::sqrt", 6),
       Verdict::kFailValue},
      {"ExpOffByMore",
       "aten::exp",
       {x},
       Off("aten::exp", 50),
       Verdict::kFailValue},
      {"MinusZero",
       "aten::sqrt",
       {F32({-0., 1})},
       NativeKernelOf("aten::sqrt"),
       Verdict::kPass},
      {"IntegersExactly",
       "aten::add.Tensor",
       {I64({1 << 24}), I64({1})},
       Giving({I64({(1 << 24) + 1})}),
       Verdict::kPass},
      {"IntegersOffByOne",
       "aten::add.Tensor",
       {I64({1 << 24}), I64({1})},
       Giving({I64({1 << 24})}),
       Verdict::kFailValue},
      {"BeyondExactFloats",
       "aten::add.Scalar",
       {big, 1},
       NativeKernelOf("aten::add.Scalar"),
       Verdict::kPass},
      {"FloatsOfIntegers",
       "aten::exp",
       {I64({1, 2, 3})},
       NativeKernelOf("aten::exp"),
       Verdict::kPass},
      {"FloatsOfIntegersOff",
       "aten::exp",
       {I64({1, 2, 3})},
       Off("aten::exp", 50),
       Verdict::kFailValue},
      {"QuotientOfIntegers",
       "aten::div.Tensor",
       {I64({1, 2}), I64({3, 7})},
       NativeKernelOf("aten::div.Tensor"),
       Verdict::kPass},
      {"HalfRoundedOnce",
       "aten::exp",
       {F16({0.1, 1.7, -3})},
       Exact("aten::exp"),
       Verdict::kPass},
      {"HalfOffByOneStep",
       "aten::exp",
       {F16({0.1})},
       Giving({F16({1.1064453125})}),
       Verdict::kFailValue},
      {"Bfloat16",
       "aten::exp",
       {BF16({0.1, 1.7, -3})},
       Exact("aten::exp"),
       Verdict::kPass},
      {"Double",
       "aten::exp",
       {F64({0.1, 1.7})},
       NativeKernelOf("aten::exp"),
       Verdict::kPass},
      {"DoubleByWayOfFloat",
       "aten::exp",
       {F64({0.1, 1.7})},
       Native("aten::exp",
              [](Values& r) {
                r[0] = TensorOf(r).to(at::kFloat).to(at::kDouble);
              }),
       Verdict::kFailValue},
      {"CopyIsExact",
       "aten::clone",
       {x},
       Off("aten::clone", 1),
       Verdict::kFailValue},
      {"PythonNumberInFloat32",
       "aten::mul.Scalar",
       {x, 0.1},
       NativeKernelOf("aten::mul.Scalar"),
       Verdict::kPass},
      {"PythonNumberInFloat16",
       "aten::add.Scalar",
       {F16({1, 2, 3}), 0.1},
       [](Values) -> Values {
         // 0.1 as float16, and a sum in float32.
         return {(F32({1, 2, 3}) + F16({0.1}).to(at::kFloat)).to(at::kHalf)};
       },
       Verdict::kPass},

      {"SubnormalFlushed",
       "aten::mul.Scalar",
       {F32({0x1p-120, 1}), 0x1p-10},
       Giving({F32({0, 0x1p-10})}),
       Verdict::kPass},
      {"NormalFlushed",
       "aten::mul.Scalar",
       {F32({0x1p-110, 1}), 0x1p-10},
       Giving({F32({0, 0x1p-10})}),
       Verdict::kFailValue},
      {"HalfSubnormalFlushed",
       "aten::mul.Scalar",
       {F16({0x1p-14, 1}), 0x1p-2},
       Giving({F16({0, 0x1p-2})}),
       Verdict::kFailValue},

      {"Overflow",
       "aten::mul.Scalar",
       {F32({FLT_MAX, 1}), 2},
       Giving({F32({kInf, 2})}),
       Verdict::kPass},
      {"OverflowSaturated",
       "aten::mul.Scalar",
       {F32({FLT_MAX, 1}), 2},
       Giving({F32({FLT_MAX, 2})}),
       Verdict::kFailSpecial,
       {},
       "the reference overflows"},
      {"OverflowOfTheOtherSign",
       "aten::mul.Scalar",
       {F32({FLT_MAX, 1}), 2},
       Giving({F32({-kInf, 2})}),
       Verdict::kFailSpecial},
      {"HalfOverflow",
       "aten::mul.Scalar",
       {F16({60000, 1}), 2},
       Giving({F16({kInf, 2})}),
       Verdict::kPass},
      {"HalfOverflowTooEarly",
       "aten::mul.Scalar",
       {F16({30000, 1}), 2},
       Giving({F16({kInf, 2})}),
       Verdict::kFailSpecial},
      // (exp(x) + exp(-x)) / 2 overflows before its half does.
      {"CoshOverflowsEarly",
       "aten::cosh",
       {F32({89, 1})},
       Giving({F32({kInf, std::cosh(1.)})}),
       Verdict::kPass},
      {"CoshOverflowsTooEarly",
       "aten::cosh",
       {F32({88, 1})},
       Giving({F32({kInf, std::cosh(1.)})}),
       Verdict::kFailSpecial},
      {"NoMarginElsewhere",
       "aten::mul.Scalar",
       {F32({FLT_MAX, 1}), 0.75},
       Giving({F32({kInf, 0.75})}),
       Verdict::kFailSpecial},

      {"NanAgainstANumber",
       "aten::exp",
       {F32({1, 2})},
       Giving({F32({kNan, std::exp(2.)})}),
       Verdict::kFailSpecial},
      {"AllNan",
       "aten::exp",
       {F32({kNan})},
       NativeKernelOf("aten::exp"),
       Verdict::kUntrustedAllNan},
      {"Empty",
       "aten::exp",
       {at::empty({0})},
       NativeKernelOf("aten::exp"),
       Verdict::kUntrustedEmpty},
  };
}

INSTANTIATE_TEST_SUITE_P(Rounding, NumbersTest,
                         testing::ValuesIn(RoundingCases()), NameOf);

std::vector<NumbersCase> ConditionCases() {
  const at::Tensor x = Randn(2, {64, 256});
  const std::vector<int64_t> last = {1};
  // Summands that cancel: the sum is small, its error is not.
  const at::Tensor cancelling = F32({16777216, 1, -16777216, 0.5});
  return {
      {"SumInAnyOrder",
       "aten::sum.dim_IntList",
       {x, last},
       [](Values a) -> Values {
         return {TensorOf(a).flip(1).cumsum(1).select(1, 255).contiguous()};
       },
       Verdict::kPass},
      {"SumWithoutTheLast",
       "aten::sum.dim_IntList",
       {x, last},
       [](Values a) -> Values {
         return {TensorOf(a).narrow(1, 0, 255).sum(1)};
       },
       Verdict::kFailValue,
       {},
       "256 terms"},
      {"CancellingSum",
       "aten::sum",
       {cancelling},
       Giving({at::scalar_tensor(0.5f)}),
       Verdict::kPass},
      {"CancellingSumTooFarOff",
       "aten::sum",
       {cancelling},
       Giving({at::scalar_tensor(2000.f)}),
       Verdict::kFailValue},
      {"CancellingDifference",
       "aten::sub.Tensor",
       {F32({1.0000001}), F32({1})},
       NativeKernelOf("aten::sub.Tensor"),
       Verdict::kPass},
      {"DifferenceTooFarOff",
       "aten::sub.Tensor",
       {F32({1.0000001}), F32({1})},
       Giving({F32({2e-6})}),
       Verdict::kFailValue},
      {"SubNotAdd",
       "aten::sub.Tensor",
       {F32({3}), F32({1})},
       Giving({F32({4})}),
       Verdict::kFailValue},
      {"RsubScalar",
       "aten::rsub.Scalar",
       {F32({3}), 1},
       NativeKernelOf("aten::rsub.Scalar"),
       Verdict::kPass},
      {"SoftmaxInFloat32",
       "aten::_softmax",
       {x, 1, false},
       [](Values a) -> Values {
         const at::Tensor e = (TensorOf(a) - TensorOf(a).amax({1}, true)).exp();
         return {e / e.sum(1, true)};
       },
       Verdict::kPass},
      {"SoftmaxInBfloat16",
       "aten::_softmax",
       {x, 1, false},
       [](Values a) -> Values {
         return {at::_softmax(TensorOf(a).to(at::kBFloat16), 1, false)
                     .to(at::kFloat)};
       },
       Verdict::kFailValue},
      {"VarianceOfFarFromZero",
       "aten::var.correction",
       {x + 1000, last, kNone, false},
       NativeKernelOf("aten::var.correction"),
       Verdict::kPass},
      {"VarianceBiased",
       "aten::var.correction",
       {x, last, kNone, false},
       [](Values a) -> Values { return {TensorOf(a).var(1, false)}; },
       Verdict::kFailValue},
      {"SinOfALargeArgument",
       "aten::sin",
       {F32({1e6, 3.1415927})},
       NativeKernelOf("aten::sin"),
       Verdict::kPass},
      {"LogspaceOfLargeExponents",
       "aten::logspace",
       {0, 30, 16},
       [](Values) -> Values { return {at::pow(10, at::linspace(0, 30, 16))}; },
       Verdict::kPass},
      {"LogspaceOfAnotherEnd",
       "aten::logspace",
       {0, 30, 16},
       [](Values) -> Values {
         return {at::pow(10, at::linspace(0, 30.001, 16))};
       },
       Verdict::kFailValue},
      // In float64 no difference equals a distance that was rounded to float32.
      {"CdistBackwardOfTheLargestDifference",
       "aten::_cdist_backward",
       {Randn(1, {5, 4}), Randn(2, {5, 3}), Randn(3, {4, 3}), kInf,
        at::_cdist_forward(Randn(2, {5, 3}), Randn(3, {4, 3}), kInf,
                           std::nullopt)},
       NativeKernelOf("aten::_cdist_backward"),
       Verdict::kPass},
      {"CdistBackwardOfAnotherNorm",
       "aten::_cdist_backward",
       {Randn(1, {5, 4}), Randn(2, {5, 3}), Randn(3, {4, 3}), kInf,
        at::_cdist_forward(Randn(2, {5, 3}), Randn(3, {4, 3}), kInf,
                           std::nullopt)},
       [](Values a) -> Values {
         a[3] = 2.0;
         return CallNative("aten::_cdist_backward", std::move(a));
       },
       Verdict::kFailValue},
      {"PdistBackwardOfTheLargestDifference",
       "aten::_pdist_backward",
       {Randn(1, {10}), Randn(2, {5, 3}), kInf,
        at::_pdist_forward(Randn(2, {5, 3}), kInf)},
       NativeKernelOf("aten::_pdist_backward"),
       Verdict::kPass},
      {"CumsumRight",
       "aten::cumsum",
       {x, 1},
       NativeKernelOf("aten::cumsum"),
       Verdict::kPass},
      {"CumsumOnlyRowsOfA",
       "aten::cumsum",
       {x, 1},
       Native("aten::cumsum",
              [](Values& r) { TensorOf(r).select(1, 200).add_(0.01); }),
       Verdict::kFailValue},
      {"Fp8Product",
       "aten::mul.Tensor",
       {F32({1, 2}), F32({3, 4})},
       NativeKernelOf("aten::mul.Tensor"),
       Verdict::kPass},
      {"ComplexProduct",
       "aten::mul.Tensor",
       {at::complex(F32({1, 1e-8}), F32({1, 1})),
        at::complex(F32({1, 1}), F32({-1, 1}))},
       NativeKernelOf("aten::mul.Tensor"),
       Verdict::kPass},
  };
}

INSTANTIATE_TEST_SUITE_P(Conditions, NumbersTest,
                         testing::ValuesIn(ConditionCases()), NameOf);

std::vector<NumbersCase> StepCases() {
  // 0.3f / 0.1f is just above 3, with 0.3 and 0.1 just below.
  const at::Tensor a = F32({0.3, 7});
  const at::Tensor b = F32({0.1, 2});
  return {
      {"FloorDivideNative",
       "aten::floor_divide",
       {a, b},
       NativeKernelOf("aten::floor_divide"),
       Verdict::kPass},
      {"FloorDivideOtherSide",
       "aten::floor_divide",
       {a, b},
       Giving({F32({2, 3})}),
       Verdict::kPass},
      {"FloorDivideUpperSide",
       "aten::floor_divide",
       {a, b},
       Giving({F32({3, 3})}),
       Verdict::kPass},
      {"FloorDivideFiveOff",
       "aten::floor_divide",
       {a, b},
       Giving({F32({-2, 3})}),
       Verdict::kFailValue},
      {"FloorDivideFarFromAStep",
       "aten::floor_divide",
       {F32({7.5, 1}), b},
       Giving({F32({74, 0})}),
       Verdict::kPass},
      {"FloorDivideWrong",
       "aten::floor_divide",
       {F32({7.5, 9}), F32({2, 2})},
       Giving({F32({4, 4})}),
       Verdict::kFailValue},
      {"DivFloorOtherSide",
       "aten::div.Tensor_mode",
       {a, b, "floor"},
       Giving({F32({2, 3})}),
       Verdict::kPass},
      {"DivTruncWrong",
       "aten::div.Tensor_mode",
       {F32({-7.5, 1}), F32({2, 2}), "trunc"},
       Giving({F32({-4, 0})}),
       Verdict::kFailValue},
      {"RemainderNative",
       "aten::remainder.Tensor",
       {a, b},
       NativeKernelOf("aten::remainder.Tensor"),
       Verdict::kPass},
      {"RemainderWrong",
       "aten::remainder.Tensor",
       {F32({7.5, 9}), F32({2, 4})},
       Giving({F32({1.25, 1})}),
       Verdict::kFailValue},
      {"FmodOfTheSignOfTheDivisor",
       "aten::fmod.Tensor",
       {F32({-7.5, 9}), F32({2, 4})},
       Giving({F32({0.5, 1})}),
       Verdict::kFailValue},
      {"IntegerFloorDivide",
       "aten::floor_divide",
       {I64({-7, 7}), I64({2, 2})},
       Giving({I64({-3, 3})}),
       Verdict::kFailValue},
  };
}

INSTANTIATE_TEST_SUITE_P(Steps, NumbersTest, testing::ValuesIn(StepCases()),
                         NameOf);

// A product as a kernel that rounds after every term makes it.
Kernel RoundingEachTerm(at::ScalarType type) {
  return [type](Values arguments) -> Values {
    const at::Tensor a = TensorOf(arguments, 0);
    const at::Tensor b = TensorOf(arguments, 1);
    at::Tensor sum = at::zeros({a.size(0), b.size(1)}, type);
    for (int64_t k = 0; k < a.size(1); ++k) {
      sum =
          (sum.to(at::kFloat) + a.select(1, k).unsqueeze(1).to(at::kFloat) *
                                    b.select(0, k).unsqueeze(0).to(at::kFloat))
              .to(type);
    }
    return {sum};
  };
}

BudgetRow WithAllowance(double k, double k_per_term) {
  BudgetRow row = FindBudget({"aten", "mm", ""});
  row.native_cpu = {k, k_per_term};
  return row;
}

CallOptions Allowed(bool native, double k, double k_per_term) {
  CallOptions options;
  options.native = native;
  options.row = WithAllowance(k, k_per_term);
  return options;
}

std::vector<NumbersCase> AllowanceCases() {
  const at::Tensor a = Randn(3, {8, 64}, at::kBFloat16);
  const at::Tensor b = Randn(4, {64, 8}, at::kBFloat16);
  const Kernel rounding = RoundingEachTerm(at::kBFloat16);
  const at::Tensor tiny = at::full({2, 3}, 1e-5, at::kHalf);
  return {
      {"NativeIsAllowed",
       "aten::mm",
       {a, b},
       rounding,
       Verdict::kPass,
       Allowed(true, 4, 0.5)},
      {"OthersAreNot",
       "aten::mm",
       {a, b},
       rounding,
       Verdict::kFailValue,
       Allowed(false, 4, 0.5),
       "no worse than torch's own kernel"},
      {"NativeBeyondItsAllowance",
       "aten::mm",
       {a, b},
       Native("aten::mm", [](Values& r) { TensorOf(r)[0][0].add_(64); }),
       Verdict::kFailValue,
       Allowed(true, 4, 0)},
      // An allowance of all of the result proves nothing.
      {"AllowanceHidesAll",
       "aten::mm",
       {a, b},
       rounding,
       Verdict::kUntrustedAllowance,
       Allowed(true, 0, 4)},
      {"RightNeedsNone",
       "aten::mm",
       {a, b},
       Exact("aten::mm"),
       Verdict::kPass,
       Allowed(true, 0, 4)},
      {"NoneInFloat32",
       "aten::mm",
       {Randn(3, {8, 64}), Randn(4, {64, 8})},
       [=](Values v) -> Values {
         v[0] = TensorOf(v, 0).to(at::kBFloat16);
         v[1] = TensorOf(v, 1).to(at::kBFloat16);
         return {TensorOf(rounding(v)).to(at::kFloat)};
       },
       Verdict::kFailValue,
       Allowed(true, 4, 0.5)},
      // What is rounded to a subnormal in between is off by a step of those,
      // however small the result is.
      {"NativeHalfSubnormals",
       "aten::mm",
       {tiny, tiny.t()},
       Native("aten::mm", [](Values& r) { TensorOf(r).fill_(0x1p-23); }),
       Verdict::kPass,
       Allowed(true, 4, 0)},
      {"HalfSubnormalsOfOthers",
       "aten::mm",
       {tiny, tiny.t()},
       Native("aten::mm", [](Values& r) { TensorOf(r).fill_(0x1p-23); }),
       Verdict::kFailValue,
       Allowed(false, 4, 0),
       "no worse than torch's own kernel"},
      {"NativeHalfSubnormalsBeyondTheirAllowance",
       "aten::mm",
       {tiny, tiny.t()},
       Native("aten::mm", [](Values& r) { TensorOf(r).fill_(0x1p-20); }),
       Verdict::kFailValue,
       Allowed(true, 4, 0)},
      {"NativeHalf",
       "aten::mm",
       {a.to(at::kHalf), b.to(at::kHalf)},
       NativeKernelOf("aten::mm"),
       Verdict::kPass,
       AsNative()},
  };
}

INSTANTIATE_TEST_SUITE_P(Allowances, NumbersTest,
                         testing::ValuesIn(AllowanceCases()), NameOf);

// --- Products whose inputs may be rounded. ---

// float32 with the last `bits` bits of the significand cut off.
at::Tensor Cut(const at::Tensor& t, int bits) {
  at::Tensor cut = t.clone();
  auto* const x = reinterpret_cast<uint32_t*>(cut.mutable_data_ptr<float>());
  for (int64_t i = 0; i < cut.numel(); ++i) x[i] &= ~0u << bits;
  return cut;
}

struct Tf32Case {
  std::string name;
  std::string op;
  bool matmul;  // the program allows TF32 there
  int bits;     // that the kernel cuts off
  bool on_host;
  Verdict verdict;
};

class AllowTf32 {
 public:
  explicit AllowTf32(bool matmul)
      : before_(at::globalContext().allowTF32CuBLAS()) {
    at::globalContext().setAllowTF32CuBLAS(matmul);
  }
  ~AllowTf32() { at::globalContext().setAllowTF32CuBLAS(before_); }
  AllowTf32(const AllowTf32&) = delete;
  AllowTf32& operator=(const AllowTf32&) = delete;

 private:
  const bool before_;
};

TEST(NumbersTf32Test, IsAllowedWhereTheProgramAllowsIt) {
  for (const Tf32Case& c : {
           Tf32Case{"NotAllowed", "aten::mm", false, 13, false,
                    Verdict::kFailValue},
           Tf32Case{"Allowed", "aten::mm", true, 13, false, Verdict::kPass},
           Tf32Case{"AllowedOnTheHost", "aten::mm", true, 13, true,
                    Verdict::kPass},
           Tf32Case{"Coarser", "aten::mm", true, 18, false,
                    Verdict::kFailValue},
           Tf32Case{"FullPrecision", "aten::mm", false, 0, false,
                    Verdict::kPass},
           // A choice for products says nothing of other operators.
           Tf32Case{"NotForSums", "aten::add.Tensor", true, 13, false,
                    Verdict::kFailValue},
       }) {
    SCOPED_TRACE(c.name);
    const AllowTf32 allow(c.matmul);
    CallOptions options;
    options.on_host = c.on_host;
    const MadeCall made(
        c.op, {Randn(5, {32, 32}).abs(), Randn(6, {32, 32}).abs()},
        [&](Values a) {
          a[0] = Cut(TensorOf(a, 0), c.bits);
          a[1] = Cut(TensorOf(a, 1), c.bits);
          return CallNative(c.op, a);
        },
        options);
    const Judgement judgement = FirstResultOf(made);
    EXPECT_EQ(ReasonName(judgement.verdict), ReasonName(c.verdict))
        << "got " << judgement.got << " want " << judgement.want;
  }
}

// cuDNN's switch is on unless a program turns it off, and means devices.
TEST(NumbersTf32Test, ConvolutionsOnDevicesAlone) {
  const Values arguments = {Randn(7, {1, 4, 8, 8}),
                            Randn(8, {4, 4, 3, 3}),
                            kNone,
                            std::vector<int64_t>{1, 1},
                            std::vector<int64_t>{0, 0},
                            std::vector<int64_t>{1, 1},
                            false,
                            std::vector<int64_t>{0, 0},
                            1};
  const Kernel kernel = [](Values a) {
    a[0] = Cut(TensorOf(a, 0), 13);
    a[1] = Cut(TensorOf(a, 1), 13);
    return CallNative("aten::convolution", a);
  };
  ASSERT_TRUE(at::globalContext().allowTF32CuDNN());
  EXPECT_EQ(FirstResultOf(
                MadeCall("aten::convolution", arguments, kernel, OnDevice()))
                .verdict,
            Verdict::kPass);
  EXPECT_EQ(
      FirstResultOf(MadeCall("aten::convolution", arguments, kernel)).verdict,
      Verdict::kFailValue);
}

TEST(NumbersTest, SaysWhichElementIsTheWorst) {
  const at::Tensor x = Randn(9, {3, 4}).t();
  const MadeCall made("aten::exp", {x}, Native("aten::exp", [](Values& r) {
                        TensorOf(r)[2][1].mul_(2);
                        TensorOf(r)[0][0].mul_(1.5);
                      }));
  const Judgement judgement = FirstResultOf(made);
  EXPECT_EQ(judgement.verdict, Verdict::kFailValue);
  EXPECT_EQ(judgement.worst_index, (std::vector<int64_t>{2, 1}));
  ASSERT_TRUE(judgement.score.has_value());
  EXPECT_GT(*judgement.score, 1);
  ASSERT_TRUE(judgement.allowed.has_value());
  EXPECT_NEAR(*judgement.allowed * *judgement.score,
              x[2][1].exp().item<double>(), 1e-5);
  EXPECT_GT(judgement.max_abs_diff, 0);
  EXPECT_NE(judgement.got, judgement.want);
}

}  // namespace
}  // namespace flaggems
