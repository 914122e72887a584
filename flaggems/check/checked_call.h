#ifndef FLAGGEMS_CHECK_CHECKED_CALL_H_
#define FLAGGEMS_CHECK_CHECKED_CALL_H_

// One admitted call, from its arguments to its verdict.

#include <ATen/core/ivalue.h>

#include <cstdint>
#include <exception>
#include <future>
#include <memory>
#include <optional>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "flaggems/check/budget_check.h"
#include "flaggems/check/call_check.h"
#include "flaggems/check/call_recorder.h"
#include "flaggems/check/call_screen.h"
#include "flaggems/check/check_session.h"
#include "flaggems/check/check_timer.h"
#include "flaggems/check/checked_op.h"
#include "flaggems/judge/judgement.h"
#include "flaggems/policy/op_traits.h"
#include "flaggems/policy/time_budget.h"
#include "flaggems/policy/worker_pool.h"
#include "flaggems/reference/reference.h"

namespace flaggems {

// For one thread at a time, in the order of the functions. The caller holds a
// CheckScope; nothing throws but for lack of memory, after which GiveUp() ends
// the call.
class CheckedCall {
 public:
  // Before the kernel runs.
  CheckedCall(std::shared_ptr<const CheckedOp> op, CheckRuntime& runtime,
              std::shared_ptr<CheckSession> session,
              std::shared_ptr<const Reference> reference, int64_t call,
              const CallTraits& traits,
              absl::Span<const c10::IValue> arguments);
  ~CheckedCall();

  // Keeps what the check needs.
  void TakeArguments(absl::Span<const c10::IValue> arguments,
                     CheckTimer& timer);

  // Whether new memory is filled with a pattern while the kernel runs.
  bool poison() const;

  // While the kernel runs on this thread, or before StartJudging(): gives back
  // what the device holds of the call, which is then not judged. See
  // PendingCheck::Shed().
  std::optional<int64_t> Shed();
  // What Shed() would give back, about.
  int64_t sheddable_bytes() const {
    return taken_.screen == nullptr ? 0 : taken_.screen->bytes();
  }

  // The kernel returned.
  void Judge(absl::Span<const c10::IValue> outputs);
  // The kernel threw.
  void JudgeException(const std::exception_ptr& exception);

  // What the caller is to get in place of what the kernel gave it; nullopt: the
  // call did not fail, or nothing is to replace it, or nothing can.
  std::optional<std::vector<c10::IValue>> Substitutes();

  // Judging threw; ends the call if it has not ended.
  void GiveUp() noexcept { recorder_.GiveUp(); }

  // ---- After Judge(): a call whose verdict comes later.

  // The device works on it still, or a thread of CheckRuntime::judges() does.
  bool is_pending() const { return pending_; }
  int64_t pending_bytes() const { return taken_.screen->bytes(); }

  bool DeviceIsDone();
  void WaitForDevice();
  // Waits for the device if it has to. What has to be judged in full goes to
  // another thread; false if that has no room for it.
  bool StartJudging(WorkerPool::WhenFull when_full);
  // In place of it: the call is not judged.
  void GiveUpJudging();
  bool is_judged() const;
  void WaitUntilJudged() const;
  // There is no room for the call among those that wait.
  void Drop();

  // Ends a pending call; waits for the device if it has to.
  void ConcludeScreened();

  TimeBudget& time_budget() const;
  // What the check cost after the call returned.
  void ChargeLater(int64_t ns);
  // Of a pending call that has ended; 0 if it is not known.
  int64_t device_ns() const {
    if (taken_.screen == nullptr || session_->device_failed()) return 0;
    return taken_.screen->DeviceNs().value_or(0);
  }

 private:
  std::unique_ptr<CallCheck> MakeCheck(
      std::shared_ptr<const Reference> reference, const CallTraits& traits);
  absl::Status Prepare(absl::Span<const c10::IValue> arguments,
                       CheckTimer& timer);
  absl::Status PrepareFromScreen();
  Judgement Unprepared() const;
  Judgement JudgementInFull(absl::Span<const c10::IValue> outputs);
  Judgement JudgeScreened();
  void SkipShed();
  void Conclude(Judgement judgement, absl::Span<const c10::IValue> outputs);
  bool EndIfDeviceFailed();
  void JudgeFor(std::promise<Judgement>& promise);

  bool on_device() const { return recorder_.on_device(); }

  const std::shared_ptr<const CheckedOp> op_owner_;
  const CheckedOp& op_;
  CheckRuntime& runtime_;
  const std::shared_ptr<CheckSession> session_;
  const int64_t max_numel_;  // of the arguments
  CallRecorder recorder_;
  std::vector<c10::IValue> arguments_;   // all, if results are substituted
  BudgetCheck* budget_check_ = nullptr;  // check_, if that is one
  std::unique_ptr<CallCheck> check_;
  CallScreen taken_;
  bool shed_ = false;  // with its screen
  // What the screen said, once it was asked.
  std::optional<absl::StatusOr<std::optional<Judgement>>> screened_;
  std::future<Judgement> in_full_;  // valid: another thread judges
  absl::Status prepared_ = absl::ResourceExhaustedError("not prepared");
  bool pending_ = false;
};

}  // namespace flaggems

#endif  // FLAGGEMS_CHECK_CHECKED_CALL_H_
