#ifndef FLAGGEMS_POLICY_SHEDDABLE_QUEUES_H_
#define FLAGGEMS_POLICY_SHEDDABLE_QUEUES_H_

// The checks of this process that may give their memory back, for whoever finds
// that a device has run short of it: those of queues, and that of the call
// which a thread is in.

#include <cstdint>
#include <optional>

#include "flaggems/policy/pending_queue.h"

namespace flaggems {

// A queue is one of them while its SheddableQueue lives, which it outlives.
class SheddableQueue {
 public:
  explicit SheddableQueue(PendingQueue* queue);
  SheddableQueue(const SheddableQueue&) = delete;
  SheddableQueue& operator=(const SheddableQueue&) = delete;
  // Waits for the end of a ShedPendingChecks() of another thread.
  ~SheddableQueue();

 private:
  PendingQueue* const queue_;
};

// The check of a call whose kernel this thread runs, while it lives. They nest.
class RunningCheck {
 public:
  RunningCheck(const RunningCheck&) = delete;
  RunningCheck& operator=(const RunningCheck&) = delete;

  // As of PendingCheck. After it was shed there is nothing to shed.
  virtual std::optional<int64_t> Shed() = 0;
  virtual int64_t bytes() const = 0;

 protected:
  RunningCheck();
  ~RunningCheck();

 private:
  friend struct RunningChecks;
  RunningCheck* const outer_;
};

// All checks that wait in queues or run on this thread, and the memory that
// they hold. Thread-safe.
struct PendingMemory {
  int64_t checks = 0;
  int64_t bytes = 0;
};
PendingMemory MemoryOfPendingChecks();

// Shed() of each queue, and of the checks that run on this thread; returns how
// many checks gave memory back. Does not wait: none while another thread is
// doing it. May be called with the lock of a device's allocator held.
int64_t ShedPendingChecks();

}  // namespace flaggems

#endif  // FLAGGEMS_POLICY_SHEDDABLE_QUEUES_H_
