#ifndef FLAGGEMS_COMPARATOR_COMPARE_BUDGET_H_
#define FLAGGEMS_COMPARATOR_COMPARE_BUDGET_H_

// Compare() with a budget in place of a tolerance.

#include <cstdint>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "flaggems/comparator/budget.h"
#include "flaggems/comparator/code_path.h"
#include "flaggems/comparator/comparison.h"
#include "flaggems/comparator/parallel_for.h"
#include "flaggems/core/array_view.h"

namespace flaggems {

// CompareBudget()
//
// As Compare() (compare.h): shapes, classes of special values, statistics,
// verdicts, cost, threads, and the same result to the bit however the work is
// divided. What differs:
//
// Limit:  the budget's. `score` is the largest error / limit, 0 for an error of
//         0; an error is accepted up to 1. Complex numbers are judged by
//         modulus, with the spacing at |want|; where one part is a special
//         value in both, the other part alone, with the spacing there.
// Overflow: an infinite got agrees with a finite want of the same sign that, or
//         a neighbour of which within the second term of the budget, rounds to
//         Inf in got's dtype. In the float8 types without Inf, NaN takes its
//         place (a kernel that saturates instead is judged by value).
// dtypes: got is a real floating type and want float64, or got is complex and
//         want complex128. Integers and bools have no budget: Compare() is
//         exact for them.
// Errors: kInvalidArgument  a member of the budget that is negative, NaN or
//                           infinite; a malformed view; conditions of another
//                           dtype or shape, or not contiguous
//         kUnimplemented    other dtypes
absl::StatusOr<Comparison> CompareBudget(const ArrayView& got,
                                         const ArrayView& want,
                                         const Budget& budget,
                                         ParallelFor* parallel = nullptr);

// What CompareBudget() returns errors for, but for the dtypes.
absl::Status ValidateBudget(const ArrayView& got, const ArrayView& want,
                            const Budget& budget);

// The positions [begin, end). Requires arrays and a budget that CompareBudget()
// compares, of the same shape, and 0 <= begin <= end <= numel.
PartialComparison CompareBudgetRange(const ArrayView& got,
                                     const ArrayView& want,
                                     const Budget& budget, int64_t begin,
                                     int64_t end,
                                     CodePath path = CodePath::kBest);

}  // namespace flaggems

#endif  // FLAGGEMS_COMPARATOR_COMPARE_BUDGET_H_
