#include "flaggems/policy/pending_queue.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "flaggems/policy/waitable_lock.h"

namespace flaggems {

PendingQueue::PendingQueue(Limits limits)
    : limits_{std::max<int64_t>(1, limits.max_pending), limits.max_bytes},
      ended_(std::make_unique<std::condition_variable_any>()) {}

PendingQueue::~PendingQueue() = default;

PendingCheck* PendingQueue::Begin() {
  if (items_.empty() || concluder_ != std::thread::id()) return nullptr;
  concluder_ = std::this_thread::get_id();
  return items_.front().check.get();
}

void PendingQueue::End(bool concluded) {
  std::unique_ptr<PendingCheck> check;
  {
    const MutexLock lock(&mutex_);
    // Not if a fork() inside Conclude() made this the child.
    if (concluder_ != std::this_thread::get_id()) return;
    if (concluded) check = std::move(items_.front().check);
  }
  // Freed before its bytes are, outside the lock; it may take long as well.
  check.reset();
  const MutexLock lock(&mutex_);
  if (concluder_ != std::this_thread::get_id()) return;
  if (concluded) {
    bytes_ -= items_.front().bytes;
    items_.pop_front();
    if (started_ > 0) --started_;
    pending_.fetch_sub(1, std::memory_order_relaxed);
    ++concluded_;
  }
  concluder_ = std::thread::id();
  if (waiting_ > 0) ended_->notify_all();
}

bool PendingQueue::StartAll(PendingCheck::WhenBusy when_busy) {
  PendingCheck* next = nullptr;
  for (;;) {
    const bool started = next != nullptr && next->Start(when_busy);
    const MutexLock lock(&mutex_);
    // Not if a fork() inside Start() made this the child.
    if (concluder_ != std::this_thread::get_id()) return false;
    if (started) ++started_;
    if ((next != nullptr && !started) || started_ == items_.size()) {
      return started_ > 0;
    }
    next = items_[started_].check.get();
  }
}

bool PendingQueue::HasRoomFor(int64_t bytes) const {
  if (items_.empty()) return true;
  return static_cast<int64_t>(items_.size()) < limits_.max_pending &&
         (limits_.max_bytes <= 0 || bytes <= limits_.max_bytes - bytes_);
}

void PendingQueue::Append(std::unique_ptr<PendingCheck> check, int64_t bytes) {
  items_.push_back({std::move(check), bytes});
  bytes_ += bytes;
  pending_.fetch_add(1, std::memory_order_relaxed);
  ++added_;
}

void PendingQueue::SetMaxBytes(int64_t max_bytes) {
  const MutexLock lock(&mutex_);
  limits_.max_bytes = max_bytes;
}

void PendingQueue::Add(std::unique_ptr<PendingCheck> check) {
  const int64_t bytes = check->bytes();
  for (;;) {
    PendingCheck* oldest;
    {
      WaitableLock lock(&mutex_);
      for (;;) {
        if (HasRoomFor(bytes) || concluder_ == std::this_thread::get_id()) {
          Append(std::move(check), bytes);
          return;
        }
        if ((oldest = Begin()) != nullptr) break;
        ++waiting_;
        ended_->wait(lock);
        --waiting_;
      }
    }
    oldest->WaitForDevice();
    const bool ready =
        StartAll(PendingCheck::WhenBusy::kGiveUp) && oldest->Ready();
    if (ready) oldest->Conclude();
    End(/*concluded=*/ready);
    if (!ready) {
      check->Drop();
      return;
    }
  }
}

void PendingQueue::Poll() {
  while (pending_.load(std::memory_order_relaxed) > 0) {
    PendingCheck* oldest;
    {
      const MutexLock lock(&mutex_);
      oldest = Begin();
    }
    if (oldest == nullptr) return;
    const bool ready =
        StartAll(PendingCheck::WhenBusy::kGiveUp) && oldest->Ready();
    if (ready) oldest->Conclude();
    End(/*concluded=*/ready);
    if (!ready) return;
  }
}

void PendingQueue::Drain() {
  std::optional<uint64_t> last;
  for (;;) {
    PendingCheck* oldest;
    {
      WaitableLock lock(&mutex_);
      if (!last) last = added_;
      for (;;) {
        if (concluded_ >= *last || concluder_ == std::this_thread::get_id()) {
          return;
        }
        if ((oldest = Begin()) != nullptr) break;
        ++waiting_;
        ended_->wait(lock);
        --waiting_;
      }
    }
    StartAll(PendingCheck::WhenBusy::kKeep);
    oldest->Wait();
    oldest->Conclude();
    End(/*concluded=*/true);
  }
}

int64_t PendingQueue::Shed() {
  if (pending_.load(std::memory_order_relaxed) == 0) return 0;
  size_t next;
  {
    const MutexLock lock(&mutex_);
    if (Begin() == nullptr) return 0;
    next = started_;
  }
  int64_t shed = 0;
  for (;; ++next) {
    Item* item = nullptr;
    {
      const MutexLock lock(&mutex_);
      if (next == items_.size()) break;
      // It stays where it is: others only append.
      item = &items_[next];
    }
    const std::optional<int64_t> freed = item->check->Shed();
    if (!freed) continue;
    ++shed;
    const MutexLock lock(&mutex_);
    item->bytes -= *freed;
    bytes_ -= *freed;
  }
  End(/*concluded=*/false);
  return shed;
}

void PendingQueue::Discard() {
  const MutexLock lock(&mutex_);
  for (Item& item : items_) item.check.release();
  items_.clear();
  started_ = 0;
  bytes_ = 0;
  pending_.store(0, std::memory_order_relaxed);
  concluded_ = added_;
  concluder_ = std::thread::id();
  // Leaked: those who wait in it are threads of the parent, and one of them may
  // hold its inner lock.
  ended_.release();
  ended_ = std::make_unique<std::condition_variable_any>();
  waiting_ = 0;
}

int64_t PendingQueue::pending() const {
  const MutexLock lock(&mutex_);
  return static_cast<int64_t>(items_.size());
}

int64_t PendingQueue::bytes() const {
  const MutexLock lock(&mutex_);
  return bytes_;
}

}  // namespace flaggems
