#include "flaggems/comparator/compare.h"

#include "flaggems/comparator/chunked.h"
#include "flaggems/comparator/compare_range.h"
#include "flaggems/core/status_macros.h"

namespace flaggems {

absl::StatusOr<Comparison> Compare(const ArrayView& got, const ArrayView& want,
                                   const Tolerance& tolerance,
                                   ParallelFor* parallel) {
  if (got.sizes != want.sizes) {
    FG_RETURN_IF_ERROR(ValidateArguments(got, want, tolerance));
    return ShapeMismatch(want.numel());
  }
  FG_RETURN_IF_ERROR(ValidateCompare(got, want, tolerance));
  return Finish(
      CompareChunked(want.numel(), parallel, [&](int64_t begin, int64_t end) {
        return CompareRange(got, want, tolerance, begin, end);
      }));
}

}  // namespace flaggems
