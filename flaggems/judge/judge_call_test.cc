#include "flaggems/judge/judge_call.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <limits>

#include "flaggems/aten/status_of_exception.h"
#include "flaggems/judge/testutil.h"

namespace flaggems {
namespace {

using namespace judge_testing;  // NOLINT: a test's vocabulary

constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

struct JudgeCase {
  std::string name;
  std::string op;
  Values arguments;
  Kernel kernel;
  Verdict verdict;
  std::string message = "";
  CallOptions options = {};
};

void PrintTo(const JudgeCase& c, std::ostream* os) { *os << c.name; }

Judgement JudgementOf(const MadeCall& made) {
  return made.thrown().ok() ? JudgeCall(made.call())
                            : JudgeThrow(made.call(), made.thrown());
}

class JudgeCallTest : public testing::TestWithParam<JudgeCase> {};

TEST_P(JudgeCallTest, GivesTheVerdict) {
  const JudgeCase& c = GetParam();
  const MadeCall made(c.op, c.arguments, c.kernel, c.options);
  const Judgement judgement = JudgementOf(made);
  EXPECT_EQ(OutcomeName(OutcomeOf(judgement.verdict)),
            OutcomeName(OutcomeOf(c.verdict)))
      << ReasonName(judgement.verdict) << ": " << judgement.message;
  EXPECT_EQ(ReasonName(judgement.verdict), ReasonName(c.verdict))
      << judgement.message;
  EXPECT_THAT(judgement.message, testing::HasSubstr(c.message));
}

std::string NameOf(const testing::TestParamInfo<JudgeCase>& info) {
  return info.param.name;
}

// torch's own result with element 0 off by one.
Kernel FirstElementOff(const std::string& op, size_t result = 0) {
  return Native(op, [=](Values& r) {
    TensorOf(r, result).view({-1}).narrow(0, 0, 1).add_(1);
  });
}

c10::IValue Scalars(const std::vector<double>& values) {
  c10::impl::GenericList list(c10::NumberType::get());
  for (const double value : values) list.push_back(value);
  return list;
}

std::vector<JudgeCase> ResultCases() {
  const at::Tensor x = F32({-1, 2, 3, 4});
  const at::Tensor none;
  return {
      {"Right", "aten::exp", {x}, NativeKernelOf("aten::exp"), Verdict::kPass},
      {"Wrong",
       "aten::exp",
       {x},
       FirstElementOff("aten::exp"),
       Verdict::kFailValue},
      {"OneResultOfTwo",
       "aten::max.dim",
       {Randn(1, {3, 4}), 1},
       FirstElementOff("aten::max.dim", 0),
       Verdict::kFailValue},
      {"NanForANumber",
       "aten::exp",
       {x},
       Native("aten::exp", [](Values& r) { TensorOf(r)[1].fill_(kNan); }),
       Verdict::kFailSpecial},
      {"InfForANumber",
       "aten::exp",
       {x},
       Native("aten::exp", [](Values& r) { TensorOf(r)[1].fill_(kInf); }),
       Verdict::kFailSpecial},
      {"ANumberForNan",
       "aten::exp",
       {F32({kNan, 1})},
       Native("aten::exp", [](Values& r) { TensorOf(r)[0].fill_(1); }),
       Verdict::kFailSpecial},
      {"NeverWritten",
       "aten::exp",
       {x},
       [](Values a) -> Values {
         const at::Tensor out = at::empty_like(TensorOf(a));
         out.slice(0, 0, 3).copy_(TensorOf(a).slice(0, 0, 3).exp());
         return {out};
       },
       Verdict::kFailValue,
       "never written by the kernel"},
      {"NeverWrittenIntegers",
       "aten::argsort",
       {x},
       [](Values a) -> Values {
         return {at::empty_like(TensorOf(a), at::kLong)};
       },
       Verdict::kFailValue},
      {"LargestExactFloat",
       "aten::add.Tensor",
       {I64({(1 << 24) + 1}), I64({0})},
       Giving({I64({1 << 24})}),
       Verdict::kFailValue},
      {"NumberResult", "aten::equal", {x, x}, Giving({true}), Verdict::kPass},
      {"WrongNumberResult",
       "aten::equal",
       {x, x},
       Giving({false}),
       Verdict::kFailValue},
      {"ListRight",
       "aten::_foreach_exp",
       {c10::List<at::Tensor>({x, F32({1})})},
       NativeKernelOf("aten::_foreach_exp"),
       Verdict::kPass},
      {"ListWrongInTheSecond",
       "aten::_foreach_exp",
       {c10::List<at::Tensor>({x, F32({1})})},
       [x](Values) -> Values {
         return {c10::List<at::Tensor>({x.exp(), F32({2})})};
       },
       Verdict::kFailValue},
      // 0.1 as float16, and a sum in float32.
      {"ScalarListInTheTypeOfTheTensors",
       "aten::_foreach_add.ScalarList",
       {c10::List<at::Tensor>({F16({1, 2, 3})}), Scalars({0.1})},
       [](Values) -> Values {
         return {c10::List<at::Tensor>(
             {(F32({1, 2, 3}) + F16({0.1}).to(at::kFloat)).to(at::kHalf)})};
       },
       Verdict::kPass},
      {"ScalarListWrong",
       "aten::_foreach_add.ScalarList",
       {c10::List<at::Tensor>({F16({1, 2, 3})}), Scalars({0.1})},
       [](Values) -> Values {
         return {c10::List<at::Tensor>({F16({1.1, 2.1, 3.2})})};
       },
       Verdict::kFailValue},
      {"OptionalNone",
       "aten::native_layer_norm",
       {Randn(1, {3, 4}), std::vector<int64_t>{4}, kNone, kNone, 1e-5},
       NativeKernelOf("aten::native_layer_norm"),
       Verdict::kPass},
      {"Complex",
       "aten::mul.Tensor",
       {at::complex(x, x), at::complex(x, -x)},
       NativeKernelOf("aten::mul.Tensor"),
       Verdict::kPass},
      {"ComplexConjugatedInput",
       "aten::mul.Tensor",
       {at::complex(x, x).conj(), at::complex(x, -x)},
       NativeKernelOf("aten::mul.Tensor"),
       Verdict::kPass},
      {"ComplexWrongPart",
       "aten::mul.Tensor",
       {at::complex(x, x), at::complex(x, -x)},
       [x](Values) -> Values {
         return {at::complex(2 * x * x, F32({0, 0, 1, 0}))};
       },
       Verdict::kFailValue},
      {"Strided",
       "aten::exp",
       {Randn(1, {4, 6}).t().slice(0, 1, 6, 2)},
       NativeKernelOf("aten::exp"),
       Verdict::kPass},
      {"Expanded",
       "aten::exp",
       {F32({1, 2}).unsqueeze(1).expand({2, 3})},
       NativeKernelOf("aten::exp"),
       Verdict::kPass},
      {"ZeroDim",
       "aten::exp",
       {at::scalar_tensor(2.f)},
       NativeKernelOf("aten::exp"),
       Verdict::kPass},
      {"Half",
       "aten::exp",
       {F16({1, 2, -3})},
       NativeKernelOf("aten::exp"),
       Verdict::kPass},
      {"ViewIsExact",
       "aten::t",
       {Randn(1, {3, 4})},
       NativeKernelOf("aten::t"),
       Verdict::kPass},

      {"SparseRight",
       "aten::_to_sparse",
       {at::eye(3)},
       NativeKernelOf("aten::_to_sparse"),
       Verdict::kPass},
      {"SparseWrongValue",
       "aten::_to_sparse",
       {at::eye(3)},
       [](Values) -> Values { return {at::eye(3).mul(2).to_sparse()}; },
       Verdict::kFailValue},
      {"SparseWrongIndex",
       "aten::_to_sparse",
       {at::eye(3)},
       [](Values) -> Values { return {at::eye(3).flip(0).to_sparse()}; },
       Verdict::kFailValue},
      {"SparseTooMany",
       "aten::_to_sparse",
       {at::eye(3)},
       [](Values) -> Values {
         return {at::ones({3, 3}).to_sparse()};
       },
       Verdict::kFailShape},
      {"CsrRight",
       "aten::_to_sparse_csr",
       {at::eye(3)},
       NativeKernelOf("aten::_to_sparse_csr"),
       Verdict::kPass},
      {"CsrWrongValue",
       "aten::_to_sparse_csr",
       {at::eye(3)},
       [](Values) -> Values { return {at::eye(3).mul(2).to_sparse_csr()}; },
       Verdict::kFailValue},
      {"QuantisedRight",
       "aten::quantize_per_tensor",
       {x, 0.1, 3, at::kQInt8},
       NativeKernelOf("aten::quantize_per_tensor"),
       Verdict::kPass},
      {"QuantisedWrongStep",
       "aten::quantize_per_tensor",
       {x, 0.1, 3, at::kQInt8},
       [](Values) -> Values {
         return {
             at::quantize_per_tensor(F32({-1, 2, 3, 9}), 0.1, 3, at::kQInt8)};
       },
       Verdict::kFailValue},
      {"QuantisedWrongScale",
       "aten::quantize_per_tensor",
       {x, 0.1, 3, at::kQInt8},
       [x](Values) -> Values {
         return {at::quantize_per_tensor(x, 0.2, 3, at::kQInt8)};
       },
       Verdict::kFailValue},
      {"Fp8Right",
       "aten::_to_copy",
       {x, at::kFloat8_e4m3fn},
       NativeKernelOf("aten::_to_copy"),
       Verdict::kPass},
      {"Fp8Wrong",
       "aten::_to_copy",
       {x, at::kFloat8_e4m3fn},
       [](Values) -> Values {
         return {F32({-1, 2, 3, 4.5}).to(at::kFloat8_e4m3fn)};
       },
       Verdict::kFailValue},
  };
}

INSTANTIATE_TEST_SUITE_P(Results, JudgeCallTest,
                         testing::ValuesIn(ResultCases()), NameOf);

std::vector<JudgeCase> WriteCases() {
  const std::string norm = "aten::native_batch_norm";
  const auto batch = [](bool training) -> Values {
    return {Randn(5, {4, 3, 5}), kNone,    kNone, at::zeros({3}),
            at::ones({3}),       training, 0.1,   1e-5};
  };
  return {
      {"InPlaceRight",
       "aten::exp_",
       {F32({1, 2})},
       NativeKernelOf("aten::exp_"),
       Verdict::kPass},
      {"InPlaceWrong",
       "aten::exp_",
       {F32({1, 2})},
       [](Values a) -> Values { return {TensorOf(a).exp_().add_(1)}; },
       Verdict::kFailValue},
      {"InPlaceNotDone",
       "aten::exp_",
       {F32({1, 2})},
       [](Values a) -> Values { return {a[0]}; },
       Verdict::kFailValue},
      {"OutRight",
       "aten::exp.out",
       {F32({1, 2}), at::empty({2})},
       NativeKernelOf("aten::exp.out"),
       Verdict::kPass},
      {"OutWrong",
       "aten::exp.out",
       {F32({1, 2}), at::zeros({2})},
       [](Values a) -> Values { return {a[1]}; },
       Verdict::kFailValue},
      // Nothing is returned: the lists are what was written.
      {"ForeachInPlaceRight",
       "aten::_foreach_exp_",
       {c10::List<at::Tensor>({F32({1}), F32({2, 3})})},
       NativeKernelOf("aten::_foreach_exp_"),
       Verdict::kPass},
      {"ForeachInPlaceLastLeftOut",
       "aten::_foreach_exp_",
       {c10::List<at::Tensor>({F32({1}), F32({2, 3})})},
       [](Values a) -> Values {
         a[0].toTensorList().get(0).exp_();
         return {};
       },
       Verdict::kFailArgument,
       "state written to an argument is wrong"},
      {"RunningStatisticsRight", norm, batch(true), NativeKernelOf(norm),
       Verdict::kPass},
      {"RunningStatisticsNotWritten", norm, batch(true),
       [=](Values a) -> Values {
         a[3] = TensorOf(a, 3).clone();
         return CallNative(norm, a);
       },
       Verdict::kFailArgument, "state written to an argument"},
      {"BiasedRunningVariance", norm, batch(true),
       [=](Values a) -> Values {
         const at::Tensor var = TensorOf(a, 4);
         Values results = CallNative(norm, a);
         var.sub_(0.01);
         return results;
       },
       Verdict::kFailArgument},
      {"EvalRight", norm, batch(false), NativeKernelOf(norm), Verdict::kPass},
      {"EvalWritesRunningStatistics", norm, batch(false),
       [=](Values a) -> Values {
         TensorOf(a, 3).add_(1);
         a[3] = TensorOf(a, 3) - 1;
         return CallNative(norm, a);
       },
       Verdict::kFailArgument},
      {"EvalWithBatchStatistics", norm, batch(false),
       [=](Values a) -> Values {
         a[3] = TensorOf(a, 3).clone();
         a[4] = TensorOf(a, 4).clone();
         a[5] = true;
         Values results = CallNative(norm, a);
         results[1] = results[2] = at::empty({0});
         return results;
       },
       Verdict::kFailValue},
      {"EvalWithoutStatisticsIsDenied",
       norm,
       {Randn(5, {4, 3, 5}), kNone, kNone, kNone, kNone, false, 0.1, 1e-5},
       Giving({at::ones({4, 3, 5}), at::ones({3}), at::ones({3})}),
       Verdict::kSkipPolicy,
       "ends the process"},
      {"EvalWithoutStatisticsThrownIsDenied",
       norm,
       {Randn(5, {4, 3, 5}), kNone, kNone, kNone, kNone, false, 0.1, 1e-5},
       Throwing("no statistics"),
       Verdict::kSkipPolicy,
       "ends the process"},
      {"PolygammaDenied",
       "aten::polygamma",
       {2, F32({-1e18})},
       Giving({F32({1})}),
       Verdict::kSkipPolicy,
       "a step for each unit"},
      {"LaguerreDenied",
       "aten::special_laguerre_polynomial_l",
       {F32({.5}), F32({1e18})},
       Giving({F32({1})}),
       Verdict::kSkipPolicy,
       "a step for each degree"},
  };
}

INSTANTIATE_TEST_SUITE_P(Written, JudgeCallTest,
                         testing::ValuesIn(WriteCases()), NameOf);

std::vector<JudgeCase> UnprovableCases() {
  const at::Tensor zeros = at::zeros({4});
  return {
      {"Empty",
       "aten::exp",
       {at::empty({0, 3})},
       NativeKernelOf("aten::exp"),
       Verdict::kUntrustedEmpty},
      {"AllNan",
       "aten::exp",
       {F32({kNan, kNan})},
       NativeKernelOf("aten::exp"),
       Verdict::kUntrustedAllNan},
      {"AllNanAgainstNumbers",
       "aten::exp",
       {F32({kNan, kNan})},
       Giving({F32({1, 2})}),
       Verdict::kFailSpecial},
      {"AllZero",
       "aten::sin",
       {zeros},
       NativeKernelOf("aten::sin"),
       Verdict::kUntrustedAllZero},
      {"MinusZeros",
       "aten::sin",
       {-zeros},
       NativeKernelOf("aten::sin"),
       Verdict::kUntrustedAllZero},
      // What a view promises is where it lies.
      {"ViewOfZeros",
       "aten::unsqueeze",
       {zeros, 0},
       NativeKernelOf("aten::unsqueeze"),
       Verdict::kPass},
      {"ViewOfNan",
       "aten::unsqueeze",
       {F32({kNan, kNan}), 0},
       NativeKernelOf("aten::unsqueeze"),
       Verdict::kPass},
      {"ViewOfNothing",
       "aten::unsqueeze",
       {at::empty({0, 3}), 0},
       NativeKernelOf("aten::unsqueeze"),
       Verdict::kPass},
      {"ViewOfNothingOfAnotherShape",
       "aten::unsqueeze",
       {at::empty({0, 3}), 0},
       Giving({at::empty({0, 3})}),
       Verdict::kFailShape},
      {"ViewOfZerosThatIsACopy",
       "aten::unsqueeze",
       {zeros, 0},
       Giving({zeros.clone().unsqueeze(0)}),
       Verdict::kFailAlias},
      {"InPlaceViewOfNan",
       "aten::t_",
       {F32({kNan, kNan, kNan, kNan}).view({2, 2})},
       NativeKernelOf("aten::t_"),
       Verdict::kPass},
      {"InPlaceViewThatDidNothing",
       "aten::t_",
       {F32({kNan, kNan}).view({2, 1})},
       [](Values a) -> Values { return {a[0]}; },
       Verdict::kFailShape},
      {"Resized",
       "aten::resize_",
       {F32({1, 2}), std::vector<int64_t>{3, 100}},
       NativeKernelOf("aten::resize_"),
       Verdict::kPass},
      {"ResizedToAnotherSize",
       "aten::resize_",
       {F32({1, 2}), std::vector<int64_t>{3, 100}},
       [](Values a) -> Values {
         return {TensorOf(a).resize_({100, 3})};
       },
       Verdict::kFailShape},
      {"ReadNumber",
       "aten::_local_scalar_dense",
       {F32({0.1})},
       NativeKernelOf("aten::_local_scalar_dense"),
       Verdict::kPass},
      {"ReadNumberWrong",
       "aten::_local_scalar_dense",
       {F32({0.1})},
       Giving({0.1}),
       Verdict::kFailValue},
      {"ReadInteger",
       "aten::_local_scalar_dense",
       {I64({(1LL << 53) + 1})},
       NativeKernelOf("aten::_local_scalar_dense"),
       Verdict::kPass},
      {"ReadIntegerRounded",
       "aten::_local_scalar_dense",
       {I64({(1LL << 53) + 1})},
       Giving({int64_t{1} << 53}),
       Verdict::kFailValue},
      {"ZerosWithWrongResult",
       "aten::sin",
       {zeros},
       Giving({zeros + 1}),
       Verdict::kFailValue},
      {"ZerosWithOtherResult",
       "aten::cos",
       {zeros},
       NativeKernelOf("aten::cos"),
       Verdict::kPass},
      {"OneInputNotZero",
       "aten::mul.Tensor",
       {zeros, zeros + 1},
       NativeKernelOf("aten::mul.Tensor"),
       Verdict::kPass},
      {"IntegerZeros",
       "aten::mul.Tensor",
       {I64({0, 0}), I64({0, 0})},
       NativeKernelOf("aten::mul.Tensor"),
       Verdict::kPass},
      {"UninitialisedIsNoValue",
       "aten::empty.memory_format",
       {std::vector<int64_t>{3}},
       NativeKernelOf("aten::empty.memory_format"),
       Verdict::kPass},
      {"UninitialisedOfAnotherShape",
       "aten::empty.memory_format",
       {std::vector<int64_t>{3}},
       Giving({at::empty({4})}),
       Verdict::kFailShape},
      {"UninitialisedOfAnotherDtype",
       "aten::empty_like",
       {F32({1})},
       Giving({at::empty({1}, at::kDouble)}),
       Verdict::kFailDtype},
      {"NewEmptyStridedStrides",
       "aten::empty_strided",
       {std::vector<int64_t>{2, 3}, std::vector<int64_t>{1, 2}},
       Giving({at::empty({2, 3})}),
       Verdict::kFailLayout},
      {"Factory",
       "aten::arange",
       {5},
       NativeKernelOf("aten::arange"),
       Verdict::kPass},
      {"LinspaceWrongEnd",
       "aten::linspace",
       {0, 1, 4},
       Native("aten::linspace", [](Values& r) { TensorOf(r)[3].fill_(1.01); }),
       Verdict::kFailValue},
  };
}

INSTANTIATE_TEST_SUITE_P(Unprovable, JudgeCallTest,
                         testing::ValuesIn(UnprovableCases()), NameOf);

std::vector<JudgeCase> ThrowCases() {
  const at::Tensor x = F32({1, 2});
  const at::Tensor y = F32({1, 2, 3});
  return {
      {"BothRefuse",
       "aten::add.Tensor",
       {x, y},
       Throwing("sizes"),
       Verdict::kPass},
      {"KernelRefusesAlone",
       "aten::add.Tensor",
       {x, x},
       Throwing("sizes"),
       Verdict::kFailThrow,
       "the kernel refuses a call that torch's own"},
      {"ReferenceRefusesAlone",
       "aten::add.Tensor",
       {x, y},
       Giving({F32({2, 4})}),
       Verdict::kFailThrow,
       "that torch's own refuses"},
      {"RefusedAfterAWrite",
       "aten::add.Tensor",
       {x.clone(), y},
       [](Values a) -> Values {
         TensorOf(a)[0].fill_(9);
         TORCH_CHECK(false, "sizes");
       },
       Verdict::kFailArgument,
       "changed by a call that was refused"},
      {"OutOfRange",
       "aten::select.int",
       {x, 0, 7},
       NativeKernelOf("aten::select.int"),
       Verdict::kPass},
      {"AnotherDtypeThanTheCpuHas",
       "aten::_linalg_eigh",
       {at::eye(2, at::kHalf)},
       [](Values) -> Values {
         return {at::ones({2}, at::kHalf), at::eye(2, at::kHalf).t()};
       },
       Verdict::kPass},
  };
}

INSTANTIATE_TEST_SUITE_P(Thrown, JudgeCallTest, testing::ValuesIn(ThrowCases()),
                         NameOf);

// --- References that are no good. ---

class FakeReference : public Reference {
 public:
  using Body = std::function<absl::StatusOr<Values>(int run, Values arguments)>;
  explicit FakeReference(Body body) : body_(std::move(body)) {}
  absl::StatusOr<Values> Compute(Values arguments) const override {
    return StatusOrOf([&]() -> absl::StatusOr<Values> {
      return body_(runs++, std::move(arguments));
    });
  }
  std::string name() const override { return "fake"; }
  mutable std::atomic<int> runs{0};

