#ifndef FLAGGEMS_COMPARATOR_COMPARE_RANGE_H_
#define FLAGGEMS_COMPARATOR_COMPARE_RANGE_H_

// Compare() on a part of the elements, for callers that divide the work
// themselves and Merge() the parts.

#include <cstdint>

#include "absl/status/status.h"
#include "flaggems/comparator/code_path.h"
#include "flaggems/comparator/comparison.h"
#include "flaggems/comparator/tolerance.h"
#include "flaggems/core/array_view.h"

namespace flaggems {

// kInvalidArgument for a bad tolerance or a malformed view.
absl::Status ValidateArguments(const ArrayView& got, const ArrayView& want,
                               const Tolerance& tolerance);

// The same, and kUnimplemented for dtypes that no rule compares.
absl::Status ValidateCompare(const ArrayView& got, const ArrayView& want,
                             const Tolerance& tolerance);

// The positions [begin, end) of two arrays of the same shape. Requires
// ValidateCompare() OK and 0 <= begin <= end <= numel. No allocation.
PartialComparison CompareRange(const ArrayView& got, const ArrayView& want,
                               const Tolerance& tolerance, int64_t begin,
                               int64_t end, CodePath path = CodePath::kBest);

}  // namespace flaggems

#endif  // FLAGGEMS_COMPARATOR_COMPARE_RANGE_H_
