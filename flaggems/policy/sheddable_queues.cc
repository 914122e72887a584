#include "flaggems/policy/sheddable_queues.h"

#include <pthread.h>

#include <algorithm>
#include <atomic>
#include <thread>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "flaggems/core/mutex.h"

namespace flaggems {
namespace {

struct Queues {
  Mutex mutex;
  std::vector<PendingQueue*> all ABSL_GUARDED_BY(mutex);
};

Queues& TheQueues() {
  static Queues& queues = *new Queues();  // leaked: torch may end later
  return queues;
}

std::vector<PendingQueue*> AllQueues() {
  Queues& queues = TheQueues();
  const MutexLock lock(&queues.mutex);
  return queues.all;
}

// No lock: to free the memory of one device takes its allocator's lock, and a
// thread that holds that of another one would wait for the first here.
std::atomic<bool> shedding{false};
[[maybe_unused]] const int forget_parent =
    pthread_atfork(nullptr, nullptr, [] { shedding.store(false); });

thread_local RunningCheck* innermost = nullptr;

}  // namespace

RunningCheck::RunningCheck() : outer_(innermost) { innermost = this; }

RunningCheck::~RunningCheck() { innermost = outer_; }

// Of this thread.
struct RunningChecks {
  template <typename Visit>
  static void ForEach(Visit&& visit) {
    for (RunningCheck* check = innermost; check != nullptr;
         check = check->outer_) {
      visit(*check);
    }
  }
};

SheddableQueue::SheddableQueue(PendingQueue* queue) : queue_(queue) {
  Queues& queues = TheQueues();
  const MutexLock lock(&queues.mutex);
  queues.all.push_back(queue_);
}

SheddableQueue::~SheddableQueue() {
  {
    Queues& queues = TheQueues();
    const MutexLock lock(&queues.mutex);
    queues.all.erase(std::find(queues.all.begin(), queues.all.end(), queue_));
  }
  while (shedding.load(std::memory_order_acquire)) std::this_thread::yield();
}

PendingMemory MemoryOfPendingChecks() {
  // Under the lock, so that none ends meanwhile.
  Queues& queues = TheQueues();
  const MutexLock lock(&queues.mutex);
  PendingMemory memory;
  for (const PendingQueue* queue : queues.all) {
    memory.checks += queue->pending();
    memory.bytes += queue->bytes();
  }
  RunningChecks::ForEach([&](const RunningCheck& check) {
    ++memory.checks;
    memory.bytes += check.bytes();
  });
  return memory;
}

int64_t ShedPendingChecks() {
  if (shedding.exchange(true, std::memory_order_acq_rel)) return 0;
  int64_t shed = 0;
  for (PendingQueue* queue : AllQueues()) shed += queue->Shed();
  RunningChecks::ForEach([&](RunningCheck& check) {
    if (check.Shed()) ++shed;
  });
  shedding.store(false, std::memory_order_release);
  return shed;
}

}  // namespace flaggems
