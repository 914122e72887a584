#ifndef FLAGGEMS_POLICY_PENDING_QUEUE_H_
#define FLAGGEMS_POLICY_PENDING_QUEUE_H_

// Checks whose verdict is not known yet, because a device, or another thread,
// still works on them.

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <thread>

#include "absl/base/thread_annotations.h"
#include "flaggems/core/mutex.h"

namespace flaggems {

// One check that is under way. Only one thread at a time calls it, without a
// lock of the queue; nothing here may throw. Destroying it frees what it holds.
class PendingCheck {
 public:
  virtual ~PendingCheck() = default;

  // Whether Conclude() can go on without waiting. Cheap, and does not wait
  // itself.
  virtual bool Ready() = 0;

  // Returns when it is ready, whether it was started or not.
  virtual void Wait() = 0;

  // What becomes of work for other threads that have too much of it.
  enum class WhenBusy { kGiveUp, kKeep };

  // Hands over to another thread what is to be done there once the device is
  // done. False: not yet, ask again; after true it is not asked again. Does not
  // wait. To give up is to have a verdict, that the call was not judged.
  virtual bool Start(WhenBusy /*when_busy*/) { return true; }

  // Returns when Start() would be true, or did so already.
  virtual void WaitForDevice() { Wait(); }

  // Gives memory back for which the program has run short: that of a device,
  // without waiting for the device or another thread, nor for a lock but those
  // of allocators. What is then left to Conclude(), which need not be waited
  // for any more, is to count that the call was not judged. Returns how much of
  // bytes() that was; nullopt: nothing was to be had, and the check goes on.
  // Not after Start() was true.
  virtual std::optional<int64_t> Shed() { return std::nullopt; }

  // In place of all others, before it is destroyed: there is no room in the
  // queue. Counts it.
  virtual void Drop() {}

  // Judges, counts and logs; called once, when it is ready. May take long, and
  // may call the queue.
  virtual void Conclude() = 0;

  // Memory held until it is destroyed. Asked once, by Add().
  virtual int64_t bytes() const = 0;
};

// First in, first out: checks are started and concluded one at a time, strictly
// in the order of Add(), by whichever thread calls; several may be started
// before the first is concluded. The queue has no thread of its own.
//
// A check stays in the queue, and counts against the limits, until it has been
// concluded and destroyed; what it sheds counts no more. From inside
// Conclude(), on its thread, Poll() and Drain() return at once and Add()
// appends whatever the limits say.
//
// Thread-safe. Drain(), and Add() at a limit, wait for the thread that
// concludes: do not call them with a lock held that Conclude() takes (Python's
// interpreter lock among them).
// Cost: Poll() on an empty queue is one atomic load; else some 100 ns and what
// the checks cost.
class PendingQueue {
 public:
  struct Limits {
    int64_t max_pending = 64;  // checks; at least 1
    int64_t max_bytes = 0;     // of PendingCheck::bytes(); 0: no limit
  };

  explicit PendingQueue(Limits limits);
  PendingQueue(const PendingQueue&) = delete;
  PendingQueue& operator=(const PendingQueue&) = delete;
  // Destroys what is left without concluding it.
  ~PendingQueue();

  // From now on; what is in the queue stays. 0: no limit.
  void SetMaxBytes(int64_t max_bytes) ABSL_LOCKS_EXCLUDED(mutex_);

  // Appends a check. If a limit would be passed, waits for and concludes the
  // oldest ones first, until there is room or the queue is empty: one check
  // that is larger than max_bytes stands alone in it. Drops the check instead
  // where it would have to wait for another thread's work on the oldest.
  void Add(std::unique_ptr<PendingCheck> check) ABSL_LOCKS_EXCLUDED(mutex_);

  // Starts those whose device is done, and concludes those at the front that
  // are ready. Never waits: if another thread
  // concludes, that one goes on with what is ready after it.
  void Poll() ABSL_LOCKS_EXCLUDED(mutex_);

  // Waits for and concludes everything that was added before the call.
  void Drain() ABSL_LOCKS_EXCLUDED(mutex_);

  // Has the checks that are not started yet give their memory back; they keep
  // their places, and are concluded in their turn. Returns how many did. Does
  // not wait: if another thread concludes, or this one does, none. May be
  // called with the lock of a device's allocator held.
  int64_t Shed() ABSL_LOCKS_EXCLUDED(mutex_);

  // Only in the child of a fork(), where the device and the thread that may
  // have been concluding are the parent's: forgets all checks without a call to
  // them. They leak, because to free device memory is to touch the device.
  void Discard() ABSL_LOCKS_EXCLUDED(mutex_);

  // Those that are not concluded yet, and the memory that they hold.
  int64_t pending() const ABSL_LOCKS_EXCLUDED(mutex_);
  int64_t bytes() const ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  struct Item {
    std::unique_ptr<PendingCheck> check;
    int64_t bytes;  // that it still holds
  };

  // Makes this thread the one that concludes and returns the oldest check; only
  // if there is one and no thread concludes.
  PendingCheck* Begin() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // The opposite, without (`concluded` false) or with the end of that check.
  void End(bool concluded) ABSL_LOCKS_EXCLUDED(mutex_);

  // Only for the thread that concludes: starts what can be, from the oldest on.
  // Whether the oldest is.
  bool StartAll(PendingCheck::WhenBusy when_busy) ABSL_LOCKS_EXCLUDED(mutex_);

  bool HasRoomFor(int64_t bytes) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Append(std::unique_ptr<PendingCheck> check, int64_t bytes)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  Limits limits_ ABSL_GUARDED_BY(mutex_);
  std::atomic<int64_t> pending_{0};  // items_.size(), to read without the lock

  mutable Mutex mutex_;
  std::deque<Item> items_ ABSL_GUARDED_BY(mutex_);
  int64_t bytes_ ABSL_GUARDED_BY(mutex_) = 0;
  size_t started_ ABSL_GUARDED_BY(mutex_) = 0;      // of items_, from the front
  uint64_t added_ ABSL_GUARDED_BY(mutex_) = 0;      // ever
  uint64_t concluded_ ABSL_GUARDED_BY(mutex_) = 0;  // ever
  // The thread that concludes, and owns the front of items_; none: no_thread.
  std::thread::id concluder_ ABSL_GUARDED_BY(mutex_);
  // Told when a thread ends to conclude; on the heap, see Discard().
  std::unique_ptr<std::condition_variable_any> ended_ ABSL_GUARDED_BY(mutex_);
  int waiting_ ABSL_GUARDED_BY(mutex_) = 0;  // threads, for ended_
};

}  // namespace flaggems

#endif  // FLAGGEMS_POLICY_PENDING_QUEUE_H_
