#include "flaggems/screen/result_slots.h"

#include <cuda_runtime_api.h>

#include <cstring>
#include <utility>

#include "absl/status/statusor.h"
#include "flaggems/aten/status_of_exception.h"

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
  return slot;
}

void ResultSlots::ReturnAfter(ResultSlot* slot, c10::Event event) {
  const MutexLock lock(&mutex_);
  written_.push_back({slot, std::move(event)});
}

void ResultSlots::TakeBackWritten() {
  std::vector<Written> written;
  for (Written& one : written_) {
    const absl::StatusOr<bool> came =
        StatusOrOf([&]() -> absl::StatusOr<bool> { return one.event.query(); });
    if (came.ok() && *came) {
      free_.push_back(one.slot);
    } else if (came.ok()) {
      written.push_back(std::move(one));
    }
    // Else nobody can tell, and the slot is never used again.
  }
  written_ = std::move(written);
}

void ResultSlots::Return(ResultSlot* slot) {
  const MutexLock lock(&mutex_);
  free_.push_back(slot);
}

}  // namespace flaggems
