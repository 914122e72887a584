// Whole programs on a clock of their own, of which checks get a share: what is
// looked at, and what goes by.

#include <ATen/ATen.h>
#include <gtest/gtest.h>
#include <torch/library.h>

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/time/time.h"
#include "flaggems/aten/op_traits_of.h"
#include "flaggems/check/checked_kernel.h"
#include "flaggems/check/checked_op.h"
#include "flaggems/registry/check_scope.h"
#include "flaggems/sink/memory_sink.h"

namespace flaggems {
namespace {

using Stack = torch::jit::Stack;

constexpr int64_t kUs = 1'000;
constexpr int64_t kMs = 1'000'000;
constexpr int64_t kCallNs = 4 * kUs;
constexpr int64_t kCheckNs = 200 * kUs;

class BodyKernel : public c10::OperatorKernel {
 public:
  explicit BodyKernel(std::function<void(Stack&)> body)
      : body_(std::move(body)) {}
  void operator()(const c10::OperatorHandle&, c10::DispatchKeySet,
                  Stack* stack) {
    body_(*stack);
  }

 private:
  const std::function<void(Stack&)> body_;
};

class SlowReference : public Reference {
 public:
  explicit SlowReference(int64_t* now) : now_(now) {}
  absl::StatusOr<std::vector<c10::IValue>> Compute(
      std::vector<c10::IValue> /*arguments*/) const override {
    *now_ += kCheckNs;
    return std::vector<c10::IValue>{at::ones({1})};
  }
  std::string name() const override { return "slow"; }

 private:
  int64_t* const now_;
};

class TimeShareTest : public testing::Test {
 protected:
  struct Op {
    std::shared_ptr<CheckedOp> checked;
    int64_t calls = 0;
    int64_t looks = 0;
    bool right = true;
  };

  // Every reading of the clock takes part of a microsecond.
  void Start(double fraction, PolicyOptions policy = {}) {
    policy.max_checks = 1'000'000'000;
    CheckSessionOptions options;
    options.policy = std::move(policy);
    options.time_fraction = fraction;
    options.time_budget_clock = [this] { return now_ += kUs / 2; };
    auto sink = std::make_unique<MemorySink>();
    sink_ = sink.get();
    session_ = std::make_shared<CheckSession>(std::move(options),
                                              std::move(sink), &clock_);
    runtime_.Start(session_);
  }

  // aten::`name`, of one argument; its kernel gives 1, or 2 if it is wrong.
  Op& Make(const std::string& name) {
    const OpKey key{"aten", name, ""};
    const c10::OperatorHandle handle = *FindOperator(key);
    Op& op = ops_[name];
    op.checked = std::make_shared<CheckedOp>(handle);
    op.checked->ledger = runtime_.ledgers().Get(key);
    op.checked->gate = std::make_shared<Gate>(
        handle, op.checked->ledger->counter(Verdict::kSkipDisabled));
    op.checked->kernel = c10::KernelFunction::makeFromBoxedFunctor(
        std::make_unique<BodyKernel>([this, &op](Stack& stack) {
          now_ += kCallNs;
          stack.back() = at::full({1}, op.right ? 1.0 : 2.0);
        }));
    op.checked->judged.reference =
        ReferenceSource(std::make_shared<SlowReference>(&now_));
    op.checked->gate->set_checked_kernel(
        MakeCheckedKernel(op.checked, &runtime_));
    runtime_.Add(op.checked);
    return op;
  }

  // As the wrappers of kernels call.
  void Call(Op& op, int64_t numel = 1) {
    ++op.calls;
    const Gate& gate = *op.checked->gate;
    if (op.checked->gate->TryForward()) {
      now_ += kCallNs;
      return;
    }
    ++op.looks;
    Stack stack = {at::zeros({numel})};
    gate.checked_kernel().callBoxed(
        gate.op(), c10::DispatchKeySet(c10::DispatchKey::CPU), &stack);
  }

  static int64_t Checks(const Op& op) {
    return op.checked->ledger->count(Verdict::kPass);
  }
  static int64_t Throttled(const Op& op) {
    return op.checked->ledger->count(Verdict::kSkipThrottle);
  }
  // Calls until the gate forwards.
  void CallUntilPassedOver(Op& op) {
    for (int i = 0; i < 100'000; ++i) {
      const int64_t looks = op.looks;
      Call(op);
      if (op.looks == looks) return;
    }
    FAIL() << "every call is looked at";
  }

