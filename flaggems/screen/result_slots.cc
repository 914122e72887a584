#include "flaggems/screen/result_slots.h"

#include <cuda_runtime_api.h>

#include <algorithm>
#include <cstring>

namespace flaggems {

ResultSlots& ResultSlots::Instance() {
  static ResultSlots& instance = *new ResultSlots();
  return instance;
}

ResultSlot* ResultSlots::Take() {
  ResultSlot* slot = nullptr;
  {
    const MutexLock lock(&mutex_);
    if (!tried_) {
      tried_ = true;
      void* memory = nullptr;
      if (cudaHostAlloc(&memory, kCount * sizeof(ResultSlot),
                        cudaHostAllocPortable | cudaHostAllocMapped) ==
          cudaSuccess) {
        for (int i = 0; i < kCount; ++i) {
          free_.push_back(static_cast<ResultSlot*>(memory) + i);
        }
      }
    }
    if (!written_.empty()) TakeBackWritten();
    if (free_.empty()) return nullptr;
    slot = free_.back();
    free_.pop_back();
  }
  std::memset(slot->changed, 0, sizeof(slot->changed));
  slot->done = 0;
  return slot;
}

void ResultSlots::ReturnWhenDone(ResultSlot* slot) {
  const MutexLock lock(&mutex_);
  written_.push_back(slot);
}

void ResultSlots::TakeBackWritten() {
  const auto done =
      std::partition(written_.begin(), written_.end(),
                     [](const ResultSlot* slot) { return !slot->IsDone(); });
  free_.insert(free_.end(), done, written_.end());
  written_.erase(done, written_.end());
}

void ResultSlots::Return(ResultSlot* slot) {
  const MutexLock lock(&mutex_);
  free_.push_back(slot);
}

}  // namespace flaggems
