#include "flaggems/comparator/compare_budget.h"

#include <cmath>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "flaggems/comparator/budget_rule.h"
#include "flaggems/comparator/chunked.h"
#include "flaggems/comparator/element.h"
#include "flaggems/comparator/element_walk.h"
#include "flaggems/comparator/strided_reader.h"
#include "flaggems/comparator/ulp.h"
#include "flaggems/core/dtype.h"
#include "flaggems/core/status_macros.h"

namespace flaggems {
namespace {

// float64 for a real type, complex128 for a complex one, nullopt for others.
std::optional<DType> ReferenceTypeOf(DType got) {
  if (IsFloating(got)) return DType::kFloat64;
  if (IsComplex(got)) return DType::kComplex128;
  return std::nullopt;
}

template <bool kPerElement>
PartialComparison CompareWith(const ArrayView& got, const ArrayView& want,
                              const Budget& budget, int64_t begin, int64_t end,
                              CodePath path) {
  PartialComparison stats;
  const std::optional<FloatFormat> format = FloatFormatOf(got.dtype);
  if (!format) return stats;  // excluded by the caller
  const BudgetRule<kPerElement> rule(budget, *format);
  const bool avx2 = internal_walk::UseAvx2(path);
  VisitElementType(got.dtype, [&](auto tag) {
    constexpr DType kGot = tag.value;
    if constexpr (internal_walk::kIsReal<kGot>) {
      stats = internal_walk::CompareTyped<kGot, DType::kFloat64>(
          got, want, begin, end, rule, avx2);
    } else if constexpr (internal_walk::kIsComplex<kGot>) {
      stats = internal_walk::CompareTyped<kGot, DType::kComplex128>(
          got, want, begin, end, rule, avx2);
    }
  });
  return stats;
}

}  // namespace

absl::Status ValidateBudget(const ArrayView& got, const ArrayView& want,
                            const Budget& budget) {
  for (const auto& [name, value] :
       {std::pair<const char*, double>{"h", budget.h},
        {"unit_roundoff", budget.unit_roundoff},
        {"a", budget.a},
        {"b", budget.b},
        {"l", budget.l},
        {"n", budget.n},
        {"constant", budget.constant}}) {
    if (!(value >= 0) || std::isinf(value)) {
      return absl::InvalidArgumentError(
          absl::StrCat("budget: ", name, " is ", value,
                       "; it must be finite and not negative"));
    }
  }
  if (!(budget.overflow_margin >= 1) || std::isinf(budget.overflow_margin)) {
    return absl::InvalidArgumentError(
        absl::StrCat("budget: overflow_margin is ", budget.overflow_margin,
                     "; it must be finite and at least 1"));
  }
  FG_RETURN_IF_ERROR(ValidateView(got));
  FG_RETURN_IF_ERROR(ValidateView(want));
  if (budget.condition != Budget::Condition::kArray) return absl::OkStatus();
  FG_RETURN_IF_ERROR(ValidateView(budget.conditions));
  if (budget.conditions.dtype != DType::kFloat64) {
    return absl::InvalidArgumentError(absl::StrCat(
        "budget: conditions are ", TorchName(budget.conditions.dtype),
        "; give them as torch.float64"));
  }
  if (budget.conditions.sizes != want.sizes) {
    return absl::InvalidArgumentError(
        "budget: conditions have other sizes than want; give one per element");
  }
  if (!budget.conditions.is_contiguous()) {
    return absl::InvalidArgumentError(
        "budget: conditions are not contiguous; give them in row-major order");
  }
  return absl::OkStatus();
}

PartialComparison CompareBudgetRange(const ArrayView& got,
                                     const ArrayView& want,
                                     const Budget& budget, int64_t begin,
                                     int64_t end, CodePath path) {
  return budget.condition == Budget::Condition::kArray
             ? CompareWith<true>(got, want, budget, begin, end, path)
             : CompareWith<false>(got, want, budget, begin, end, path);
}

absl::StatusOr<Comparison> CompareBudget(const ArrayView& got,
                                         const ArrayView& want,
                                         const Budget& budget,
                                         ParallelFor* parallel) {
  FG_RETURN_IF_ERROR(ValidateBudget(got, want, budget));
  if (got.sizes != want.sizes) return ShapeMismatch(want.numel());
  const std::optional<DType> reference = ReferenceTypeOf(got.dtype);
  if (!reference || want.dtype != *reference) {
    return absl::UnimplementedError(absl::StrCat(
        "no budget for ", TorchName(got.dtype), " against ",
        TorchName(want.dtype),
        reference ? absl::StrCat("; give want as ", TorchName(*reference))
                  : "; compare it exactly with Compare()"));
  }
  return Finish(
      CompareChunked(want.numel(), parallel, [&](int64_t begin, int64_t end) {
        return CompareBudgetRange(got, want, budget, begin, end);
      }));
}

}  // namespace flaggems
