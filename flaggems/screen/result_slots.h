#ifndef FLAGGEMS_SCREEN_RESULT_SLOTS_H_
#define FLAGGEMS_SCREEN_RESULT_SLOTS_H_

// Where screens leave what they found, in host memory that devices write.

#include <atomic>
#include <cstdint>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "flaggems/comparator/cuda/device_comparison.h"
#include "flaggems/core/mutex.h"

namespace flaggems {

inline constexpr int kMaxScreenedValues = 16;
inline constexpr int kMaxScreenedArguments = 16;

struct ResultSlot {
  FoundWords values[kMaxScreenedValues];
  int32_t changed[kMaxScreenedArguments];  // not 0: the argument was changed
  uint32_t done;  // 1: the device has written all of it

  // Whether it has; then the rest may be read.
  bool IsDone() const {
    const bool is_done = *static_cast<const volatile uint32_t*>(&done) != 0;
    std::atomic_thread_fence(std::memory_order_acquire);
    return is_done;
  }
};

// A fixed number of slots, pinned when first asked for. Thread-safe.
class ResultSlots {
 public:
  static constexpr int kCount = 2048;

  // The slots of this process; leaked on purpose, since a device may write them
  // while the process ends.
  static ResultSlots& Instance();

  // `changed` and `done` are zero. Null: all are taken, or memory cannot be
  // pinned.
  ResultSlot* Take();
  void Return(ResultSlot* slot);
  // The device will write `done`, or has failed. Does not wait: the slot is
  // free once Take() finds it done.
  void ReturnWhenDone(ResultSlot* slot);

 private:
  void TakeBackWritten() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  Mutex mutex_;
  bool tried_ ABSL_GUARDED_BY(mutex_) = false;
  std::vector<ResultSlot*> free_ ABSL_GUARDED_BY(mutex_);
  std::vector<ResultSlot*> written_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace flaggems

#endif  // FLAGGEMS_SCREEN_RESULT_SLOTS_H_
