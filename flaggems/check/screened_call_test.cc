// Calls whose verdict a screen gives later.

#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>
#include <utility>
#include <vector>

#include "flaggems/check/scripted_screen.h"
#include "flaggems/check/testutil.h"
#include "flaggems/policy/sheddable_queues.h"
#include "flaggems/testing/fake_device.h"

namespace flaggems {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

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

TEST_F(ScreenedCallTest, ASettledCallPassesAtOnce) {
  Start();
  screens_.Add().settled = true;
  Call(OneTwoThree());
  EXPECT_EQ(pending().pending(), 0);
  EXPECT_EQ(Count(Verdict::kPass), 1);
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

// Of three calls that wait, the second has nothing to give.
TEST_F(ScreenedCallTest, CallsGiveTheirMemoryBackAndAreSkipped) {
  Start();
  std::vector<Script*> scripts;
  for (int i = 0; i < 3; ++i) {
    Script& script = screens_.Add();
    script.ready = false;
    script.holds_device_memory = i != 1;
    scripts.push_back(&script);
    Call(OneTwoThree());
  }
  EXPECT_EQ(MemoryOfPendingChecks().bytes, 300);
  EXPECT_EQ(ShedPendingChecks(), 2);
  EXPECT_TRUE(scripts[0]->destroyed);
  EXPECT_FALSE(scripts[1]->destroyed);
  EXPECT_TRUE(scripts[2]->destroyed);
  EXPECT_EQ(pending().bytes(), 100);
  // Counted in their turn.
  pending().Poll();
  EXPECT_EQ(Count(Verdict::kSkipThrottle), 1);
  pending().Drain();
  EXPECT_EQ(Count(Verdict::kSkipThrottle), 2);
  EXPECT_EQ(Count(Verdict::kPass), 1);
  EXPECT_EQ(op_->ledger->calls(), 3);
}

// The kernel needs the memory that the check of its own call holds.
TEST_F(ScreenedCallTest, ACallGivesItsMemoryToItsKernel) {
  for (const bool throws : {false, true}) {
    Start();
    Script& script = screens_.Add();
    script.holds_device_memory = true;
    throws_ = throws;
    inside_ = [&] {
      EXPECT_EQ(MemoryOfPendingChecks().checks, 1);
      EXPECT_EQ(ShedPendingChecks(), 1);
      EXPECT_TRUE(script.destroyed);
      EXPECT_EQ(ShedPendingChecks(), 0);
    };
    if (throws) {
      EXPECT_THROW(Call(OneTwoThree()), c10::Error);
    } else {
      EXPECT_TRUE(CpuAliasOf(Call(OneTwoThree())).equal(-OneTwoThree()));
    }
    EXPECT_EQ(Count(Verdict::kSkipThrottle), 1);
    EXPECT_EQ(op_->ledger->calls(), 1);
    EXPECT_EQ(pending().pending(), 0);
  }
}

TEST_F(ScreenedCallTest, CopiesForTheHostAreGivenToTheKernelToo) {
  Start(ReferencePlace::kCpu);
  inside_ = [] { EXPECT_EQ(ShedPendingChecks(), 1); };
  Call(OneTwoThree());
  EXPECT_EQ(Count(Verdict::kSkipThrottle), 1);
  inside_ = nullptr;
  Call(OneTwoThree());
  pending().Drain();
  EXPECT_EQ(Count(Verdict::kPass), 1);
}

TEST_F(ScreenedCallTest, AShedCallIsDueAgain) {
  CheckSessionOptions options = EveryCall(ReferencePlace::kDevice);
  options.policy.throttle = Throttle::kSpread;
  options.policy.max_checks = 1;
  FakeDeviceCallTest::Start("neg", std::move(options));
  Script& script = screens_.Add();
  script.ready = false;
  script.holds_device_memory = true;
  Call(OneTwoThree());
  EXPECT_EQ(ShedPendingChecks(), 1);
  screens_.Add();
  // Counts the first.
  pending().Poll();
  Call(OneTwoThree());
  pending().Drain();
  EXPECT_EQ(Count(Verdict::kSkipThrottle), 1);
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
