#include "flaggems/check/check_session.h"

namespace flaggems {

void CheckSession::Log(const CheckRecord& record) {
  const absl::Status status = sink_->Send(record);
  if (status.ok()) return;
  write_errors_.fetch_add(1, std::memory_order_relaxed);
  const MutexLock lock(&mutex_);
  if (first_write_error_.empty()) {
    first_write_error_ = std::string(status.message());
  }
}

void CheckSession::NoteError(const OpKey& op, const std::string& message) {
  const MutexLock lock(&mutex_);
  first_errors_.emplace(op.ShortName(), message);
}

bool CheckSession::NoteDeviceFailure(const OpKey& op,
                                     const std::string& message) {
  if (device_failed_.exchange(true, std::memory_order_acq_rel)) return false;
  const MutexLock lock(&mutex_);
  first_errors_[op.ShortName()] = message;
  return true;
}

void CheckSession::NoteUnchecked(const OpKey& op, const std::string& why) {
  const MutexLock lock(&mutex_);
  unchecked_.emplace(op.ShortName(), why);
}

std::map<std::string, std::string> CheckSession::unchecked() const {
  const MutexLock lock(&mutex_);
  return unchecked_;
}

std::string CheckSession::first_write_error() const {
  const MutexLock lock(&mutex_);
  return first_write_error_;
}

std::map<std::string, std::string> CheckSession::first_errors() const {
  const MutexLock lock(&mutex_);
  return first_errors_;
}

}  // namespace flaggems
