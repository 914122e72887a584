#ifndef FLAGGEMS_POLICY_SHEDDABLE_QUEUES_H_
#define FLAGGEMS_POLICY_SHEDDABLE_QUEUES_H_

// The queues of this process whose checks may give their memory back, for
// whoever finds that a device has run short of it.

#include <cstdint>

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

// All checks that wait in them, and the memory that they hold. Thread-safe.
struct PendingMemory {
  int64_t checks = 0;
  int64_t bytes = 0;
};
PendingMemory MemoryOfPendingChecks();

// PendingQueue::Shed() of each; returns how many checks gave memory back. Does
// not wait: none while another thread is doing it. May be called with the lock
// of a device's allocator held.
int64_t ShedPendingChecks();

}  // namespace flaggems

#endif  // FLAGGEMS_POLICY_SHEDDABLE_QUEUES_H_
