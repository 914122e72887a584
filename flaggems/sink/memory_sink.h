#ifndef FLAGGEMS_SINK_MEMORY_SINK_H_
#define FLAGGEMS_SINK_MEMORY_SINK_H_

// For tests: keeps the records.

#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "flaggems/core/check_record.h"
#include "flaggems/core/mutex.h"
#include "flaggems/sink/record_sink.h"

namespace flaggems {

class MemorySink : public RecordSink {
 public:
  absl::Status Send(const CheckRecord& record) override {
    MutexLock lock(&mutex_);
    if (!status_.ok()) return status_;
    records_.push_back(record);
    return absl::OkStatus();
  }

  absl::Status Flush() override {
    MutexLock lock(&mutex_);
    ++flushes_;
    return status_;
  }

  // What was sent, in order.
  std::vector<CheckRecord> records() const {
    MutexLock lock(&mutex_);
    return records_;
  }

  int flushes() const {
    MutexLock lock(&mutex_);
    return flushes_;
  }

  // From now on Send() and Flush() return this; Send() keeps nothing unless
  // it is OK.
  void set_status(absl::Status status) {
    MutexLock lock(&mutex_);
    status_ = std::move(status);
  }

 private:
  mutable Mutex mutex_;
  std::vector<CheckRecord> records_ ABSL_GUARDED_BY(mutex_);
  int flushes_ ABSL_GUARDED_BY(mutex_) = 0;
  absl::Status status_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace flaggems

#endif  // FLAGGEMS_SINK_MEMORY_SINK_H_
