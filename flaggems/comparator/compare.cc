#include "flaggems/comparator/compare.h"

#include <mutex>

#include "flaggems/comparator/compare_range.h"
#include "flaggems/core/status_macros.h"

namespace flaggems {
namespace {

// Elements of one task: enough to outweigh its start.
constexpr int64_t kChunk = kParallelNumel / 4;

struct ParallelCompare {
  const ArrayView& got;
  const ArrayView& want;
  const Tolerance& tolerance;
  const int64_t numel;

  std::mutex mutex;  // std, because absl::Mutex allocates when it waits
  PartialComparison all;

  static void Task(void* context, int64_t chunk) {
    auto& self = *static_cast<ParallelCompare*>(context);
    const int64_t begin = chunk * kChunk;
    const int64_t end =
        begin + kChunk < self.numel ? begin + kChunk : self.numel;
    const PartialComparison part =
        CompareRange(self.got, self.want, self.tolerance, begin, end);
    const std::lock_guard<std::mutex> lock(self.mutex);
    self.all = Merge(self.all, part);
  }
};

}  // namespace

absl::StatusOr<Comparison> Compare(const ArrayView& got, const ArrayView& want,
                                   const Tolerance& tolerance,
                                   ParallelFor* parallel) {
  if (got.sizes != want.sizes) {
    FG_RETURN_IF_ERROR(ValidateArguments(got, want, tolerance));
    return ShapeMismatch(want.numel());
  }
  FG_RETURN_IF_ERROR(ValidateCompare(got, want, tolerance));
  const int64_t numel = want.numel();
  if (parallel == nullptr || numel < kParallelNumel) {
    return Finish(CompareRange(got, want, tolerance, 0, numel));
  }
  ParallelCompare work{got, want, tolerance, numel, {}, {}};
  parallel->ForEach((numel + kChunk - 1) / kChunk, &ParallelCompare::Task,
                    &work);
  return Finish(work.all);
}

}  // namespace flaggems
