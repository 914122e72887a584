#ifndef FLAGGEMS_CHECK_CHECK_TIMER_H_
#define FLAGGEMS_CHECK_CHECK_TIMER_H_

#include <cstdint>
#include <memory>
#include <utility>

#include "flaggems/check/check_session.h"
#include "flaggems/policy/time_budget.h"

namespace flaggems {

// What the check of one admitted call costs the calling thread, charged to the
// session's time budget at the end of its life. Reads no clock before Start(),
// or if the budget has no limit.
class CheckTimer {
 public:
  CheckTimer() = default;
  CheckTimer(const CheckTimer&) = delete;
  CheckTimer& operator=(const CheckTimer&) = delete;
  ~CheckTimer() {
    if (session_ == nullptr) return;
    Pause();
    session_->time_budget().Charge(signature_, spent_);
  }

  // The call is admitted; `signature` as TimeBudget::Admit() was told.
  void Start(std::shared_ptr<CheckSession> session, uint64_t signature) {
    if (!session->time_budget().limited()) return;
    session_ = std::move(session);
    signature_ = signature;
    Resume();
  }

  // The kernel under test runs in between.
  void Pause() {
    if (session_ == nullptr || !running_) return;
    running_ = false;
    spent_ += session_->time_budget().Now() - since_;
  }
  void Resume() {
    if (session_ == nullptr) return;
    running_ = true;
    since_ = session_->time_budget().Now();
  }

 private:
  std::shared_ptr<CheckSession> session_;
  uint64_t signature_ = 0;
  bool running_ = false;
  int64_t since_ = 0;
  int64_t spent_ = 0;
};

}  // namespace flaggems

#endif  // FLAGGEMS_CHECK_CHECK_TIMER_H_
