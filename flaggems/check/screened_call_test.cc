// Calls whose verdict a screen gives later: a screen that the test controls, on
// the fake device, in front of the real check of profile strict.

#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <torch/library.h>

#include <atomic>
#include <deque>
#include <functional>
#include <memory>
#include <new>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/time/time.h"
#include "flaggems/aten/op_traits_of.h"
#include "flaggems/aten/snapshot.h"
#include "flaggems/check/checked_kernel.h"
#include "flaggems/check/checked_op.h"
#include "flaggems/reference/native_cpu_reference.h"
#include "flaggems/registry/check_scope.h"
#include "flaggems/screen/screen.h"
#include "flaggems/sink/memory_sink.h"
#include "flaggems/testing/fake_device.h"

namespace flaggems {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;
using Stack = torch::jit::Stack;

// What one screen does, and what was asked of it.
struct Script {
  absl::StatusOr<bool> enqueued = true;
  std::atomic<bool> ready{true};
  absl::StatusOr<std::optional<Judgement>> accepted = Judgement{};
  absl::Status made;
  int64_t bytes = 100;  // negative: to ask for them throws bad_alloc
  std::optional<int64_t> device_ns;
};

class ScriptedScreen final : public Screen {
 public:
  ScriptedScreen(Script* script, absl::Span<const c10::IValue> arguments)
      : script_(script),
        before_(Copies(arguments)),
        after_(arguments.begin(), arguments.end()) {}

  absl::StatusOr<bool> Enqueue(absl::Span<const c10::IValue> outputs) override {
    EXPECT_TRUE(CheckScope::active());
    if (script_->enqueued.ok() && *script_->enqueued) {
      outputs_ = Copies(outputs);
      after_ = Copies(after_);
    }
    return script_->enqueued;
  }
  bool Ready() override { return script_->ready; }
  absl::StatusOr<std::optional<Judgement>> Judged() override {
    EXPECT_TRUE(CheckScope::active());
    judged_ = true;
    return script_->accepted;
  }
  std::optional<int64_t> DeviceNs() override {
    EXPECT_TRUE(judged_);
    EXPECT_TRUE(CheckScope::active());
    return script_->device_ns;
  }
  const std::vector<c10::IValue>& before() const override { return before_; }
  const std::vector<c10::IValue>& after() const override { return after_; }
  const std::vector<c10::IValue>& outputs() const override { return outputs_; }
  int64_t bytes() const override {
    if (script_->bytes < 0) throw std::bad_alloc();
    return script_->bytes;
  }

 private:
  static std::vector<c10::IValue> Copies(absl::Span<const c10::IValue> values) {
    std::vector<c10::IValue> copies;
    for (const c10::IValue& value : values) {
      copies.push_back(
          value.isTensor()
              ? c10::IValue(ToFakeDevice(CpuAliasOf(value.toTensor()).clone()))
              : value);
    }
    return copies;
  }

  Script* const script_;
  const std::vector<c10::IValue> before_;
  std::vector<c10::IValue> after_;
  std::vector<c10::IValue> outputs_;
  bool judged_ = false;
};

class ScriptedMaker final : public ScreenMaker {
 public:
  absl::StatusOr<std::unique_ptr<Screen>> Make(
      const JudgedOp& op, const BudgetRow& /*row*/, ScreenHints& /*hints*/,
      absl::Span<const c10::IValue> arguments,
      int64_t /*memory_limit*/) const override {
    EXPECT_EQ(op.traits.key.name, "neg");
    if (next_ == scripts_.size()) return nullptr;
    Script* const script = &scripts_[next_++];
    if (!script->made.ok()) return script->made;
    return std::make_unique<ScriptedScreen>(script, arguments);
  }

  Script& Add() const { return scripts_.emplace_back(); }

 private:
  mutable std::deque<Script> scripts_;  // Script does not move
  mutable size_t next_ = 0;
};

class ScreenedCallTest : public testing::Test {
 protected:
  void SetUp() override { RegisterScreenMaker(&screens_); }
  void TearDown() override {
    runtime_.pending().Drain();
    RegisterScreenMaker(nullptr);
  }

  void Start(ReferencePlace place = ReferencePlace::kDevice,
             OnFailure on_failure = OnFailure::kLog, double time_fraction = 0) {
    auto sink = std::make_unique<MemorySink>();
    sink_ = sink.get();
    CheckSessionOptions options;
    options.policy.max_checks = 1000;
    options.policy.log_once = false;
    options.profile = "strict";
    options.tolerance_model = ToleranceModel::kBudget;
    options.on_failure = on_failure;
    options.reference = place;
    options.time_fraction = time_fraction;
    options.time_budget_clock = [this] { return now_; };
    runtime_.Start(std::make_shared<CheckSession>(std::move(options),
                                                  std::move(sink), &clock_));
    const OpKey key{"aten", "neg", ""};
    handle_ = FindOperator(key);
    auto op = std::make_shared<CheckedOp>(*handle_);
    op->ledger = runtime_.ledgers().Get(key);
    op->gate = std::make_shared<Gate>(
        *handle_, op->ledger->counter(Verdict::kSkipDisabled));
    op->kernel = c10::KernelFunction::makeFromBoxedFunctor(
        std::make_unique<Kernel>(this));
    op->judged.reference = ReferenceSource(*NativeCpuReference(*handle_));
    op_ = op;
    checked_ = MakeCheckedKernel(op, &runtime_);
    runtime_.Add(op);
  }

