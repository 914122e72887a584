#ifndef FLAGGEMS_CORE_MUTEX_H_
#define FLAGGEMS_CORE_MUTEX_H_

// std::mutex with abseil's thread annotations, free in the child of a fork().
// Not absl::Mutex: the system's abseil is built without ThreadSanitizer, which
// then cannot see its locks and reports a race at every guarded member; it sees
// those of std::mutex.

#include <mutex>

#include "absl/base/thread_annotations.h"
#include "flaggems/core/fork_section.h"

namespace flaggems {

class ABSL_LOCKABLE Mutex {
 public:
  void Lock() ABSL_EXCLUSIVE_LOCK_FUNCTION() { mutex_.lock(); }
  void Unlock() ABSL_UNLOCK_FUNCTION() { mutex_.unlock(); }

 private:
  std::mutex mutex_;
};

class ABSL_SCOPED_LOCKABLE MutexLock {
 public:
  explicit MutexLock(Mutex* mutex) ABSL_EXCLUSIVE_LOCK_FUNCTION(mutex)
      : mutex_(mutex) {
    mutex_->Lock();
  }
  MutexLock(const MutexLock&) = delete;
  MutexLock& operator=(const MutexLock&) = delete;
  ~MutexLock() ABSL_UNLOCK_FUNCTION() { mutex_->Unlock(); }

 private:
  const ForkSection section_;
  Mutex* const mutex_;
};

}  // namespace flaggems

#endif  // FLAGGEMS_CORE_MUTEX_H_
