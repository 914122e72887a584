#ifndef FLAGGEMS_COMPARATOR_COMPARE_H_
#define FLAGGEMS_COMPARATOR_COMPARE_H_

// Element-wise agreement of a kernel's output with its reference. Torch-free:
// aten/array_view_of.h adapts at::Tensor.

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "flaggems/core/array_view.h"
#include "flaggems/core/verdict.h"

namespace flaggems {

// |got - want| <= atol + rtol * |want|.
struct Tolerance {
  double rtol = 1e-4;  // a ratio
  double atol = 1e-5;  // value units
};

// What one pass over two arrays found. Fixed size: a comparison allocates
// nothing.
struct Comparison {
  // kPass, kFailValue, kFailSpecial, kFailShape or kUntrusted*. With elements
  // of both kinds, special wins: its reason is the more specific one.
  Verdict verdict = Verdict::kPass;

  int64_t numel = 0;
  int64_t value_mismatches = 0;    // finite pairs beyond the tolerance
  int64_t special_mismatches = 0;  // pairs of different class or sign of Inf
  int64_t want_nans = 0;           // elements where the reference is NaN

  // See CheckRecord: over finite pairs, NaN or Inf after a special mismatch.
  double max_abs_diff = 0;
  double max_rel_diff = 0;

  // max |got - want| / (atol + rtol |want|) over finite pairs, Inf for a
  // special mismatch or where the tolerance is 0 and the error is not.
  double score = 0;

  // Row-major position of the worst element: the first special mismatch, else
  // the element with the highest score (the first of equals); -1 without
  // elements.
  int64_t worst = -1;
};

// Compare()
//
// A pair of elements agrees iff both are NaN, or they are equal (Inf of the
// same sign too), or both are finite and |got - want| <= atol + rtol * |want|.
// Special values are sorted out before the formula. Integers and bools must be
// equal and are compared in full, never through a float. Complex numbers are
// compared by modulus when all four parts are finite, else part by part. Zero
// signs do not matter.
//
// dtypes: equal, or `want` is wider of the same kind (float16 against float64,
//         complex64 against complex128): then got's dtype decides nothing.
// Shapes: must match, else kFailShape; strides may differ. Without elements:
//         kUntrustedEmpty. If every want is NaN and all agree:
//         kUntrustedAllNan.
// Cost:   O(numel), one pass, no allocation.  Thread-safe.
// Errors: kInvalidArgument  tolerance negative, NaN or Inf
//         kUnimplemented    no rule to compare this pair of dtypes
absl::StatusOr<Comparison> Compare(const ArrayView& got, const ArrayView& want,
                                   const Tolerance& tolerance);

// The element at a row-major position, in as many digits as its dtype needs
// to be told from its neighbours: "1.0000001", "nan", "-7", "(1-2j)", "True".
std::string FormatElement(const ArrayView& array, int64_t position);

}  // namespace flaggems

#endif  // FLAGGEMS_COMPARATOR_COMPARE_H_
