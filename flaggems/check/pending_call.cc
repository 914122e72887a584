#include "flaggems/check/pending_call.h"

#include "flaggems/check/guarded.h"
#include "flaggems/policy/time_budget.h"

namespace flaggems {

bool PendingCall::Start(WhenBusy when_busy) {
  if (started_) return true;  // was shed
  if (!call_->DeviceIsDone()) return false;
  const bool started = Begin(WorkerPool::WhenFull::kRefuse);
  if (started || when_busy == WhenBusy::kKeep) return started;
  failed_ = !Guarded([&] { call_->GiveUpJudging(); });
  return started_ = true;
}

void PendingCall::WaitForDevice() {
  // What fails here fails in Begin() again.
  if (!started_) Guarded([&] { call_->WaitForDevice(); });
}

void PendingCall::Wait() {
  if (!started_) Begin(WorkerPool::WhenFull::kWait);
  if (!failed_) call_->WaitUntilJudged();
}

std::optional<int64_t> PendingCall::Shed() {
  const std::optional<int64_t> freed = call_->Shed();
  started_ = started_ || freed.has_value();
  return freed;
}

void PendingCall::Conclude() {
  int64_t device_ns = 0;
  if (failed_ || !Timed([&] {
        call_->ConcludeScreened();
        device_ns = call_->device_ns();
      })) {
    call_->GiveUp();
  }
  call_->ChargeLater(spent_ns_ + device_ns);
}

void PendingCall::Drop() {
  if (!Guarded([&] { call_->Drop(); })) call_->GiveUp();
}

// As Guarded(); it is part of what the check costs after the call.
template <typename Part>
bool PendingCall::Timed(Part&& part) {
  const bool timed = call_->time_budget().limited();
  const int64_t begun = timed ? call_->time_budget().Now() : 0;
  const bool done = Guarded(part);
  if (timed) spent_ns_ += call_->time_budget().Now() - begun;
  return done;
}

// False: no thread has room for it.
bool PendingCall::Begin(WorkerPool::WhenFull when_full) {
  failed_ = !Timed([&] { started_ = call_->StartJudging(when_full); });
  return started_ = started_ || failed_;
}

}  // namespace flaggems
