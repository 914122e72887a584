// The wrapper with a fake reference, a memory sink and a runtime of its own.

#include "flaggems/check/checked_kernel.h"

#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <torch/library.h>

#include <atomic>
#include <cmath>
#include <functional>
#include <limits>
#include <memory>
#include <new>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/time/civil_time.h"
#include "absl/time/time.h"
#include "flaggems/aten/op_traits_of.h"
#include "flaggems/aten/status_of_exception.h"
#include "flaggems/core/status_testutil.h"
#include "flaggems/registry/check_scope.h"
#include "flaggems/sink/memory_sink.h"
#include "flaggems/testing/fake_device.h"

namespace flaggems {
namespace {

using Stack = torch::jit::Stack;
using Body = std::function<void(Stack&)>;

constexpr double kInf = std::numeric_limits<double>::infinity();

// Operators that exist for this test only.
TORCH_LIBRARY(checked_kernel_test, m) {
  m.def("twice(Tensor x) -> Tensor");
  m.def("twice_(Tensor(a!) x) -> Tensor(a!)");
  m.def("pair(Tensor x) -> (Tensor, Tensor)");
  m.def("several(Tensor[] xs) -> Tensor[]");
  m.def("count(Tensor x) -> int");
}

class BodyKernel : public c10::OperatorKernel {
 public:
  explicit BodyKernel(Body body) : body_(std::move(body)) {}
  void operator()(const c10::OperatorHandle&, c10::DispatchKeySet,
                  Stack* stack) {
    body_(*stack);
  }

 private:
  const Body body_;
};

class FakeReference : public Reference {
 public:
  explicit FakeReference(Body body) : body_(std::move(body)) {}
  absl::StatusOr<std::vector<c10::IValue>> Compute(
      std::vector<c10::IValue> arguments) const override {
    EXPECT_TRUE(CheckScope::active());
    ++calls;
    if (!status.ok()) return status;
    return StatusOrOf([&]() -> absl::StatusOr<std::vector<c10::IValue>> {
      body_(arguments);
      return arguments;
    });
  }
  std::string name() const override { return "fake"; }

  absl::Status status;
  mutable std::atomic<int> calls{0};

 private:
  const Body body_;
};

Body ToTensor(std::function<at::Tensor(const at::Tensor&)> fn) {
  return [fn](Stack& stack) {
    const at::Tensor x = stack.back().toTensor();
    stack.pop_back();
    stack.push_back(fn(x));
  };
}

const Body kTwice = ToTensor([](const at::Tensor& x) { return x * 2; });
const Body kTwiceInPlace =
    ToTensor([](const at::Tensor& x) { return x.mul_(2); });

class CheckedKernelTest : public testing::Test {
 protected:
  void Start(PolicyOptions policy = {}) {
    auto sink = std::make_unique<MemorySink>();
    sink_ = sink.get();
    session_ = std::make_shared<CheckSession>(
        CheckSessionOptions{std::move(policy), "original", 3}, std::move(sink),
        &clock_);
    runtime_.Start(session_);
  }

  // The operator `name` with a kernel under test and a reference.
  std::shared_ptr<CheckedOp> Make(const std::string& name, Body kernel,
                                  Body reference) {
    const OpKey key{"checked_kernel_test", name, ""};
    handle_ = FindOperator(key);
    auto op = std::make_shared<CheckedOp>(*handle_);
    op->ledger = runtime_.ledgers().Get(key);
    op->gate = std::make_shared<Gate>(
        *handle_, op->ledger->counter(Verdict::kSkipDisabled));
    op->kernel = c10::KernelFunction::makeFromBoxedFunctor(
        std::make_unique<BodyKernel>(std::move(kernel)));
    auto fake = std::make_shared<FakeReference>(std::move(reference));
    reference_ = fake.get();
    op->judged.reference = ReferenceSource(fake);
    op_ = op;
    checked_ = MakeCheckedKernel(op, &runtime_);
    runtime_.Add(op);
    return op;
  }

  c10::IValue Call(const c10::IValue& argument) {
    Stack stack = {"below", argument};
    checked_.callBoxed(*handle_, c10::DispatchKeySet(c10::DispatchKey::CPU),
                       &stack);
    EXPECT_EQ(stack[0].toStringRef(), "below");
    return stack.back();
  }

  int64_t Count(Verdict verdict) const { return op_->ledger->count(verdict); }

  std::vector<CheckRecord> records() const { return sink_->records(); }

