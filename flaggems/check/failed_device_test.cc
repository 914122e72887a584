// A device on which nothing works any more: the fake device, whose probe says
// so.

#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "flaggems/aten/device_failure.h"
#include "flaggems/check/scripted_screen.h"
#include "flaggems/check/testutil.h"
#include "flaggems/testing/fake_device.h"

namespace flaggems {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::Pair;

std::atomic<bool> failed{false};
std::atomic<int> asked{0};

int Probe(const c10::Device& device) {
  ++asked;
  return failed && !device.is_cpu() ? 700 : 0;
}

absl::Status IllegalAddress() {
  return absl::InternalError("CUDA error: an illegal memory access");
}

class FailedDeviceTest : public ScreenedCallTest {
 protected:
  FailedDeviceTest() {
    failed = false;
    asked = 0;
    SetDeviceProbeForTesting(&Probe);
  }
  ~FailedDeviceTest() override { SetDeviceProbeForTesting(nullptr); }

  // A call that waits until the device is done with it.
  Script& PendingCall() {
    Script& script = screens_.Add();
    script.ready = false;
    Call(OneTwoThree());
    return script;
  }

  std::map<std::string, std::string> Errors() {
    return runtime_->session()->first_errors();
  }

  // The only one, and nothing is wrong.
  void ExpectOneError() {
    EXPECT_EQ(Count(Verdict::kErrorReference), 1);
    EXPECT_THAT(Errors(),
                ElementsAre(Pair("neg", HasSubstr("CUDA error 700"))));
    for (int i = 0; i < kNumVerdicts; ++i) {
      const auto verdict = static_cast<Verdict>(i);
      if (OutcomeOf(verdict) != Outcome::kFail) continue;
      EXPECT_EQ(Count(verdict), 0) << ReasonName(verdict);
    }
    EXPECT_THAT(sink_->records(), IsEmpty());
  }
};

TEST_F(FailedDeviceTest, FoundByAPendingCallItEndsTheOthersUntouched) {
  Start();
  Script& found = PendingCall();
  found.accepted = IllegalAddress();
  std::vector<Script*> others;
  for (int i = 0; i < 3; ++i) {
    others.push_back(&PendingCall());
    others.back()->accepted = absl::InternalError("must not be asked");
  }
  failed = true;
  found.ready = true;
  pending().Poll();
  EXPECT_EQ(pending().pending(), 0);
  ExpectOneError();
  EXPECT_EQ(Count(Verdict::kSkipUnsupported), 3);
  // Nothing of the device is ended.
  EXPECT_FALSE(found.destroyed);
  for (Script* script : others) EXPECT_FALSE(script->destroyed);
  // It was asked once, and once more to be sure.
  EXPECT_EQ(asked, 2);
}

TEST_F(FailedDeviceTest, LaterCallsAreSkippedAndRun) {
  Start();
  PendingCall().accepted = IllegalAddress();
  failed = true;
  pending().Drain();
  screens_.Add().made = absl::InternalError("must not be made");
  for (int i = 0; i < 5; ++i) {
    const at::Tensor y = Call(OneTwoThree(), /*wrong=*/true);
    EXPECT_EQ(CpuAliasOf(y)[0].item<float>(), -1);
  }
  pending().Drain();
  ExpectOneError();
  EXPECT_EQ(Count(Verdict::kSkipUnsupported), 5);
  EXPECT_EQ(asked, 2);
}

TEST_F(FailedDeviceTest, CallsOnTheHostAreStillChecked) {
  Start();
  PendingCall().accepted = IllegalAddress();
  failed = true;
  pending().Drain();
  throws_ = true;
  EXPECT_THROW(CallOnDevice(OneTwoThree()), c10::Error);
  EXPECT_EQ(Count(Verdict::kFailThrow), 1);
}

TEST_F(FailedDeviceTest, AKernelThatThrowsIsNotWrong) {
  Start();
  screens_.Add();
  failed = throws_ = true;
  try {
    Call(OneTwoThree());
    ADD_FAILURE() << "the program must see its own exception";
  } catch (const c10::Error& error) {
    EXPECT_THAT(error.what_without_backtrace(), HasSubstr("no"));
  }
  ExpectOneError();
}

TEST_F(FailedDeviceTest, AKernelThatThrowsOnADeviceThatWorksIs) {
  Start();
  screens_.Add();
  throws_ = true;
  EXPECT_THROW(Call(OneTwoThree()), c10::Error);
  EXPECT_EQ(Count(Verdict::kFailThrow), 1);
  EXPECT_THAT(Errors(), IsEmpty());
}

TEST_F(FailedDeviceTest, FoundBeforeTheKernel) {
  Start();
  screens_.Add().made = IllegalAddress();
  failed = true;
  Call(OneTwoThree());
  ExpectOneError();
}

TEST_F(FailedDeviceTest, FoundAfterTheKernel) {
  Start();
  screens_.Add().enqueued = IllegalAddress();
  failed = true;
  Call(OneTwoThree());
  ExpectOneError();
}

TEST_F(FailedDeviceTest, AnErrorOfOneCheckIsNoFailure) {
  Start();
  PendingCall().accepted = IllegalAddress();
  pending().Drain();
  EXPECT_EQ(Count(Verdict::kErrorReference), 1);
  EXPECT_THAT(Errors(), ElementsAre(Pair("neg", Not(HasSubstr("700")))));
  screens_.Add();
  Call(OneTwoThree());
  pending().Drain();
  EXPECT_EQ(Count(Verdict::kPass), 1);
  // The failure is what the summary has of the operator.
  PendingCall().accepted = IllegalAddress();
  failed = true;
  pending().Drain();
  EXPECT_THAT(Errors(), ElementsAre(Pair("neg", HasSubstr("700"))));
}

// A thread judges the second from its copies before the first tells of the
// failure.
TEST_F(FailedDeviceTest, WhatWasFoundWrongBeforeIsWrong) {
  Start();
  Script& first = PendingCall();
  Script& second = screens_.Add();
  second.accepted = std::optional<Judgement>();
  Call(OneTwoThree(), /*wrong=*/true);
  first.ready = true;
  pending().Drain();
  failed = true;
  PendingCall().accepted = IllegalAddress();
  pending().Drain();
  EXPECT_EQ(Count(Verdict::kPass), 1);
  EXPECT_EQ(Count(Verdict::kFailValue), 1);
  EXPECT_EQ(Count(Verdict::kErrorReference), 1);
}

TEST_F(FailedDeviceTest, EachSessionReportsIt) {
  for (int i = 0; i < 2; ++i) {
    Start();
    failed = true;
    PendingCall().accepted = IllegalAddress();
    pending().Drain();
    ExpectOneError();
  }
}

TEST_F(FailedDeviceTest, WithSubstitutionTheProgramKeepsWhatItGot) {
  Start(ReferencePlace::kDevice, OnFailure::kSubstitute);
  screens_.Add().accepted = IllegalAddress();
  failed = true;
  const at::Tensor y = Call(OneTwoThree(), /*wrong=*/true);
  EXPECT_EQ(CpuAliasOf(y)[2].item<float>(), 0);
  ExpectOneError();
}

TEST_F(FailedDeviceTest, CallsThatTheHostWasToJudgeAreDroppedToo) {
  const HeldFakeDevice held;
  Start(ReferencePlace::kCpu);
  for (int i = 0; i < 3; ++i) Call(OneTwoThree(), /*wrong=*/true);
  failed = throws_ = true;
  EXPECT_THROW(Call(OneTwoThree()), c10::Error);
  pending().Drain();
  ExpectOneError();
  EXPECT_EQ(Count(Verdict::kSkipUnsupported), 3);
}

}  // namespace
}  // namespace flaggems
