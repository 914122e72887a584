#ifndef FLAGGEMS_POLICY_WORKER_POOL_H_
#define FLAGGEMS_POLICY_WORKER_POOL_H_

// A few threads for what must not keep the program's own waiting.

#include <sys/types.h>

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <thread>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "flaggems/core/mutex.h"

namespace flaggems {

// Runs tasks in the order of Submit(), as many at a time as it has threads.
// They are started when tasks first need them, and have all signals blocked but
// those that a thread causes itself: handlers are the program's.
//
// fork() waits for the tasks that run, up to a second. In its child there are
// no threads: tasks that wait or run are the parent's and are leaked, as they
// may hold memory of a device, and Submit() runs its task itself. So it does
// where the system gives it no thread at all.
//
// Thread-safe. A task may submit others, and does not throw.
class WorkerPool {
 public:
  using Task = std::function<void()>;

  struct Limits {
    int threads = 1;       // at least 1
    int64_t backlog = 64;  // tasks that wait for a thread; at least 1
  };
  enum class WhenFull { kRefuse, kWait };

  explicit WorkerPool(Limits limits);
  WorkerPool(const WorkerPool&) = delete;
  WorkerPool& operator=(const WorkerPool&) = delete;
  ~WorkerPool() { Stop(); }

  // False, and the task is destroyed: the backlog is full (kRefuse), or the
  // pool was stopped. Costs some 100 ns, and a thread the first times.
  bool Submit(Task task, WhenFull when_full = WhenFull::kRefuse)
      ABSL_LOCKS_EXCLUDED(mutex_);

  // Destroys the tasks that wait, waits for those that run, and ends the
  // threads. Not from inside a task.
  void Stop() ABSL_LOCKS_EXCLUDED(mutex_);

  int64_t max_backlog() const { return limits_.backlog; }
  // Tasks that wait for a thread.
  int64_t backlog() const ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  // What a child cannot use, and not even destroy.
  struct Threads {
    std::vector<std::thread> threads;
    std::deque<Task> tasks;
    std::condition_variable_any work;  // told of a task, and of the end
    std::condition_variable_any room;  // told when a task was taken
  };

  void ForgetParent() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void StartThread() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Work(Threads* threads) ABSL_LOCKS_EXCLUDED(mutex_);

  const Limits limits_;
  mutable Mutex mutex_;
  std::unique_ptr<Threads> threads_ ABSL_GUARDED_BY(mutex_);
  pid_t owner_ ABSL_GUARDED_BY(mutex_);   // the process that threads_ is of
  int idle_ ABSL_GUARDED_BY(mutex_) = 0;  // threads
  bool alone_ ABSL_GUARDED_BY(mutex_) = false;  // the parent had threads
  bool stopped_ ABSL_GUARDED_BY(mutex_) = false;
};

}  // namespace flaggems

#endif  // FLAGGEMS_POLICY_WORKER_POOL_H_
