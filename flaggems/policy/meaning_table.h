#ifndef FLAGGEMS_POLICY_MEANING_TABLE_H_
#define FLAGGEMS_POLICY_MEANING_TABLE_H_

// Operators that have several right results: what makes a result right although
// it is not the reference's.

#include <cstdint>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "flaggems/core/op_key.h"

namespace flaggems {

enum class Meaning : uint8_t {
  kNone,
  // Values as the reference's; an index may be any at which the input has the
  // value.
  kIndexOfValue,
  // No values: the input at the index is what the input at the reference's
  // index is.
  kIndexOfExtreme,
  // As kIndexOfValue, and in each row every index at most once.
  kPermutation,
  // As kPermutation where the order of results is free: values as a multiset.
  kSelection,
  // As kIndexOfValue, indices of the flattened last dimensions.
  kIndexInPlane,
  // As often in its row as the reference's value; the index points at it.
  kMostFrequent,
  // A cell that several sources write may hold any of them.
  kAnyWinner,
  // Values as a set; inverse and counts fit them.
  kDistinct,
  // A V = V diag(w), V orthonormal; w by budget.
  kEigen,
  // As kEigen of general matrices: V of columns of length 1, order free; the
  // sums of w and w^2 are the traces of A and A^2.
  kGeneralEigen,
  // Eigenvalues as a multiset.
  kUnordered,
  // U diag(S) Vh = A, U and V orthonormal; S by budget.
  kSingular,
  // Q R = A, Q orthonormal, R upper triangular.
  kOrthogonalTriangular,
};

struct MeaningRow {
  absl::string_view pattern;  // "topk", or with an overload "sort.stable"
  Meaning meaning;
  absl::string_view why;
};

absl::Span<const MeaningRow> MeaningRows();

// kNone for an operator that has one right result. In-place and out forms are
// as their functional form.
Meaning MeaningOf(const OpKey& op);

}  // namespace flaggems

#endif  // FLAGGEMS_POLICY_MEANING_TABLE_H_
