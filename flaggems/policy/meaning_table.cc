#include "flaggems/policy/meaning_table.h"

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"

namespace flaggems {
namespace {

constexpr absl::string_view kTies =
    "of equal values any may be taken; aten promises none";
constexpr absl::string_view kSign =
    "vectors are defined up to a factor of modulus 1, and more where values "
    "are equal";

// "sort.stable" with stable=true has one right result; the judge looks at the
// argument.
constexpr MeaningRow kRows[] = {
    {"max.dim", Meaning::kIndexOfValue, kTies},
    {"max.dim_max", Meaning::kIndexOfValue, kTies},
    {"min.dim", Meaning::kIndexOfValue, kTies},
    {"min.dim_min", Meaning::kIndexOfValue, kTies},
    {"median.dim", Meaning::kIndexOfValue, kTies},
    {"median.dim_values", Meaning::kIndexOfValue, kTies},
    {"nanmedian.dim", Meaning::kIndexOfValue, kTies},
    {"nanmedian.dim_values", Meaning::kIndexOfValue, kTies},
    {"kthvalue", Meaning::kIndexOfValue, kTies},
    {"cummax", Meaning::kIndexOfValue, kTies},
    {"cummin", Meaning::kIndexOfValue, kTies},
    {"argmax", Meaning::kIndexOfExtreme, kTies},
    {"argmin", Meaning::kIndexOfExtreme, kTies},
    {"sort", Meaning::kPermutation, kTies},
    {"argsort", Meaning::kPermutation, kTies},
    {"topk", Meaning::kSelection, kTies},
    {"mode", Meaning::kMostFrequent, kTies},
    {"max_pool2d_with_indices", Meaning::kIndexInPlane, kTies},
    {"max_pool3d_with_indices", Meaning::kIndexInPlane, kTies},
    {"adaptive_max_pool2d", Meaning::kIndexInPlane, kTies},
    {"adaptive_max_pool3d", Meaning::kIndexInPlane, kTies},
    {"fractional_max_pool2d", Meaning::kIndexInPlane, kTies},
    {"fractional_max_pool3d", Meaning::kIndexInPlane, kTies},
    {"scatter", Meaning::kAnyWinner,
     "which of several sources for one cell wins is not specified"},
    {"index_put", Meaning::kAnyWinner, "as scatter"},
    {"_index_put_impl", Meaning::kAnyWinner, "as scatter"},
    {"_unsafe_index_put", Meaning::kAnyWinner, "as scatter"},
    {"index_copy", Meaning::kAnyWinner, "as scatter"},
    {"put", Meaning::kAnyWinner, "as scatter"},
    {"_unique", Meaning::kDistinct, "the order is free unless sorted"},
    {"_unique2", Meaning::kDistinct, "the order is free unless sorted"},
    {"_linalg_eigh", Meaning::kEigen, kSign},
    {"linalg_eigh", Meaning::kEigen, kSign},
    {"linalg_eig", Meaning::kGeneralEigen, kSign},
    {"linalg_eigvals", Meaning::kUnordered, "the order is free"},
    {"_linalg_eigvals", Meaning::kUnordered, "the order is free"},
    {"_linalg_svd", Meaning::kSingular, kSign},
    {"linalg_svd", Meaning::kSingular, kSign},
    {"linalg_qr", Meaning::kOrthogonalTriangular, kSign},
};

}  // namespace

absl::Span<const MeaningRow> MeaningRows() { return kRows; }

Meaning MeaningOf(const OpKey& op) {
  if (op.ns != "aten") return Meaning::kNone;
  absl::string_view name = op.name;
  if (absl::EndsWith(name, "_") && !absl::EndsWith(name, "__")) {
    name = absl::StripSuffix(name, "_");
  }
  const std::string exact = absl::StrCat(name, ".", op.overload);
  for (const MeaningRow& row : kRows) {
    if (row.pattern == exact || row.pattern == name) return row.meaning;
  }
  return Meaning::kNone;
}

}  // namespace flaggems
