// Calls on a device that only the host can judge: the fake device, the real
// check of profile strict, and a reference that the test holds up.

#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <condition_variable>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "flaggems/check/testutil.h"
#include "flaggems/reference/reference.h"
#include "flaggems/registry/check_scope.h"
#include "flaggems/screen/host_copy_screen.h"
#include "flaggems/screen/screen.h"
#include "flaggems/testing/fake_device.h"

namespace flaggems {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

// The CPU's kernel, which computes calls whose first element is held only once
// they are let go.
class HeldReference final : public Reference {
 public:
  explicit HeldReference(std::shared_ptr<const Reference> native)
      : native_(std::move(native)) {}

  absl::StatusOr<std::vector<c10::IValue>> Compute(
      std::vector<c10::IValue> arguments) const override {
    EXPECT_TRUE(CheckScope::active());
    const at::Tensor x = arguments[0].toTensor();
    EXPECT_TRUE(x.device().is_cpu());
    const int first = std::abs(static_cast<int>(
        x.reshape(-1)[0].to(at::kDouble).item<double>() + 0.25));
    if (forked_) return native_->Compute(std::move(arguments));
    std::unique_lock<std::mutex> lock(mutex_);
    ++begun_[first];
    threads_.insert(std::this_thread::get_id());
    changed_.notify_all();
    changed_.wait(lock, [&] { return held_.count(first) == 0; });
    lock.unlock();
    return native_->Compute(std::move(arguments));
  }
  std::string name() const override { return "cpu"; }

  // In a child, whose parent's threads wait in changed_ for ever: no more
  // holding.
  void Forked() { forked_ = true; }
  void Hold(int first) {
    const std::lock_guard<std::mutex> lock(mutex_);
    held_.insert(first);
  }
  void LetGo(int first) {
    const std::lock_guard<std::mutex> lock(mutex_);
    held_.erase(first);
    changed_.notify_all();
  }
  void WaitUntilBegun(int first, int times = 1) const {
    std::unique_lock<std::mutex> lock(mutex_);
    changed_.wait(lock, [&] { return begun_[first] >= times; });
  }
  std::set<std::thread::id> threads() const {
    const std::lock_guard<std::mutex> lock(mutex_);
    return threads_;
  }

 private:
  const std::shared_ptr<const Reference> native_;
  std::atomic<bool> forked_{false};
  mutable std::mutex mutex_;
  mutable std::condition_variable changed_;
  std::multiset<int> held_;
  mutable std::map<int, int> begun_;
  mutable std::set<std::thread::id> threads_;
};

// Takes every call and accepts none.
class DecliningScreen final : public Screen {
 public:
  DecliningScreen(const bool* ready, absl::Span<const c10::IValue> arguments)
      : ready_(*ready), before_(arguments.begin(), arguments.end()) {}
  absl::StatusOr<bool> Enqueue(absl::Span<const c10::IValue> outputs) override {
    outputs_.assign(outputs.begin(), outputs.end());
    return true;
  }
  bool Ready() override { return ready_; }
  absl::StatusOr<std::optional<Judgement>> Judged() override {
    return std::nullopt;
  }
  const std::vector<c10::IValue>& before() const override { return before_; }
  const std::vector<c10::IValue>& after() const override { return before_; }
  const std::vector<c10::IValue>& outputs() const override { return outputs_; }
  int64_t bytes() const override { return 1; }

 private:
  const bool& ready_;
  const std::vector<c10::IValue> before_;
  std::vector<c10::IValue> outputs_;
};

class DecliningMaker final : public ScreenMaker {
 public:
  absl::StatusOr<std::unique_ptr<Screen>> Make(
      const JudgedOp&, const BudgetRow&, ScreenHints&,
      absl::Span<const c10::IValue> arguments,
      const ScreenMemory&) const override {
    return std::make_unique<DecliningScreen>(&ready, arguments);
  }

  bool ready = true;
};

class HostJudgedCallTest : public FakeDeviceCallTest {
 protected:
  HostJudgedCallTest() { Start(); }

  void Start(const std::string& name = "neg",
             ReferencePlace place = ReferencePlace::kCpu,
             int64_t memory_limit = 0) {
    CheckSessionOptions options = EveryCall(place);
    options.memory_limit = memory_limit;
    FakeDeviceCallTest::Start(name, std::move(options));
  }