 private:
  const Body body_;
};

CallOptions With(FakeReference::Body body) {
  CallOptions options;
  options.reference = std::make_shared<const FakeReference>(std::move(body));
  return options;
}

// sqrt needs no condition: the first run is for dtypes, the second in float64,
// the third the second opinion.
TEST(JudgeCallReferenceTest, OneThatDiffersBetweenRunsProvesNothing) {
  const auto reference =
      std::make_shared<FakeReference>([](int run, Values a) -> Values {
        return {TensorOf(a).sqrt() + (run < 2 ? 1 : 0)};
      });
  CallOptions options;
  options.reference = reference;
  const MadeCall made("aten::sqrt", {F32({1, 2})}, NativeKernelOf("aten::sqrt"),
                      options);
  ASSERT_EQ(made.call().row.op_class, OpClass::kRound);
  const Judgement judgement = JudgeCall(made.call());
  EXPECT_EQ(judgement.verdict, Verdict::kUntrustedReference)
      << judgement.message;
  EXPECT_THAT(judgement.message,
              testing::HasSubstr("another number of threads"));
  EXPECT_EQ(reference->runs, 3);
}

TEST(JudgeCallReferenceTest, OneThatIsWrongInEveryRunIsBelieved) {
  const CallOptions options =
      With([](int, Values a) -> Values { return {TensorOf(a).exp() + 1}; });
  const MadeCall made("aten::exp", {F32({1, 2})}, NativeKernelOf("aten::exp"),
                      options);
  EXPECT_EQ(JudgeCall(made.call()).verdict, Verdict::kFailValue);
}

TEST(JudgeCallReferenceTest, ARightCallTakesTwoRuns) {
  auto reference = std::make_shared<FakeReference>(
      [](int, Values a) -> Values { return {TensorOf(a).exp()}; });
  CallOptions options;
  options.reference = reference;
  const MadeCall made("aten::exp", {F32({1, 2})}, NativeKernelOf("aten::exp"),
                      options);
  EXPECT_EQ(JudgeCall(made.call()).verdict, Verdict::kPass);
  EXPECT_EQ(reference->runs, 2);  // the arguments' dtype, and float64
}

TEST(JudgeCallReferenceTest, ADeniedCallTakesNone) {
  auto reference = std::make_shared<FakeReference>(
      [](int, Values a) -> Values { return {a[1]}; });
  CallOptions options;
  options.reference = reference;
  const MadeCall made("aten::polygamma", {2, F32({-1e6})}, Giving({F32({1})}),
                      options);
  EXPECT_EQ(JudgeCall(made.call()).verdict, Verdict::kSkipPolicy);
  EXPECT_EQ(reference->runs, 0);
}

struct StatusCase {
  std::string name;
  int first_bad_run;
  absl::Status status;
  bool kernel_throws;
  Verdict verdict;
};

TEST(JudgeCallReferenceTest, OneThatFails) {
  for (const StatusCase& c : {
           StatusCase{"NoMemory", 0, absl::ResourceExhaustedError("no memory"),
                      false, Verdict::kErrorOutOfMemory},
           StatusCase{"NoMemoryInFloat64", 1,
                      absl::ResourceExhaustedError("no memory"), false,
                      Verdict::kErrorOutOfMemory},
           StatusCase{"NoMemoryAndThrown", 0,
                      absl::ResourceExhaustedError("no memory"), true,
                      Verdict::kErrorOutOfMemory},
           StatusCase{"Refuses", 0, absl::InternalError("refused"), false,
                      Verdict::kFailThrow},
           StatusCase{"RefusesAndThrown", 0, absl::InternalError("refused"),
                      true, Verdict::kPass},
           StatusCase{"HasNoKernel", 0, absl::UnimplementedError("no kernel"),
                      false, Verdict::kErrorReference},
           // Its own dtype has to do, which is coarser.
           StatusCase{"RefusesFloat64", 1, absl::InternalError("refused"),
                      false, Verdict::kPass},
       }) {
    SCOPED_TRACE(c.name);
    const CallOptions options =
        With([&](int run, Values a) -> absl::StatusOr<Values> {
          if (run >= c.first_bad_run) return c.status;
          return Values{TensorOf(a).exp()};
        });
    const MadeCall made(
        "aten::exp", {F32({1, 2})},
        c.kernel_throws ? Throwing("no") : NativeKernelOf("aten::exp"),
        options);
    const Judgement judgement = JudgementOf(made);
    EXPECT_EQ(judgement.verdict, c.verdict)
        << ReasonName(judgement.verdict) << ": " << judgement.message;
  }
}

TEST(JudgeCallReferenceTest, TheUsersGeneratorIsLeftAlone) {
  at::manual_seed(7);
  const at::Tensor want = at::rand({3});
  at::manual_seed(7);
  const MadeCall made("aten::bernoulli", {at::full({1000}, 0.5)},
                      [](Values) -> Values {
                        at::Tensor out = at::zeros({1000});
                        // Half of it, in no order that a test would notice.
                        uint32_t state = 1;
                        for (int i = 0; i < 1000; ++i) {
                          state = state * 1664525 + 1013904223;
                          out[i].fill_(static_cast<double>(state >> 31));
                        }
                        return {out};
                      });
  const Judgement judgement = JudgeCall(made.call());
  EXPECT_EQ(judgement.verdict, Verdict::kPass) << judgement.message;
  EXPECT_TRUE(at::equal(at::rand({3}), want));
}

TEST(JudgeCallRandomTest, PropertiesAndDropoutOfZero) {
  const at::Tensor half = at::full({4096}, 0.5);
  EXPECT_EQ(JudgementOf(MadeCall("aten::bernoulli", {half},
                                 Giving({at::full({4096}, 1.)})))
                .verdict,
            Verdict::kFailRandom);
  EXPECT_EQ(JudgementOf(MadeCall("aten::bernoulli", {half},
                                 Giving({at::full({4096}, 0.5)})))
                .verdict,
            Verdict::kFailRandom);
  // Not training: the identity, judged like any other operator.
  const at::Tensor x = F32({1, 2, 3});
  EXPECT_EQ(JudgementOf(MadeCall("aten::native_dropout", {x, 0.5, false},
                                 NativeKernelOf("aten::native_dropout")))
                .verdict,
            Verdict::kPass);
  EXPECT_EQ(
      JudgementOf(MadeCall("aten::native_dropout", {x, 0.5, false},
                           Native("aten::native_dropout",
                                  [](Values& r) { TensorOf(r)[0].fill_(7); })))
          .verdict,
      Verdict::kFailValue);
}

}  // namespace
}  // namespace flaggems
