#ifndef FLAGGEMS_SCREEN_RESULT_SLOTS_H_
#define FLAGGEMS_SCREEN_RESULT_SLOTS_H_

// Where screens leave what they found, in host memory that devices write.

#include <c10/core/Event.h>

#include <cstdint>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "flaggems/comparator/cuda/device_comparison.h"
#include "flaggems/core/mutex.h"

namespace flaggems {

inline constexpr int kMaxScreenedValues = 16;
inline constexpr int kMaxScreenedArguments = 16;

struct ResultSlot {
  DeviceComparison values[kMaxScreenedValues];
  int32_t changed[kMaxScreenedArguments];  // not 0: the argument was changed
};

// A fixed number of slots, pinned when first asked for. Thread-safe.
class ResultSlots {
 public:
  static constexpr int kCount = 2048;

  // The slots of this process; leaked on purpose, since a device may write them
  // while the process ends.
  static ResultSlots& Instance();

  // `changed` is zero. Null: all are taken, or memory cannot be pinned.
  ResultSlot* Take();
  void Return(ResultSlot* slot);
  // The device writes it until `event` comes, which has been recorded. Does not
  // wait: the slot is free once Take() finds that it came.
  void ReturnAfter(ResultSlot* slot, c10::Event event);

 private:
  struct Written {
    ResultSlot* slot;
    c10::Event event;
  };

  void TakeBackWritten() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  Mutex mutex_;
  bool tried_ ABSL_GUARDED_BY(mutex_) = false;
  std::vector<ResultSlot*> free_ ABSL_GUARDED_BY(mutex_);
  std::vector<Written> written_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace flaggems

#endif  // FLAGGEMS_SCREEN_RESULT_SLOTS_H_
