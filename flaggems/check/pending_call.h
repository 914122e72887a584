#ifndef FLAGGEMS_CHECK_PENDING_CALL_H_
#define FLAGGEMS_CHECK_PENDING_CALL_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <utility>

#include "flaggems/check/checked_call.h"
#include "flaggems/policy/pending_queue.h"
#include "flaggems/policy/worker_pool.h"

namespace flaggems {

// A call whose verdict comes later, in CheckRuntime::pending().
class PendingCall final : public PendingCheck {
 public:
  explicit PendingCall(std::shared_ptr<CheckedCall> call)
      : call_(std::move(call)) {}

  bool Start(WhenBusy when_busy) override;
  bool Ready() override { return failed_ || call_->is_judged(); }
  void WaitForDevice() override;
  void Wait() override;
  std::optional<int64_t> Shed() override;
  void Conclude() override;
  void Drop() override;
  int64_t bytes() const override { return call_->pending_bytes(); }

 private:
  template <typename Part>
  bool Timed(Part&& part);
  bool Begin(WorkerPool::WhenFull when_full);

  const std::shared_ptr<CheckedCall> call_;
  bool started_ = false;
  bool failed_ = false;  // for want of memory
  int64_t spent_ns_ = 0;
};

}  // namespace flaggems

#endif  // FLAGGEMS_CHECK_PENDING_CALL_H_