  FixedClock clock_{absl::FromUnixSeconds(1747648801)};
  CheckRuntime runtime_;
  MemorySink* sink_ = nullptr;
  std::shared_ptr<CheckSession> session_;
  FakeReference* reference_ = nullptr;
  std::optional<c10::OperatorHandle> handle_;
  std::shared_ptr<CheckedOp> op_;
  c10::BoxedKernel checked_;
};

struct VerdictCase {
  std::string name;
  std::string op;
  Body kernel;
  Body reference;
  c10::IValue argument;
  Verdict verdict;
  bool logged;
};

void PrintTo(const VerdictCase& c, std::ostream* os) { *os << c.name; }

Body Returning(at::Tensor result) {
  return ToTensor([result](const at::Tensor&) { return result; });
}

Body ReturningMany(std::vector<c10::IValue> results) {
  return [results](Stack& stack) {
    stack.pop_back();
    stack.insert(stack.end(), results.begin(), results.end());
  };
}

at::Tensor F32(std::vector<double> values) {
  return at::tensor(values).to(at::kFloat);
}

std::vector<VerdictCase> VerdictCases() {
  const at::Tensor x = F32({1, 2, 3});
  const double nan = std::nan("");
  return {
      {"Right", "twice", kTwice, kTwice, x, Verdict::kPass, false},
      {"WithinTolerance", "twice", Returning(F32({2, 4, 6.0001})), kTwice, x,
       Verdict::kPass, false},
      {"Value", "twice", Returning(F32({2, 4, 7})), kTwice, x,
       Verdict::kFailValue, true},
      {"NanAgainstNumber", "twice", Returning(F32({2, nan, 6})), kTwice, x,
       Verdict::kFailSpecial, true},
      {"InfAgainstMinusInf", "twice", Returning(F32({2, kInf, 6})),
       Returning(F32({2, -kInf, 6})), x, Verdict::kFailSpecial, true},
      {"InfAgainstNumber", "twice", Returning(F32({2, kInf, 6})), kTwice, x,
       Verdict::kFailSpecial, true},
      {"EqualSpecialValues", "twice", Returning(F32({kInf, nan, 6})),
       Returning(F32({kInf, nan, 6})), x, Verdict::kPass, false},
      {"Shape", "twice", Returning(F32({2, 4})), kTwice, x, Verdict::kFailShape,
       true},
      {"Dtype", "twice", Returning(F32({2, 4, 6}).to(at::kDouble)), kTwice, x,
       Verdict::kFailDtype, true},
      {"LargeInt64", "twice", Returning(at::tensor({int64_t{1 << 24} * 2 + 2})),
       kTwice, at::tensor({int64_t{(1 << 24) + 0}}), Verdict::kFailValue, true},
      {"ImaginaryPart", "twice", Returning(at::complex(F32({2}), F32({1}))),
       kTwice, at::complex(F32({1}), F32({-0.5})), Verdict::kFailValue, true},
      {"Empty", "twice", kTwice, kTwice, at::empty({0, 3}),
       Verdict::kUntrustedEmpty, false},
      {"AllNan", "twice", kTwice, kTwice, F32({nan, nan}),
       Verdict::kUntrustedAllNan, false},
      {"InPlaceRight", "twice_", kTwiceInPlace, kTwiceInPlace, x.clone(),
       Verdict::kPass, false},
      {"InPlaceWrong", "twice_",
       ToTensor([](const at::Tensor& t) { return t.mul_(3); }), kTwiceInPlace,
       x.clone(), Verdict::kFailValue, true},
      {"InPlaceWrongIdempotent", "twice_",
       ToTensor([](const at::Tensor& t) { return t.clamp_(-0.5, 0.5); }),
       ToTensor([](const at::Tensor& t) { return t.clamp_(-1, 1); }), x.clone(),
       Verdict::kFailValue, true},
      {"SecondOfPair", "pair", ReturningMany({F32({1}), F32({5})}),
       ReturningMany({F32({1}), F32({2})}), x, Verdict::kFailValue, true},
      {"UndefinedInPair", "pair", ReturningMany({F32({1}), at::Tensor()}),
       ReturningMany({F32({1}), F32({2})}), x, Verdict::kFailCount, true},
      {"BothUndefined", "pair", ReturningMany({F32({1}), at::Tensor()}),
       ReturningMany({F32({1}), at::Tensor()}), x, Verdict::kPass, false},
      {"LongerList", "several",
       ReturningMany({c10::List<at::Tensor>({F32({1}), F32({2})})}),
       ReturningMany({c10::List<at::Tensor>({F32({1})})}),
       c10::List<at::Tensor>({x}), Verdict::kFailCount, true},
      {"WrongInList", "several",
       ReturningMany({c10::List<at::Tensor>({F32({1}), F32({2})})}),
       ReturningMany({c10::List<at::Tensor>({F32({1}), F32({3})})}),
       c10::List<at::Tensor>({x}), Verdict::kFailValue, true},
      {"WrongInteger", "count", ReturningMany({7}), ReturningMany({8}), x,
       Verdict::kFailValue, true},
      {"RightInteger", "count", ReturningMany({8}), ReturningMany({8}), x,
       Verdict::kPass, false},
      {"Sparse", "twice", kTwice, kTwice, at::eye(2).to_sparse(),
       Verdict::kSkipUnsupported, false},
  };
}

class VerdictTest : public CheckedKernelTest,
                    public testing::WithParamInterface<VerdictCase> {};

TEST_P(VerdictTest, IsCountedOnceAndLoggedIfItFails) {
  const VerdictCase& c = GetParam();
  Start();
  Make(c.op, c.kernel, c.reference);
  Call(c.argument);
  EXPECT_EQ(op_->ledger->calls(), 1);
  EXPECT_EQ(Count(c.verdict), 1) << c.name;
  ASSERT_EQ(records().size(), c.logged ? 1u : 0u);
  if (c.logged) {
    EXPECT_EQ(records()[0].verdict, c.verdict);
  }
}

INSTANTIATE_TEST_SUITE_P(Verdicts, VerdictTest,
                         testing::ValuesIn(VerdictCases()),
                         [](const auto& info) { return info.param.name; });

TEST_F(CheckedKernelTest, RecordSaysEverything) {
  Start();
  Make("twice", ToTensor([](const at::Tensor& x) {
         at::Tensor y = x * 2;
         y[1][0] = 7.5;
         return y;
       }),
       kTwice);
  Call(at::arange(4.).reshape({2, 2}));
  ASSERT_EQ(records().size(), 1u);
  const CheckRecord r = records()[0];
  EXPECT_EQ(r.timestamp, clock_.Now());
  EXPECT_EQ(r.op.ToString(), "checked_kernel_test::twice");
  EXPECT_EQ(FormatValue(ValueDesc::List(r.inputs)), "[(2, 2):torch.float32]");
  EXPECT_EQ(FormatValue(r.output), "(2, 2):torch.float32");
  EXPECT_EQ(r.max_abs_diff, 3.5);
  EXPECT_EQ(r.max_rel_diff, 3.5 / (4 + 1e-12));
  EXPECT_NEAR(*r.score, 3.5 / (1e-5 + 1e-4 * 4), 1e-6);
  EXPECT_EQ(r.worst_index, (std::vector<int64_t>{1, 0}));
  EXPECT_EQ(r.got, "7.5");
  EXPECT_EQ(r.want, "4");
  EXPECT_EQ(r.call, 1);
  EXPECT_EQ(r.rtol, 1e-4);
  EXPECT_EQ(r.atol, 1e-5);
  EXPECT_EQ(r.profile, "original");
  EXPECT_EQ(r.reference, "fake");
  EXPECT_EQ(r.device, "cpu");
  EXPECT_EQ(r.rank, 3);
}

TEST_F(CheckedKernelTest, HalfPrecisionRaisesTheTolerances) {
  Start();
  Make("twice", ToTensor([](const at::Tensor& x) { return x * 2.01; }), kTwice);
  Call(F32({1, 2}).to(at::kHalf));
  EXPECT_EQ(Count(Verdict::kPass), 1);
  Call(F32({1, 2}));
  EXPECT_EQ(Count(Verdict::kFailValue), 1);
}

TEST_F(CheckedKernelTest, TheCallerSeesTheKernelsOwnResult) {
  Start();
  const at::Tensor result = F32({1, 2, 4});
  Make("twice", Returning(result), kTwice);
  EXPECT_TRUE(Call(F32({1, 2, 3})).toTensor().is_same(result));
  at::Tensor x = F32({1, 2, 3});
  Make("twice_", kTwiceInPlace, kTwiceInPlace);
  EXPECT_TRUE(Call(x).toTensor().is_same(x));
  EXPECT_TRUE(at::equal(x, F32({2, 4, 6})));
}

TEST_F(CheckedKernelTest, TheFirstMaxChecksCallsAreChecked) {
  PolicyOptions policy;
  policy.max_checks = 3;
  Start(policy);
  Make("twice", kTwice, kTwice);
  for (int i = 0; i < 10; ++i) Call(F32({1}));
  EXPECT_EQ(reference_->calls, 3);
  EXPECT_EQ(Count(Verdict::kPass), 3);
  EXPECT_EQ(Count(Verdict::kSkipThrottle), 7);
  // The gate does the counting from now on.
  EXPECT_TRUE(op_->gate->TryForward());
  EXPECT_EQ(Count(Verdict::kSkipThrottle), 8);
}

TEST_F(CheckedKernelTest, WithMaxChecksZeroTheGateForwardsFromTheStart) {
  PolicyOptions policy;
  policy.max_checks = 0;
  Start(policy);
  Make("twice", Returning(F32({9})), kTwice);
  EXPECT_TRUE(op_->gate->TryForward());
  EXPECT_EQ(Count(Verdict::kSkipThrottle), 1);
  Call(F32({1}));
  EXPECT_EQ(Count(Verdict::kSkipThrottle), 2);
  EXPECT_EQ(reference_->calls, 0);
}

// Of a share so small that it pays for no second check within years.
TEST_F(CheckedKernelTest, CallsWithoutTimeAreSkipped) {
  CheckSessionOptions options;
  options.policy.max_checks = 1000;
  options.time_fraction = 1e-15;
  session_ = std::make_shared<CheckSession>(
      std::move(options), std::make_unique<MemorySink>(), &clock_);
  runtime_.Start(session_);
  Make("twice", kTwice, kTwice);
  for (int i = 0; i < 10; ++i) {
    EXPECT_TRUE(at::equal(Call(F32({1})).toTensor(), F32({2})));
  }
  EXPECT_EQ(Count(Verdict::kPass), 1);
  EXPECT_EQ(Count(Verdict::kSkipThrottle), 9);
  EXPECT_EQ(reference_->calls, 1);
  // It is not settled: there may be time again.
  EXPECT_FALSE(op_->gate->TryForward());
}

// Charged however the call ends, or the budget would wait for its first cost
// for ever.
TEST_F(CheckedKernelTest, CallsThatThrowAreChargedToo) {
  CheckSessionOptions options;
  options.policy.max_checks = 1000;
  options.time_fraction = 1;
  session_ = std::make_shared<CheckSession>(
      std::move(options), std::make_unique<MemorySink>(), &clock_);
  runtime_.Start(session_);
  const Body refuse = [](Stack&) { TORCH_CHECK(false, "refused"); };
  Make("twice", refuse, refuse);
  EXPECT_THROW(Call(F32({1})), c10::Error);
  ASSERT_EQ(op_->ledger->calls(), 1);
  // However dear that was, it is paid for some time.
  Make("twice", kTwice, kTwice);
  const int64_t judged = op_->ledger->calls();
  while (reference_->calls == 0) Call(F32({1}));
  EXPECT_GT(op_->ledger->calls(), judged);
}

TEST_F(CheckedKernelTest, SkippedAndEmptyCallsUseUpNothing) {
  PolicyOptions policy;
  policy.max_checks = 1;
  policy.max_numel = 10;
  Start(policy);
  Make("twice", ToTensor([](const at::Tensor& x) {
         return x.numel() == 3 ? at::zeros({11}) : x * 2;
       }),
       kTwice);
  Call(at::ones({11}));
  Call(at::ones({3}));  // its output is too large
  Call(at::empty({0}));
  EXPECT_EQ(Count(Verdict::kSkipSize), 2);
  EXPECT_EQ(Count(Verdict::kUntrustedEmpty), 1);
  EXPECT_FALSE(op_->gate->TryForward());
  Call(at::ones({4}));
  EXPECT_EQ(Count(Verdict::kPass), 1);
  Call(at::ones({4}));
  EXPECT_EQ(Count(Verdict::kSkipThrottle), 1);
}

TEST_F(CheckedKernelTest, SkippedCallsCountInTheNumberOfACall) {
  PolicyOptions policy;
  policy.max_numel = 10;
  Start(policy);
  Make("twice", Returning(F32({9})), kTwice);
  Call(at::ones({11}));
  Call(F32({1}));
  ASSERT_EQ(records().size(), 1u);
  EXPECT_EQ(records()[0].call, 2);
}

TEST_F(CheckedKernelTest, AReportedOperatorIsNotCheckedAgain) {
  Start();
  Make("twice", Returning(F32({9})), kTwice);
  for (int i = 0; i < 3; ++i) Call(F32({1}));
  EXPECT_EQ(Count(Verdict::kFailValue), 1);
  EXPECT_EQ(Count(Verdict::kSkipReported), 2);
  EXPECT_EQ(records().size(), 1u);
}

TEST_F(CheckedKernelTest, WithoutLogOnceEveryFailureIsLogged) {
  PolicyOptions policy;
  policy.log_once = false;
  Start(policy);
  Make("twice", Returning(F32({9})), kTwice);
  for (int i = 0; i < 12; ++i) Call(F32({1}));
  EXPECT_EQ(Count(Verdict::kFailValue), 10);
  EXPECT_EQ(Count(Verdict::kSkipThrottle), 2);
  ASSERT_EQ(records().size(), 10u);
  EXPECT_EQ(records()[9].call, 10);
}

TEST_F(CheckedKernelTest, AKernelsExceptionPassesThroughUnchanged) {
  Start();
  const Body refuse = [](Stack&) { TORCH_CHECK_VALUE(false, "bad value"); };
  Make("twice", refuse, refuse);
  EXPECT_THROW(Call(F32({1})), c10::ValueError);
  EXPECT_EQ(Count(Verdict::kPass), 1);

  Make("twice", refuse, kTwice);
  EXPECT_THROW(Call(F32({1})), c10::ValueError);
  EXPECT_EQ(Count(Verdict::kFailThrow), 1);
  ASSERT_EQ(records().size(), 1u);
  EXPECT_EQ(records()[0].message, "bad value");
  EXPECT_TRUE(std::isnan(records()[0].max_abs_diff));
}

TEST_F(CheckedKernelTest, AThrowingReferenceIsAnError) {
  Start();
  Make("twice", kTwice, kTwice);
  reference_->status = absl::InternalError("reference broke");
  EXPECT_TRUE(at::equal(Call(F32({1})).toTensor(), F32({2})));
  EXPECT_EQ(Count(Verdict::kErrorReference), 1);
  reference_->status = absl::ResourceExhaustedError("no memory");
  Call(F32({1}));
  EXPECT_EQ(Count(Verdict::kErrorOutOfMemory), 1);
  EXPECT_TRUE(records().empty());
  EXPECT_THAT(session_->first_errors(),
              testing::ElementsAre(testing::Pair("checked_kernel_test::twice",
                                                 "reference broke")));
}

TEST_F(CheckedKernelTest, LogAllLogsWhatWasNotJudgedWithItsReason) {
  PolicyOptions policy;
  policy.log_all = true;
  policy.max_numel = 10;
  Start(policy);
  Make("twice", kTwice, kTwice);
  Call(F32({1}));
  EXPECT_TRUE(records().empty());
  Call(at::ones({0}));
  reference_->status = absl::InternalError("reference broke");
  Call(F32({1}));
  ASSERT_EQ(records().size(), 2u);
  EXPECT_EQ(records()[0].verdict, Verdict::kUntrustedEmpty);
  EXPECT_EQ(records()[0].inputs.size(), 1u);
  EXPECT_EQ(records()[0].call, 2);
  EXPECT_EQ(records()[1].verdict, Verdict::kErrorReference);
  EXPECT_EQ(records()[1].message, "reference broke");
}

TEST_F(CheckedKernelTest, WithoutAReferenceCallsAreUnsupported) {
  Start();
  Make("twice", kTwice, kTwice)->judged.reference = ReferenceSource();
  Call(F32({1}));
  EXPECT_EQ(Count(Verdict::kSkipUnsupported), 1);
}

TEST_F(CheckedKernelTest, CallsOfTheCheckerGoToTheNativeKernel) {
  Start();
  int kernel_calls = 0;
  Make("twice", ToTensor([&](const at::Tensor& x) {
         ++kernel_calls;
         return x * 2;
       }),
       ToTensor([this](const at::Tensor& x) {
         // What a reference does that calls other operators.
         Call(x);
         return x * 2;
       }));
  // Nothing native is there: the kernel itself has to serve.
  Call(F32({1}));
  EXPECT_EQ(kernel_calls, 2);
  // It is no call of the program.
  EXPECT_EQ(op_->ledger->calls(), 1);
  EXPECT_EQ(Count(Verdict::kPass), 1);
  const CheckScope scope;
  EXPECT_FALSE(op_->gate->TryForward());
}

TEST_F(CheckedKernelTest, CallsInsideAKernelAreCallsOfTheProgram) {
  Start();
  Make("twice", ToTensor([this](const at::Tensor& x) {
         if (x.numel() > 1) Call(F32({1}));
         return x * 2;
       }),
       kTwice);
  Call(F32({1, 2}));
  EXPECT_EQ(Count(Verdict::kPass), 2);
}

TEST_F(CheckedKernelTest, StoppedAndNeverStartedRuntimesOnlyForward) {
  Make("twice", Returning(F32({9})), kTwice);
  EXPECT_TRUE(op_->gate->TryForward());
  EXPECT_EQ(Count(Verdict::kSkipDisabled), 1);
  Start();
  EXPECT_FALSE(op_->gate->TryForward());
  EXPECT_EQ(Count(Verdict::kSkipDisabled), 0);
  Call(F32({1}));
  EXPECT_EQ(runtime_.Stop(), session_);
  EXPECT_TRUE(op_->gate->TryForward());
  Call(F32({1}));  // a call that passed the gate before
  EXPECT_EQ(Count(Verdict::kSkipDisabled), 2);
  EXPECT_EQ(Count(Verdict::kFailValue), 1);
}

TEST_F(CheckedKernelTest, StartingAgainStartsAnew) {
  Start();
  Make("twice", Returning(F32({9})), kTwice);
  Call(F32({1}));
  Call(F32({1}));
  Start();
  EXPECT_EQ(op_->ledger->calls(), 0);
  Call(F32({1}));
  EXPECT_EQ(Count(Verdict::kFailValue), 1);
  ASSERT_EQ(records().size(), 1u);
  EXPECT_EQ(records()[0].call, 1);
}

TEST_F(CheckedKernelTest, ASkippedOperatorIsForwardedByItsGate) {
  PolicyOptions policy;
  policy.skip = {"checked_kernel_test::twice"};
  Start(policy);
  Make("twice", Returning(F32({9})), kTwice);
  EXPECT_TRUE(op_->gate->TryForward());
  EXPECT_EQ(Count(Verdict::kSkipPolicy), 1);
}

TEST_F(CheckedKernelTest, AnOldSessionDoesNotCloseGatesOfANewOne) {
  PolicyOptions policy;
  policy.max_checks = 1;
  Start(policy);
  const std::shared_ptr<CheckSession> old = session_;
  Make("twice", kTwice, kTwice);
  Call(F32({1}));
  EXPECT_TRUE(op_->gate->TryForward());
  Start();
  runtime_.CloseIfSettled(old.get(), *op_);
  EXPECT_FALSE(op_->gate->TryForward());
}

TEST_F(CheckedKernelTest, ACallUnderWayIsNoCallOfANewSession) {
  Start();
  MemorySink* const old_sink = sink_;
  const std::shared_ptr<CheckSession> old = session_;
  Make("twice", ToTensor([this](const at::Tensor& x) {
         if (x.numel() == 1) Start();
         return x * 3;
       }),
       kTwice);
  Call(F32({1}));
  EXPECT_EQ(op_->ledger->calls(), 0);
  EXPECT_EQ(old_sink->records().size(), 1u);
  EXPECT_TRUE(records().empty());
  // The new session reports the operator itself.
  Call(F32({1, 2}));
  EXPECT_EQ(Count(Verdict::kFailValue), 1);
  EXPECT_EQ(records().size(), 1u);
}

TEST_F(CheckedKernelTest, WriteErrorsAreCounted) {
  Start();
  Make("twice", Returning(F32({9})), kTwice);
  sink_->set_status(absl::ResourceExhaustedError("disk is full"));
  Call(F32({1}));
  EXPECT_EQ(session_->write_errors(), 1);
  EXPECT_EQ(session_->first_write_error(), "disk is full");
  EXPECT_EQ(Count(Verdict::kFailValue), 1);
}

struct SuppressionCase {
  std::string name;
  std::string line;  // of the file
  std::string op;
  Body kernel;
  Body reference;
  c10::IValue argument;
  Verdict verdict;
};

void PrintTo(const SuppressionCase& c, std::ostream* os) { *os << c.name; }

std::vector<SuppressionCase> SuppressionCases() {
  const std::string ns = "checked_kernel_test::";
  const std::string until = " 2999-12-31 known\n";
  const Body wrong = Returning(F32({9, 9, 9}));
  const Body half = Returning(F32({9}).to(at::kHalf));
  const at::Tensor x = F32({1, 2, 3});
  return {
      {"Any", ns + "twice * *" + until, "twice", wrong, kTwice, x,
       Verdict::kSkipSuppressed},
      {"ByDtypeAndReason", ns + "twice torch.float32 value" + until, "twice",
       wrong, kTwice, x, Verdict::kSkipSuppressed},
      {"AnotherDtype", ns + "twice torch.float16 *" + until, "twice", wrong,
       kTwice, x, Verdict::kFailValue},
      {"AnotherReason", ns + "twice * shape" + until, "twice", wrong, kTwice, x,
       Verdict::kFailValue},
      {"AnotherOperator", ns + "pair * *" + until, "twice", wrong, kTwice, x,
       Verdict::kFailValue},
      {"TheDtypeIsTheOutputs", ns + "twice torch.float16 dtype" + until,
       "twice", half, kTwice, F32({1}), Verdict::kSkipSuppressed},
      {"OfTheFailingOutput", ns + "pair torch.float16 *" + until, "pair",
       ReturningMany({F32({1}), F32({5}).to(at::kHalf)}),
       ReturningMany({F32({1}), F32({2}).to(at::kHalf)}), x,
       Verdict::kSkipSuppressed},
      {"NotOfTheOther", ns + "pair torch.float32 *" + until, "pair",
       ReturningMany({F32({1}), F32({5}).to(at::kHalf)}),
       ReturningMany({F32({1}), F32({2}).to(at::kHalf)}), x,
       Verdict::kFailValue},
      {"InAList", ns + "several torch.float16 *" + until, "several",
       ReturningMany(
           {c10::List<at::Tensor>({F32({1}), F32({5}).to(at::kHalf)})}),
       ReturningMany(
           {c10::List<at::Tensor>({F32({1}), F32({2}).to(at::kHalf)})}),
       c10::List<at::Tensor>({x}), Verdict::kSkipSuppressed},
      {"ANumber", ns + "count torch.int64 *" + until, "count",
       ReturningMany({7}), ReturningMany({8}), x, Verdict::kSkipSuppressed},
      {"Undefined", ns + "pair torch.float32 *" + until, "pair",
       ReturningMany({F32({1}), at::Tensor()}),
       ReturningMany({F32({1}), F32({2})}), x, Verdict::kFailCount},
      {"APass", ns + "twice * *" + until, "twice", kTwice, kTwice, x,
       Verdict::kPass},
      {"AnEmptyCall", ns + "twice * *" + until, "twice", kTwice, kTwice,
       at::empty({0}), Verdict::kUntrustedEmpty},
  };
}

PolicyOptions Suppressing(const std::string& line) {
  absl::StatusOr<Suppressions> suppressions =
      Suppressions::Parse(line, "accepted.txt", absl::CivilDay(2025, 5, 19),
                          [](absl::string_view) { return true; });
  EXPECT_THAT(suppressions, IsOk());
  PolicyOptions policy;
  if (suppressions.ok()) policy.suppressions = *std::move(suppressions);
  return policy;
}

class SuppressionTest : public CheckedKernelTest,
                        public testing::WithParamInterface<SuppressionCase> {};

TEST_P(SuppressionTest, TurnsAnAcceptedFailureIntoASkip) {
  const SuppressionCase& c = GetParam();
  Start(Suppressing(c.line));
  Make(c.op, c.kernel, c.reference);
  Call(c.argument);
  EXPECT_EQ(Count(c.verdict), 1);
  EXPECT_EQ(op_->ledger->calls(), 1);
  EXPECT_EQ(records().size(), OutcomeOf(c.verdict) == Outcome::kFail ? 1u : 0u);
}

INSTANTIATE_TEST_SUITE_P(Suppressions, SuppressionTest,
                         testing::ValuesIn(SuppressionCases()),
                         [](const auto& info) { return info.param.name; });

TEST_F(CheckedKernelTest, ASuppressedCallWasJudged) {
  PolicyOptions policy =
      Suppressing("checked_kernel_test::twice * * 2999-12-31 known\n");
  policy.max_checks = 2;
  Start(policy);
  Make("twice", Returning(F32({9})), kTwice);
  for (int i = 0; i < 3; ++i) Call(F32({1}));
  EXPECT_EQ(Count(Verdict::kSkipSuppressed), 2);
  EXPECT_EQ(Count(Verdict::kSkipThrottle), 1);
}

TEST_F(CheckedKernelTest, OfAnExceptionOnlyAnyDtypeIsAccepted) {
  const Body refuse = [](Stack&) { TORCH_CHECK_VALUE(false, "bad value"); };
  Start(Suppressing(
      "checked_kernel_test::twice torch.float32 throw 2999-12-31 known\n"));
  Make("twice", refuse, kTwice);
  EXPECT_THROW(Call(F32({1})), c10::ValueError);
  EXPECT_EQ(Count(Verdict::kFailThrow), 1);
  Start(Suppressing("checked_kernel_test::twice * throw 2999-12-31 known\n"));
  Make("twice", refuse, kTwice);
  EXPECT_THROW(Call(F32({1})), c10::ValueError);
  EXPECT_EQ(Count(Verdict::kSkipSuppressed), 1);
}

// In both profiles the reference is not asked for a call that it would not come
// back from.
TEST_F(CheckedKernelTest, ADeniedCallIsSkippedAndNotComputedAgain) {
  for (const ToleranceModel model :
       {ToleranceModel::kFixed, ToleranceModel::kBudget}) {
    CheckSessionOptions options;
    options.tolerance_model = model;
    auto sink = std::make_unique<MemorySink>();
    sink_ = sink.get();
    session_ = std::make_shared<CheckSession>(std::move(options),
                                              std::move(sink), &clock_);
    runtime_.Start(session_);
    handle_ = FindOperator({"aten", "polygamma", ""});
    auto op = std::make_shared<CheckedOp>(*handle_);
    op->ledger = runtime_.ledgers().Get({"aten", "polygamma", ""});
    op->gate = std::make_shared<Gate>(
        *handle_, op->ledger->counter(Verdict::kSkipDisabled));
    bool refuse = false;
    op->kernel = c10::KernelFunction::makeFromBoxedFunctor(
        std::make_unique<BodyKernel>([&](Stack& stack) {
          TORCH_CHECK(!refuse, "no");
          torch::jit::drop(stack, 2);
          stack.push_back(F32({1}));
        }));
    const auto reference = std::make_shared<FakeReference>([](Stack&) {});
    op->judged.reference = ReferenceSource(reference);
    checked_ = MakeCheckedKernel(op, &runtime_);
    const auto call = [&] {
      Stack stack = {2, F32({-1e6})};
      checked_.callBoxed(*handle_, c10::DispatchKeySet(c10::DispatchKey::CPU),
                         &stack);
    };
    call();
    refuse = true;
    EXPECT_THROW(call(), c10::Error);
    EXPECT_EQ(reference->calls, 0);
    EXPECT_EQ(op->ledger->count(Verdict::kSkipPolicy), 2);
    EXPECT_TRUE(records().empty());
  }
}

// Kernels of devices keep the statistics of norms in float32.
TEST_F(CheckedKernelTest, StatisticsOfNormsMayBeWiderThanTheReferences) {
  for (const double mean : {0.33, 0.5}) {
    Start();
    const OpKey key{"aten", "native_layer_norm", ""};
    handle_ = FindOperator(key);
    auto op = std::make_shared<CheckedOp>(*handle_);
    op->ledger = runtime_.ledgers().Get(key);
    op->gate = std::make_shared<Gate>(
        *handle_, op->ledger->counter(Verdict::kSkipDisabled));
    const auto results = [](at::ScalarType dtype, double mean) {
      return [dtype, mean](Stack& stack) {
        torch::jit::drop(stack, 5);
        stack.push_back(at::ones({2, 3}, at::kBFloat16));
        stack.push_back(at::full({2, 1}, mean, dtype));
        stack.push_back(at::full({2, 1}, 1.25, dtype));
      };
    };
    op->kernel = c10::KernelFunction::makeFromBoxedFunctor(
        std::make_unique<BodyKernel>(results(at::kFloat, mean)));
    op->judged.reference = ReferenceSource(
        std::make_shared<FakeReference>(results(at::kBFloat16, 0.33)));
    checked_ = MakeCheckedKernel(op, &runtime_);
    Stack stack = {at::ones({2, 3}, at::kBFloat16), std::vector<int64_t>{3},
                   c10::IValue(), c10::IValue(), 1e-5};
    checked_.callBoxed(*handle_, c10::DispatchKeySet(c10::DispatchKey::CPU),
                       &stack);
    const bool right = mean == 0.33;
    EXPECT_EQ(op->ledger->count(Verdict::kPass), right ? 1 : 0);
    EXPECT_EQ(op->ledger->count(Verdict::kFailValue), right ? 0 : 1);
  }
}

TEST_F(CheckedKernelTest, DeviceTensorsAreComparedOnTheHost) {
  Start();
  Make("twice", ToTensor([](const at::Tensor& x) {
         EXPECT_FALSE(x.device().is_cpu());
         at::Tensor y = at::empty_like(x);
         CpuAliasOf(y).copy_(CpuAliasOf(x) * 2);
         if (x.size(0) == 3) CpuAliasOf(y)[2].fill_(0);
         return y;
       }),
       ToTensor([](const at::Tensor& x) {
         EXPECT_TRUE(x.device().is_cpu());
         return x * 2;
       }));
  const at::Tensor x = at::arange(8.).reshape({4, 2}).t();
  Call(ToFakeDevice(x));
  EXPECT_EQ(Count(Verdict::kPass), 1);
  Call(ToFakeDevice(F32({1, 2, 3})));
  ASSERT_EQ(records().size(), 1u);
  EXPECT_EQ(records()[0].device, ToFakeDevice(x).device().str());
  EXPECT_EQ(records()[0].worst_index, (std::vector<int64_t>{2}));
}

TEST_F(CheckedKernelTest, ManyThreadsCheckAtMostMaxChecksAndReportOnce) {
  Start();
  Make("twice", kTwice, kTwice);
  const auto call_from_threads = [&] {
    std::vector<std::thread> threads;
    for (int t = 0; t < 8; ++t) {
      threads.emplace_back([&] {
        for (int i = 0; i < 50; ++i) Call(F32({1}));
      });
    }
    for (std::thread& thread : threads) thread.join();
  };
  call_from_threads();
  EXPECT_EQ(reference_->calls, 10);
  EXPECT_EQ(Count(Verdict::kPass), 10);
  EXPECT_EQ(op_->ledger->calls(), 400);

  Start();
  Make("twice", Returning(F32({9})), kTwice);
  call_from_threads();
  EXPECT_EQ(records().size(), 1u);
  EXPECT_LE(Count(Verdict::kFailValue), 10);
  EXPECT_EQ(op_->ledger->calls(), 400);
}

}  // namespace
}  // namespace flaggems