  std::shared_ptr<const Reference> ReferenceOf(
      const c10::OperatorHandle& op) final {
    reference_ =
        std::make_shared<HeldReference>(FakeDeviceCallTest::ReferenceOf(op));
    return reference_;
  }

  DecliningMaker declining_;
  std::shared_ptr<HeldReference> reference_;
};

// Three elements; the first is what HeldReference knows the call by.
at::Tensor Of(float first) { return at::tensor({first, 2.0F, 3.0F}); }

TEST_F(HostJudgedCallTest, TheProgramGoesOnWhileTheHostJudges) {
  reference_->Hold(1);
  Call(Of(1));
  pending().Poll();
  reference_->WaitUntilBegun(1);
  pending().Poll();
  EXPECT_EQ(pending().pending(), 1);
  EXPECT_EQ(Count(Verdict::kPass), 0);
  reference_->LetGo(1);
  pending().Drain();
  EXPECT_EQ(Count(Verdict::kPass), 1);
  EXPECT_EQ(pending().pending(), 0);
  EXPECT_EQ(reference_->threads().count(std::this_thread::get_id()), 0u);
}

TEST_F(HostJudgedCallTest, NothingWaitsForTheDevice) {
  const HeldFakeDevice held;
  const at::Tensor x = ToFakeDevice(Of(1));
  const at::Tensor y = CallOnDevice(x, /*wrong=*/true);
  pending().Poll();
  EXPECT_THAT(reference_->threads(), IsEmpty());
  // 12 bytes of x, before and after the call, and of y, on the device and on
  // the host.
  EXPECT_EQ(pending().bytes(), 72);
  // The program writes both again.
  CpuAliasOf(x).fill_(5);
  CpuAliasOf(y).copy_(-Of(1));
  pending().Drain();
  EXPECT_EQ(Count(Verdict::kFailValue), 1);
  ASSERT_THAT(sink_->records(), SizeIs(1));
  const CheckRecord record = sink_->records()[0];
  EXPECT_EQ(record.worst_index, (std::vector<int64_t>{2}));
  EXPECT_EQ(record.got, "0");
  EXPECT_EQ(record.want, "-3");
  EXPECT_EQ(record.device, x.device().str());
  EXPECT_EQ(reference_->threads().count(std::this_thread::get_id()), 0u);
}

TEST_F(HostJudgedCallTest, WrittenArgumentsAreThoseOfTheCall) {
  Start("neg_");
  const HeldFakeDevice held;
  const at::Tensor x = ToFakeDevice(Of(1));
  CallOnDevice(x);
  CallOnDevice(x);
  CallOnDevice(x, /*wrong=*/true);
  CpuAliasOf(x).fill_(5);
  pending().Drain();
  EXPECT_EQ(Count(Verdict::kPass), 2);
  EXPECT_THAT(FailedCalls(), ElementsAre(3));
}

TEST_F(HostJudgedCallTest, SharedMemoryStaysShared) {
  Start("alias");
  Call(at::arange(12.F).view({3, 4}).t());
  pending().Drain();
  EXPECT_EQ(Count(Verdict::kPass), 1);
  EXPECT_THAT(FailedCalls(), IsEmpty());
}

TEST_F(HostJudgedCallTest, AViewMayReachWhatItsArgumentDoesNot) {
  Start("as_strided");
  const at::Tensor base = ToFakeDevice(at::arange(12.F));
  const at::Tensor view = base.as_strided({3}, {1}, 2);
  CallWith({view, std::vector<int64_t>{2}, std::vector<int64_t>{3}, 7});
  pending().Drain();
  EXPECT_EQ(Count(Verdict::kPass), 1);
  EXPECT_THAT(FailedCalls(), IsEmpty());
}

TEST_F(HostJudgedCallTest, AnArgumentThatLooksOtherwiseIsReported) {
  // The result is right, and the strides of the argument are (1, 3) after it.
  const at::Tensor x = ToFakeDevice(at::eye(3));
  inside_ = [&] { x.t_(); };
  CallOnDevice(x);
  pending().Drain();
  EXPECT_EQ(Count(Verdict::kFailArgument), 1);
}

TEST_F(HostJudgedCallTest, AnArgumentThatIsOverwrittenIsReported) {
  const at::Tensor numbers = at::arange(6.F).view({2, 3});
  numbers[1][2].fill_(NAN);
  const at::Tensor x = ToFakeDevice(numbers);
  // By another NaN: the result is right.
  inside_ = [&] {
    static_cast<uint32_t*>(CpuAliasOf(x).mutable_data_ptr())[5] ^= 1;
  };
  CallOnDevice(x);
  pending().Drain();
  EXPECT_EQ(Count(Verdict::kFailArgument), 1);
  ASSERT_THAT(sink_->records(), SizeIs(1));
  EXPECT_THAT(sink_->records()[0].message, HasSubstr("self was changed"));
}

TEST_F(HostJudgedCallTest, LargeArgumentsAreNotCopiedAgain) {
  // 12 bytes of each; the copies of arguments are to take an eighth at most.
  for (const int64_t limit : {96, 95}) {
    Start("neg", ReferencePlace::kCpu, limit);
    const HeldFakeDevice held;
    const at::Tensor x = ToFakeDevice(Of(1));
    CallOnDevice(x);
    EXPECT_EQ(pending().bytes(), limit == 96 ? 72 : 48);
    pending().Drain();
  }
}

TEST_F(HostJudgedCallTest, MemoryBetweenTheElementsOfAnArgumentIsNotLookedAt) {
  const at::Tensor base = ToFakeDevice(at::ones({2, 3}));
  inside_ = [&] { CpuAliasOf(base)[1][2].fill_(5); };
  CallOnDevice(base.as_strided({2, 2}, {3, 1}));
  pending().Drain();
  EXPECT_EQ(Count(Verdict::kPass), 1);
}

TEST_F(HostJudgedCallTest, AResultOnTheHostIsReported) {
  returns_on_host_ = true;
  Call(Of(1));
  pending().Drain();
  EXPECT_EQ(Count(Verdict::kFailLayout), 1);
  ASSERT_THAT(sink_->records(), SizeIs(1));
  EXPECT_THAT(sink_->records()[0].message, HasSubstr("a result on cpu"));
}

TEST_F(HostJudgedCallTest, VerdictsComeInTheOrderOfTheCalls) {
  reference_->Hold(1);
  for (const int first : {1, 2, 3}) Call(Of(first), /*wrong=*/true);
  pending().Poll();
  // One thread has the first; the other was done with the second before it
  // began the third.
  reference_->WaitUntilBegun(1);
  reference_->WaitUntilBegun(3);
  pending().Poll();
  EXPECT_THAT(FailedCalls(), IsEmpty());
  reference_->LetGo(1);
  pending().Drain();
  EXPECT_THAT(FailedCalls(), ElementsAre(1, 2, 3));
}

TEST_F(HostJudgedCallTest, WhatTheHostCannotKeepUpWithIsSkipped) {
  constexpr int64_t kMore = 44;
  reference_->Hold(1);
  for (int64_t i = 0; i < kMaxHostCopies + kMore; ++i) Call(Of(1));
  EXPECT_EQ(pending().pending(), kMaxHostCopies);
  EXPECT_EQ(Count(Verdict::kSkipThrottle), kMore);
  reference_->LetGo(1);
  pending().Drain();
  EXPECT_EQ(Count(Verdict::kPass), kMaxHostCopies);
  EXPECT_EQ(pending().bytes(), 0);
  // What was held is free again.
  Call(Of(1));
  pending().Drain();
  EXPECT_EQ(Count(Verdict::kPass), kMaxHostCopies + 1);
  EXPECT_EQ(Count(Verdict::kSkipThrottle), kMore);
}

TEST_F(HostJudgedCallTest, ADeclinedCallWithoutRoomForItsJudgementIsSkipped) {
  Start("neg", ReferencePlace::kDevice);
  RegisterScreenMaker(&declining_);
  const int64_t backlog = runtime_->judges().max_backlog();
  reference_->Hold(1);
  for (int i = 0; i < 2; ++i) Call(Of(1));
  pending().Poll();
  reference_->WaitUntilBegun(1, 2);
  for (int64_t i = 0; i < backlog + 5; ++i) Call(Of(2));
  pending().Poll();
  EXPECT_EQ(pending().pending(), backlog + 7);
  reference_->LetGo(1);
  pending().Drain();
  EXPECT_EQ(Count(Verdict::kPass), backlog + 2);
  EXPECT_EQ(Count(Verdict::kSkipThrottle), 5);
  EXPECT_THAT(sink_->records(), IsEmpty());
}

TEST_F(HostJudgedCallTest, DrainGivesNothingUp) {
  Start("neg", ReferencePlace::kDevice);
  RegisterScreenMaker(&declining_);
  const int64_t calls = 3 * runtime_->judges().max_backlog();
  declining_.ready = false;
  for (int64_t i = 0; i < calls; ++i) Call(Of(2));
  EXPECT_EQ(pending().pending(), calls);
  declining_.ready = true;
  pending().Drain();
  EXPECT_EQ(Count(Verdict::kPass), calls);
}

TEST_F(HostJudgedCallTest, AVerdictAfterTheEndOfTheSessionCounts) {
  reference_->Hold(1);
  Call(Of(1));
  pending().Poll();
  reference_->WaitUntilBegun(1);
  runtime_->Stop();
  reference_->LetGo(1);
  pending().Drain();
  EXPECT_EQ(Count(Verdict::kPass), 1);
}

TEST_F(HostJudgedCallTest, TheRuntimeEndsAfterTheJudgementsUnderWay) {
  reference_->Hold(1);
  for (int i = 0; i < 5; ++i) Call(Of(1));
  pending().Poll();
  reference_->WaitUntilBegun(1, 2);
  std::thread releaser([&] { reference_->LetGo(1); });
  runtime_.reset();
  releaser.join();
}

TEST_F(HostJudgedCallTest, AfterTheEndOfTheThreadsDrainJudgesItself) {
  runtime_->judges().Stop();
  Call(Of(1));
  pending().Drain();
  EXPECT_EQ(Count(Verdict::kPass), 1);
}

TEST_F(HostJudgedCallTest, WhatWaitedAtTheEndOfTheThreadsIsSkipped) {
  reference_->Hold(1);
  for (int i = 0; i < 3; ++i) Call(Of(1));
  pending().Poll();
  reference_->WaitUntilBegun(1, 2);
  std::thread stopper([&] { runtime_->judges().Stop(); });
  while (runtime_->judges().backlog() > 0) std::this_thread::yield();
  reference_->LetGo(1);
  stopper.join();
  pending().Drain();
  EXPECT_EQ(Count(Verdict::kPass), 2);
  EXPECT_EQ(Count(Verdict::kSkipThrottle), 1);
}

TEST_F(HostJudgedCallTest, AKernelThatThrowsIsJudgedAtOnce) {
  throws_ = true;
  EXPECT_THROW(Call(Of(1)), c10::Error);
  EXPECT_EQ(Count(Verdict::kFailThrow), 1);
  EXPECT_EQ(pending().pending(), 0);
}

TEST_F(HostJudgedCallTest, MoreThanTheMemoryLimitIsNotCopied) {
  Start("neg", ReferencePlace::kCpu, /*memory_limit=*/8);
  Call(Of(1));
  EXPECT_EQ(Count(Verdict::kSkipSize), 1);
  EXPECT_EQ(pending().pending(), 0);
}

TEST_F(HostJudgedCallTest, ManyThreadsLoseNothing) {
  constexpr int kThreads = 4;
  constexpr int kCalls = 200;
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < kCalls; ++i) {
        Stack stack = {ToFakeDevice(Of(2))};
        checked_.callBoxed(*handle_,
                           c10::DispatchKeySet(c10::DispatchKey::PrivateUse1),
                           &stack);
        if (i % 50 == 0) pending().Drain();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  pending().Drain();
  EXPECT_EQ(Count(Verdict::kPass) + Count(Verdict::kSkipThrottle),
            kThreads * kCalls);
  EXPECT_EQ(pending().bytes(), 0);
}

TEST_F(HostJudgedCallTest, AForkedChildJudgesItsOwnCalls) {
  reference_->Hold(1);
  for (int i = 0; i < 3; ++i) Call(Of(1));
  pending().Poll();
  reference_->WaitUntilBegun(1, 2);
  const pid_t pid = fork();
  if (pid == 0) {
    alarm(20);
    reference_->Forked();
    pending().Discard();
    runtime_->ledgers().Reset();
    for (int64_t i = 0; i < kMaxHostCopies + 2; ++i) {
      Call(Of(2));
      pending().Poll();
    }
    _exit(Count(Verdict::kPass) == kMaxHostCopies + 2 ? 7 : 1);
  }
  int status = 0;
  waitpid(pid, &status, 0);
  EXPECT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 7);
  reference_->LetGo(1);
  pending().Drain();
  EXPECT_EQ(Count(Verdict::kPass), 3);
}

}  // namespace
}  // namespace flaggems
