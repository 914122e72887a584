// Calls whose verdict a screen gives later: a screen that the test controls, on
// the fake device, in front of the real check of profile strict.

#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <deque>
#include <memory>
#include <new>
#include <optional>
#include <utility>
#include <vector>

#include "flaggems/aten/snapshot.h"
#include "flaggems/check/testutil.h"
#include "flaggems/registry/check_scope.h"
#include "flaggems/screen/screen.h"
#include "flaggems/testing/fake_device.h"

namespace flaggems {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

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
      const ScreenMemory& /*memory*/) const override {
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

class ScreenedCallTest : public FakeDeviceCallTest {
 protected:
  ScreenedCallTest() { RegisterScreenMaker(&screens_); }

  void Start(ReferencePlace place = ReferencePlace::kDevice,
             OnFailure on_failure = OnFailure::kLog, double time_fraction = 0) {
    CheckSessionOptions options = EveryCall(place);
    options.on_failure = on_failure;
    options.time_fraction = time_fraction;
    options.time_budget_clock = [this] { return now_; };
    FakeDeviceCallTest::Start("neg", std::move(options));
  }

  int64_t now_ = 0;  // ns, of the time budget
  ScriptedMaker screens_;
};

at::Tensor OneTwoThree() { return at::tensor({1.0F, 2.0F, 3.0F}); }

TEST_F(ScreenedCallTest, AnAcceptedCallPassesWhenItIsReadyAndNotBefore) {
  Start();
  Script& script = screens_.Add();
  script.ready = false;
  Call(OneTwoThree());
  pending().Poll();
  EXPECT_EQ(Count(Verdict::kPass), 0);
  EXPECT_EQ(pending().bytes(), 100);
  script.ready = true;
  pending().Poll();
  EXPECT_EQ(Count(Verdict::kPass), 1);
  EXPECT_EQ(pending().pending(), 0);
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
  pending().Drain();
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
  pending().Drain();
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
  pending().Poll();
  EXPECT_THAT(FailedCalls(), IsEmpty());
  scripts[0]->ready = true;
  while (FailedCalls().empty()) pending().Poll();
  EXPECT_THAT(FailedCalls(), ElementsAre(1));
  scripts[1]->ready = true;
  pending().Drain();
  EXPECT_THAT(FailedCalls(), ElementsAre(1, 3, 4));
}

TEST_F(ScreenedCallTest, AScreenThatDeclinesLeavesTheVerdictToTheCall) {
  Start();
  screens_.Add().enqueued = false;
  Call(OneTwoThree(), /*wrong=*/true);
  EXPECT_EQ(Count(Verdict::kFailValue), 1);
  EXPECT_EQ(pending().pending(), 0);
}

TEST_F(ScreenedCallTest, ACallWithoutAScreenIsJudgedOnTheHost) {
  Start();
  Call(OneTwoThree(), /*wrong=*/true);
  pending().Drain();
  EXPECT_EQ(Count(Verdict::kFailValue), 1);
}

TEST_F(ScreenedCallTest, TheCpuAsReferenceAsksNoScreen) {
  Start(ReferencePlace::kCpu);
  screens_.Add().enqueued = absl::InternalError("must not be asked");
  Call(OneTwoThree());
  pending().Drain();
  EXPECT_EQ(Count(Verdict::kPass), 1);
}

TEST_F(ScreenedCallTest, ErrorsOfTheDeviceAreErrorsOfTheCheck) {
  Start();
  screens_.Add().made = absl::ResourceExhaustedError("made");
  screens_.Add().enqueued = absl::ResourceExhaustedError("enqueued");
  screens_.Add().accepted = absl::InternalError("an illegal memory access");
  for (int i = 0; i < 3; ++i) Call(OneTwoThree());
  pending().Drain();
  EXPECT_EQ(Count(Verdict::kErrorOutOfMemory), 2);
  EXPECT_EQ(Count(Verdict::kErrorReference), 1);
}

TEST_F(ScreenedCallTest, WithoutMemoryToWaitTheCallIsAnError) {
  Start();
  screens_.Add().bytes = -1;
  Call(OneTwoThree());
  EXPECT_EQ(Count(Verdict::kErrorOutOfMemory), 1);
  EXPECT_EQ(op_->ledger->calls(), 1);
  EXPECT_EQ(pending().pending(), 0);
  screens_.Add();
  Call(OneTwoThree());
  pending().Drain();
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
    pending().Drain();
    ASSERT_EQ(Count(Verdict::kPass), 1);
    now_ += 100'000'000;
    Call(OneTwoThree());
    pending().Drain();
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
  runtime_->Stop();
  pending().Drain();
  EXPECT_EQ(Count(Verdict::kPass), 1);
}

TEST_F(ScreenedCallTest, PendingCallsOutliveTheKernel) {
  Start();
  Script& script = screens_.Add();
  script.accepted = std::optional<Judgement>();
  Call(OneTwoThree(), /*wrong=*/true);
  OpLedger* const ledger = op_->ledger;
  runtime_->Remove(op_.get());
  checked_ = c10::BoxedKernel();
  op_.reset();
  pending().Drain();
  EXPECT_EQ(ledger->count(Verdict::kFailValue), 1);
}

}  // namespace
}  // namespace flaggems
