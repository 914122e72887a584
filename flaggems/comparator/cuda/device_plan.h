#ifndef FLAGGEMS_COMPARATOR_CUDA_DEVICE_PLAN_H_
#define FLAGGEMS_COMPARATOR_CUDA_DEVICE_PLAN_H_

// Chooses the walk (device_walk.h) for two arrays: by dtypes, strides and
// alignment. Host code; the arrays' elements are not read.

#include <cstdint>
#include <optional>
#include <type_traits>

#include "flaggems/comparator/budget.h"
#include "flaggems/comparator/budget_rule.h"
#include "flaggems/comparator/cuda/device_elements.h"
#include "flaggems/comparator/cuda/device_walk.h"
#include "flaggems/comparator/cuda/strided_layout.h"
#include "flaggems/comparator/element.h"
#include "flaggems/comparator/element_rule.h"
#include "flaggems/comparator/ulp.h"
#include "flaggems/comparator/ulp_error.h"
#include "flaggems/core/array_view.h"
#include "flaggems/core/dtype.h"

namespace flaggems {
namespace internal_device {

enum class Planned {
  kYes,
  kSizesDiffer,
  kBadConditions,
  kNoRule,  // for these dtypes
  kTooManyDimensions,
};

inline bool IsAligned(const void* data, size_t bytes) {
  return reinterpret_cast<uintptr_t>(data) % bytes == 0;
}

// Calls visitor(layout) with the layout that the number of elements takes.
template <typename Visitor>
Planned VisitLayout(const ArrayView& got, const ArrayView& want,
                    Visitor&& visitor) {
  const int64_t numel = want.numel();
  const JoinedDimensions joined =
      numel == 0 ? JoinedDimensions() : JoinDimensions(got, want);
  if (joined.rank > JoinedDimensions::kMaxRank) {
    return Planned::kTooManyDimensions;
  }
  if (numel < int64_t{1} << 31) {
    visitor(StridedLayout<uint32_t>(joined));
  } else {
    visitor(StridedLayout<uint64_t>(joined));
  }
  return Planned::kYes;
}

template <typename Rule, typename Visitor>
Planned VisitStridedReals(const ArrayView& got, const ArrayView& want,
                          const Rule& rule, Visitor&& visitor) {
  return VisitLayout(got, want, [&](const auto& layout) {
    using Index = typename std::decay_t<decltype(layout)>::Position;
    visitor(ElementWalk<StridedReals<Index>, Rule>(
        {got.data, want.data, got.dtype, want.dtype, layout}, rule,
        want.numel()));
  });
}

template <DType kGot, typename Rule, typename Visitor>
void VisitAligned(const ArrayView& got, const ArrayView& want, const Rule& rule,
                  Visitor&& visitor) {
  visitor(ElementWalk<AlignedRuns<kGot>, Rule>(
      {static_cast<const StoredOf<kGot>*>(got.data),
       static_cast<const double*>(want.data)},
      rule, want.numel()));
}

template <bool kPerElement, typename Visitor>
Planned VisitBudgetWalk(const ArrayView& got, const ArrayView& want,
                        const Budget& budget, Visitor&& visitor) {
  const std::optional<FloatFormat> format = FloatFormatOf(got.dtype);
  if (!format) return Planned::kNoRule;
  const BudgetRule<kPerElement> rule(budget, *format);
  constexpr size_t kRun = 2;  // of AlignedRuns
  if (got.is_contiguous() && want.is_contiguous() &&
      IsAligned(got.data, kRun * ElementSize(got.dtype)) &&
      IsAligned(want.data, kRun * sizeof(double)) &&
      (!kPerElement ||
       IsAligned(budget.conditions.data, kRun * sizeof(double)))) {
    switch (got.dtype) {
      case DType::kFloat16:
        VisitAligned<DType::kFloat16>(got, want, rule, visitor);
        return Planned::kYes;
      case DType::kBFloat16:
        VisitAligned<DType::kBFloat16>(got, want, rule, visitor);
        return Planned::kYes;
      case DType::kFloat32:
        VisitAligned<DType::kFloat32>(got, want, rule, visitor);
        return Planned::kYes;
      case DType::kFloat64:
        VisitAligned<DType::kFloat64>(got, want, rule, visitor);
        return Planned::kYes;
      default:
        break;  // float8: seldom enough
    }
  }
  return VisitStridedReals(got, want, rule, visitor);
}

// Calls visitor(walk) with the walk that gives CompareBudget()'s result; not if
// it returns another answer than kYes.
template <typename Visitor>
Planned VisitBudgetWalk(const ArrayView& got, const ArrayView& want,
                        const Budget& budget, Visitor&& visitor) {
  if (got.sizes != want.sizes) return Planned::kSizesDiffer;
  if (!IsFloating(got.dtype) || want.dtype != DType::kFloat64) {
    return Planned::kNoRule;
  }
  if (budget.condition != Budget::Condition::kArray) {
    return VisitBudgetWalk<false>(got, want, budget, visitor);
  }
  if (budget.conditions.dtype != DType::kFloat64 ||
      budget.conditions.sizes != want.sizes ||
      !budget.conditions.is_contiguous()) {
    return Planned::kBadConditions;
  }
  return VisitBudgetWalk<true>(got, want, budget, visitor);
}

// The same for Compare() with Tolerance{0, 0}.
template <typename Visitor>
Planned VisitExactWalk(const ArrayView& got, const ArrayView& want,
                       Visitor&& visitor) {
  if (got.sizes != want.sizes) return Planned::kSizesDiffer;
  if (got.dtype != want.dtype) return Planned::kNoRule;
  const FixedRule exact{{0, 0}, UlpErrorOf(got.dtype)};
  if (IsFloating(got.dtype)) {
    return VisitStridedReals(got, want, exact, visitor);
  }
  if (!IsIntegral(got.dtype)) return Planned::kNoRule;
  if (got.is_contiguous() && want.is_contiguous() && IsAligned(got.data, 16) &&
      IsAligned(want.data, 16)) {
    visitor(WordWalk(got.data, want.data, got.dtype, want.numel()));
    return Planned::kYes;
  }
  return VisitLayout(got, want, [&](const auto& layout) {
    using Index = typename std::decay_t<decltype(layout)>::Position;
    visitor(ElementWalk<StridedIntegers<Index>, FixedRule>(
        {got.data, want.data, got.dtype, layout}, exact, want.numel(),
        got.dtype == DType::kUInt64));
  });
}

}  // namespace internal_device
}  // namespace flaggems

#endif  // FLAGGEMS_COMPARATOR_CUDA_DEVICE_PLAN_H_