  // -x, but for `wrong` a zero in place of the last element.
  at::Tensor Call(const at::Tensor& x, bool wrong = false) {
    wrong_ = wrong;
    Stack stack = {ToFakeDevice(x)};
    checked_.callBoxed(
        *handle_, c10::DispatchKeySet(c10::DispatchKey::PrivateUse1), &stack);
    return stack[0].toTensor();
  }

  int64_t Count(Verdict verdict) const { return op_->ledger->count(verdict); }
  std::vector<int64_t> FailedCalls() const {
    std::vector<int64_t> calls;
    for (const CheckRecord& record : sink_->records()) {
      calls.push_back(record.call);
    }
    return calls;
  }

  struct Kernel : public c10::OperatorKernel {
    explicit Kernel(ScreenedCallTest* test) : test(test) {}
    void operator()(const c10::OperatorHandle&, c10::DispatchKeySet,
                    Stack* stack) {
      if (test->throws_) TORCH_CHECK(false, "no");
      const at::Tensor x = stack->back().toTensor();
      at::Tensor y = at::empty_like(x);
      CpuAliasOf(y).copy_(-CpuAliasOf(x));
      if (test->wrong_) CpuAliasOf(y).view(-1)[-1].fill_(0);
      stack->back() = y;
    }
    ScreenedCallTest* const test;
  };

