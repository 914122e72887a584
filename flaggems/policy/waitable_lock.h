#ifndef FLAGGEMS_POLICY_WAITABLE_LOCK_H_
#define FLAGGEMS_POLICY_WAITABLE_LOCK_H_

#include <optional>

#include "absl/base/thread_annotations.h"
#include "flaggems/core/fork_section.h"
#include "flaggems/core/mutex.h"

namespace flaggems {

// A MutexLock that a std::condition_variable_any can open while it waits: the
// section ends then too, or fork() would wait for as long.
class ABSL_SCOPED_LOCKABLE WaitableLock {
 public:
  explicit WaitableLock(Mutex* mutex) ABSL_EXCLUSIVE_LOCK_FUNCTION(mutex)
      : mutex_(mutex) {
    lock();
  }
  WaitableLock(const WaitableLock&) = delete;
  WaitableLock& operator=(const WaitableLock&) = delete;
  ~WaitableLock() ABSL_UNLOCK_FUNCTION() { unlock(); }

  // NOLINTNEXTLINE(readability-identifier-naming): BasicLockable
  void lock() ABSL_NO_THREAD_SAFETY_ANALYSIS {
    section_.emplace();
    mutex_->Lock();
  }
  // NOLINTNEXTLINE(readability-identifier-naming): BasicLockable
  void unlock() ABSL_NO_THREAD_SAFETY_ANALYSIS {
    mutex_->Unlock();
    section_.reset();
  }

 private:
  std::optional<ForkSection> section_;
  Mutex* const mutex_;
};

}  // namespace flaggems

#endif  // FLAGGEMS_POLICY_WAITABLE_LOCK_H_
