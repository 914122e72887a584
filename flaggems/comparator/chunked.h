#ifndef FLAGGEMS_COMPARATOR_CHUNKED_H_
#define FLAGGEMS_COMPARATOR_CHUNKED_H_

// Divides a comparison among threads.

#include <cstdint>
#include <mutex>

#include "flaggems/comparator/comparison.h"
#include "flaggems/comparator/parallel_for.h"

namespace flaggems {

inline constexpr int64_t kParallelNumel = int64_t{1} << 18;

// Merges compare_range(begin, end) over [0, numel), in pieces of fixed size
// where there are threads and kParallelNumel elements or more. No allocation.
template <typename CompareRangeFn>
PartialComparison CompareChunked(int64_t numel, ParallelFor* parallel,
                                 const CompareRangeFn& compare_range) {
  if (parallel == nullptr || numel < kParallelNumel) {
    return compare_range(int64_t{0}, numel);
  }
  // Elements of one task: enough to outweigh its start.
  static constexpr int64_t kChunk = kParallelNumel / 4;
  struct Work {
    const CompareRangeFn& compare_range;
    const int64_t numel;
    std::mutex mutex;  // std, because absl::Mutex allocates when it waits
    PartialComparison all;

    static void Task(void* context, int64_t chunk) {
      auto& self = *static_cast<Work*>(context);
      const int64_t begin = chunk * kChunk;
      const int64_t end =
          begin + kChunk < self.numel ? begin + kChunk : self.numel;
      const PartialComparison part = self.compare_range(begin, end);
      const std::lock_guard<std::mutex> lock(self.mutex);
      self.all = Merge(self.all, part);
    }
  };
  Work work{compare_range, numel, {}, {}};
  parallel->ForEach((numel + kChunk - 1) / kChunk, &Work::Task, &work);
  return work.all;
}

}  // namespace flaggems

#endif  // FLAGGEMS_COMPARATOR_CHUNKED_H_