  FixedClock clock_{absl::FromUnixSeconds(1747648801)};
  int64_t now_ = 0;  // ns, of the time budget
  CheckRuntime runtime_;
  ScriptedMaker screens_;
  MemorySink* sink_ = nullptr;
  std::optional<c10::OperatorHandle> handle_;
  std::shared_ptr<CheckedOp> op_;
  c10::BoxedKernel checked_;
  bool wrong_ = false;
  bool throws_ = false;
};

at::Tensor OneTwoThree() { return at::tensor({1.0F, 2.0F, 3.0F}); }

TEST_F(ScreenedCallTest, AnAcceptedCallPassesWhenItIsReadyAndNotBefore) {
  Start();
  Script& script = screens_.Add();
  script.ready = false;
  Call(OneTwoThree());
  runtime_.pending().Poll();
  EXPECT_EQ(Count(Verdict::kPass), 0);
  EXPECT_EQ(runtime_.pending().bytes(), 100);
  script.ready = true;
  runtime_.pending().Poll();
  EXPECT_EQ(Count(Verdict::kPass), 1);
  EXPECT_EQ(runtime_.pending().pending(), 0);
  EXPECT_THAT(sink_->records(), IsEmpty());
}

TEST_F(ScreenedCallTest, TheNextCheckedCallCollectsVerdicts) {
  Start();
  screens_.Add();
  Script& second = screens_.Add();
  second.ready = false;
  Call(OneTwoThree());
  EXPECT_EQ(Count(Verdict::kPass), 0);
  Call(OneTwoThree());
  EXPECT_EQ(Count(Verdict::kPass), 1);
  second.ready = true;
}

TEST_F(ScreenedCallTest, WhatIsNotAcceptedIsJudgedInFullFromTheCopies) {
  Start();
  Script& script = screens_.Add();
  script.ready = false;
  script.accepted = std::optional<Judgement>();
  const at::Tensor y = Call(OneTwoThree(), /*wrong=*/true);
  // The program goes on to write the result.
  CpuAliasOf(y).copy_(-OneTwoThree());
  script.ready = true;
  runtime_.pending().Drain();
  EXPECT_EQ(Count(Verdict::kFailValue), 1);
  ASSERT_THAT(sink_->records(), SizeIs(1));
  const CheckRecord record = sink_->records()[0];
  EXPECT_EQ(record.worst_index, (std::vector<int64_t>{2}));
  EXPECT_EQ(record.got, "0");
  EXPECT_EQ(record.want, "-3");
  EXPECT_EQ(record.call, 1);
}

TEST_F(ScreenedCallTest, ARightCallThatIsNotAcceptedPasses) {
  Start();
  screens_.Add().accepted = std::optional<Judgement>();
  Call(OneTwoThree());
  runtime_.pending().Drain();
  EXPECT_EQ(Count(Verdict::kPass), 1);
}

TEST_F(ScreenedCallTest, FailuresAreLoggedInTheOrderOfTheCalls) {
  Start();
  std::vector<Script*> scripts;
  for (int i = 0; i < 4; ++i) {
    Script& script = screens_.Add();
    script.ready = false;
    if (i != 1) script.accepted = std::optional<Judgement>();
    scripts.push_back(&script);
    Call(OneTwoThree(), /*wrong=*/i != 1);
  }
  // The last is ready first.
  scripts[3]->ready = true;
  scripts[2]->ready = true;
  runtime_.pending().Poll();
  EXPECT_THAT(FailedCalls(), IsEmpty());
  scripts[0]->ready = true;
  while (FailedCalls().empty()) runtime_.pending().Poll();
  EXPECT_THAT(FailedCalls(), ElementsAre(1));
  scripts[1]->ready = true;
  runtime_.pending().Drain();
  EXPECT_THAT(FailedCalls(), ElementsAre(1, 3, 4));
}

TEST_F(ScreenedCallTest, AScreenThatDeclinesLeavesTheVerdictToTheCall) {
  Start();
  screens_.Add().enqueued = false;
  Call(OneTwoThree(), /*wrong=*/true);
  EXPECT_EQ(Count(Verdict::kFailValue), 1);
  EXPECT_EQ(runtime_.pending().pending(), 0);
}

TEST_F(ScreenedCallTest, ACallWithoutAScreenIsJudgedOnTheHost) {
  Start();
  Call(OneTwoThree(), /*wrong=*/true);
  runtime_.pending().Drain();
  EXPECT_EQ(Count(Verdict::kFailValue), 1);
}

TEST_F(ScreenedCallTest, TheCpuAsReferenceAsksNoScreen) {
  Start(ReferencePlace::kCpu);
  screens_.Add().enqueued = absl::InternalError("must not be asked");
  Call(OneTwoThree());
  runtime_.pending().Drain();
  EXPECT_EQ(Count(Verdict::kPass), 1);
}

TEST_F(ScreenedCallTest, ErrorsOfTheDeviceAreErrorsOfTheCheck) {
  Start();
  screens_.Add().made = absl::ResourceExhaustedError("made");
  screens_.Add().enqueued = absl::ResourceExhaustedError("enqueued");
  screens_.Add().accepted = absl::InternalError("an illegal memory access");
  for (int i = 0; i < 3; ++i) Call(OneTwoThree());
  runtime_.pending().Drain();
  EXPECT_EQ(Count(Verdict::kErrorOutOfMemory), 2);
  EXPECT_EQ(Count(Verdict::kErrorReference), 1);
}

TEST_F(ScreenedCallTest, WithoutMemoryToWaitTheCallIsAnError) {
  Start();
  screens_.Add().bytes = -1;
  Call(OneTwoThree());
  EXPECT_EQ(Count(Verdict::kErrorOutOfMemory), 1);
  EXPECT_EQ(op_->ledger->calls(), 1);
  EXPECT_EQ(runtime_.pending().pending(), 0);
  screens_.Add();
  Call(OneTwoThree());
  runtime_.pending().Drain();
  EXPECT_EQ(Count(Verdict::kPass), 1);
}

// The clock stands still while checks run, so that they cost nothing else.
TEST_F(ScreenedCallTest, TheDevicesTimeCountsAgainstTheShareOfChecks) {
  for (const bool known : {false, true}) {
    Start(ReferencePlace::kDevice, OnFailure::kLog, /*time_fraction=*/0.5);
    for (int i = 0; i < 2; ++i) {
      Script& script = screens_.Add();
      if (known) script.device_ns = 1'000'000'000;
    }
    Call(OneTwoThree());
    runtime_.pending().Drain();
    ASSERT_EQ(Count(Verdict::kPass), 1);
    now_ += 100'000'000;
    Call(OneTwoThree());
    runtime_.pending().Drain();
    EXPECT_EQ(Count(Verdict::kPass), known ? 1 : 2);
    EXPECT_EQ(Count(Verdict::kSkipThrottle), known ? 1 : 0);
  }
}

TEST_F(ScreenedCallTest, AKernelThatThrowsIsJudgedAtOnce) {
  Start();
  screens_.Add();
  throws_ = true;
  EXPECT_THROW(Call(OneTwoThree()), c10::Error);
  EXPECT_EQ(Count(Verdict::kFailThrow), 1);
}

TEST_F(ScreenedCallTest, WithSubstitutionTheVerdictIsWaitedFor) {
  Start(ReferencePlace::kDevice, OnFailure::kSubstitute);
  screens_.Add().accepted = std::optional<Judgement>();
  const at::Tensor y = Call(OneTwoThree(), /*wrong=*/true);
  EXPECT_EQ(Count(Verdict::kFailValue), 1);
  EXPECT_TRUE(CpuAliasOf(y).equal(-OneTwoThree()));
}

TEST_F(ScreenedCallTest, AVerdictAfterTheEndOfTheSessionCounts) {
  Start();
  screens_.Add();
  Call(OneTwoThree());
  runtime_.Stop();
  runtime_.pending().Drain();
  EXPECT_EQ(Count(Verdict::kPass), 1);
}

TEST_F(ScreenedCallTest, PendingCallsOutliveTheKernel) {
  Start();
  Script& script = screens_.Add();
  script.accepted = std::optional<Judgement>();
  Call(OneTwoThree(), /*wrong=*/true);
  OpLedger* const ledger = op_->ledger;
  runtime_.Remove(op_.get());
  checked_ = c10::BoxedKernel();
  op_.reset();
  runtime_.pending().Drain();
  EXPECT_EQ(ledger->count(Verdict::kFailValue), 1);
}

}  // namespace
}  // namespace flaggems