  FixedClock clock_{absl::FromUnixSeconds(1747648801)};
  int64_t now_ = 0;
  CheckRuntime runtime_;
  MemorySink* sink_ = nullptr;
  std::shared_ptr<CheckSession> session_;
  std::map<std::string, Op> ops_;
};

class FractionTest : public TimeShareTest,
                     public testing::WithParamInterface<double> {};

TEST_P(FractionTest, IsKeptAndUsedAndEveryOperatorHasItsTurn) {
  const double fraction = GetParam();
  Start(fraction);
  Op& often = Make("neg");
  Op& sometimes = Make("abs");
  Op& rarely = Make("exp");
  const auto run = [&](int64_t until) {
    int64_t step = 0;
    while (now_ < until) {
      for (int i = 0; i < 100; ++i) Call(often);
      for (int i = 0; i < 10; ++i) Call(sometimes);
      if (++step % 10 == 0) Call(rarely);
    }
  };
  // In units of what a check takes of the run.
  const auto duration = static_cast<int64_t>(kCheckNs / fraction);
  run(100 * duration);
  for (auto& [name, op] : ops_) {
    SCOPED_TRACE(name);
    EXPECT_GT(Checks(op), 5);
    EXPECT_EQ(Checks(op) + Throttled(op), op.calls);
  }
  const int64_t calls = often.calls + sometimes.calls + rarely.calls;
  const double share =
      static_cast<double>(now_ - calls * kCallNs) / (calls * kCallNs);
  EXPECT_LT(share, 1.1 * fraction);
  EXPECT_GT(share, 0.5 * fraction);
  const int64_t looks = often.looks + sometimes.looks + rarely.looks;
  EXPECT_LT(looks - rarely.looks, calls / 20);

  // All of them are still looked at.
  std::map<std::string, int64_t> before;
  for (auto& [name, op] : ops_) before[name] = Checks(op);
  run(now_ + 100 * duration);
  for (auto& [name, op] : ops_) EXPECT_GT(Checks(op), before[name]) << name;
}

INSTANTIATE_TEST_SUITE_P(Fractions, FractionTest,
                         testing::Values(0.005, 0.05, 0.3));

TEST_F(TimeShareTest, WithoutALimitEveryCallIsLookedAt) {
  Start(0);
  Op& op = Make("neg");
  for (int i = 0; i < 100; ++i) Call(op);
  EXPECT_EQ(op.looks, 100);
  EXPECT_EQ(Checks(op), 100);
}

TEST_F(TimeShareTest, TheThrottlesOwnRefusalsAreAllLookedAt) {
  PolicyOptions policy;
  policy.throttle = Throttle::kSpread;
  Start(1, std::move(policy));
  Op& op = Make("neg");
  // So slow that there is time for all that are due.
  for (int i = 0; i < 100; ++i) {
    now_ += 10 * kCheckNs;
    Call(op);
  }
  EXPECT_EQ(op.looks, 100);
}

TEST_F(TimeShareTest, CallsThatGoByAreNumbered) {
  PolicyOptions policy;
  policy.log_once = false;
  Start(0.05, std::move(policy));
  Op& op = Make("neg");
  op.right = false;
  std::vector<int64_t> failed;
  while (failed.size() < 50) {
    Call(op);
    if (sink_->records().size() > failed.size()) failed.push_back(op.calls);
  }
  EXPECT_GT(op.calls, 10 * op.looks);
  std::vector<int64_t> logged;
  for (const CheckRecord& record : sink_->records()) {
    logged.push_back(record.call);
  }
  EXPECT_EQ(logged, failed);
}

TEST_F(TimeShareTest, AnotherSessionStartsAnew) {
  Start(0.05);
  Op& op = Make("neg");
  CallUntilPassedOver(op);
  runtime_.Stop();
  op.looks = 0;
  for (int i = 0; i < 1000; ++i) Call(op);
  EXPECT_EQ(op.looks, 0);
  EXPECT_EQ(op.checked->ledger->count(Verdict::kSkipDisabled), 1000);
  Start(0);
  for (int i = 0; i < 10; ++i) Call(op);
  EXPECT_EQ(Checks(op), 10);
  EXPECT_EQ(Throttled(op), 0);
}

TEST_F(TimeShareTest, AnOldSessionPassesOverNoCallOfANewOne) {
  Start(0.05);
  const std::shared_ptr<CheckSession> old = session_;
  Op& op = Make("neg");
  Start(0);
  runtime_.PassOver(old.get(), *op.checked, 1000);
  runtime_.PassOver(nullptr, *op.checked, 1000);
  Call(op);
  EXPECT_EQ(op.looks, 1);
}

TEST_F(TimeShareTest, AfterAFailureEveryCallIsCheckedWhereThePolicyInsists) {
  PolicyOptions policy;
  policy.insist_after_failure = true;
  Start(0.05, std::move(policy));
  Op& op = Make("neg");
  CallUntilPassedOver(op);
  // A verdict that comes later.
  ASSERT_TRUE(op.checked->ledger->TryAdmit(1'000'000'000));
  runtime_.Conclude(session_.get(), *op.checked, Verdict::kFailValue);
  op.looks = 0;
  op.right = false;
  const int64_t calls = op.calls;
  for (int i = 0; i < 20; ++i) Call(op);
  EXPECT_EQ(op.looks, 20);
  EXPECT_EQ(op.checked->ledger->count(Verdict::kFailValue), 21);
  EXPECT_EQ(op.checked->ledger->NextCall(), calls + 21);
}

}  // namespace
}  // namespace flaggems
