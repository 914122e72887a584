#ifndef FLAGGEMS_COMPARATOR_COMPARE_H_
#define FLAGGEMS_COMPARATOR_COMPARE_H_

// Element-wise agreement of a kernel's output with its reference. Torch-free:
// aten/array_view_of.h adapts at::Tensor.

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "flaggems/comparator/chunked.h"  // IWYU pragma: export
#include "flaggems/comparator/comparison.h"
#include "flaggems/comparator/parallel_for.h"
#include "flaggems/comparator/tolerance.h"
#include "flaggems/core/array_view.h"

namespace flaggems {

// Compare()
//
// A pair of elements agrees iff both are NaN, or they are equal (Inf of the
// same sign too), or both are finite and |got - want| <= atol + rtol * |want|.
// Special values are sorted out before the formula. Integers and bools must be
// equal and are compared in full, never through a float. Complex numbers are
// compared by modulus when all four parts are finite, else part by part. Zero
// signs do not matter; subnormals are numbers as others.
//
// Arithmetic: real elements are widened exactly to double, so that no rounding
//         to float32 or less decides; the difference, the limit and the ratios
//         are one double operation each per step. A difference of two finite
//         doubles that overflows is a value mismatch, whatever the tolerance; a
//         modulus that overflows counts as the largest double in the limit.
// dtypes: equal, or `want` is wider of the same kind (float16 against float64,
//         complex64 against complex128, int32 against int64; not bool): then
//         got's dtype decides nothing. float8, float16, bfloat16, float32 and
//         float64 are one kind, signed integers another, which also takes
//         unsigned ones that fit.
// Shapes: must match, else kFailShape; strides may differ. Without elements:
//         kUntrustedEmpty. If every want is NaN and all agree:
//         kUntrustedAllNan.
// Cost:   O(numel), no allocation. One pass over quiet data; 64 elements that
//         raise a maximum, disagree or are not finite are looked at twice.
//         With `parallel`, arrays of kParallelNumel elements and more are cut
//         into pieces of fixed size; the result is the same to the bit.
// Threads: thread-safe as far as `parallel` is.
// Errors: kInvalidArgument  tolerance negative, NaN or Inf; a malformed view
//         kUnimplemented    no rule to compare this pair of dtypes
absl::StatusOr<Comparison> Compare(const ArrayView& got, const ArrayView& want,
                                   const Tolerance& tolerance,
                                   ParallelFor* parallel = nullptr);

// The element at a row-major position, in as many digits as its dtype needs
// to be told from its neighbours: "1.0000001", "nan", "-7", "(1-2j)", "True".
// Quantised elements give their stored integer; an element of a dtype that is
// not known, or a position outside the array, gives "?".
std::string FormatElement(const ArrayView& array, int64_t position);

}  // namespace flaggems

#endif  // FLAGGEMS_COMPARATOR_COMPARE_H_
