#include "flaggems/screen/result_slots.h"

#include <cuda_runtime_api.h>

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
    if (free_.empty()) return nullptr;
    slot = free_.back();
    free_.pop_back();
  }
  std::memset(slot->changed, 0, sizeof(slot->changed));
  return slot;
}

void ResultSlots::Return(ResultSlot* slot) {
  const MutexLock lock(&mutex_);
  free_.push_back(slot);
}

}  // namespace flaggems
