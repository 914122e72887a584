#ifndef FLAGGEMS_COMPARATOR_CUDA_DEVICE_PLAN_H_
#define FLAGGEMS_COMPARATOR_CUDA_DEVICE_PLAN_H_

// Chooses the walk (device_walk.h) for two arrays: by dtypes, strides and
// alignment. Host code; the arrays' elements are not read.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <type_traits>
#include <vector>

#include "flaggems/comparator/budget.h"
#include "flaggems/comparator/budget_rule.h"
#include "flaggems/comparator/cuda/device_elements.h"
#include "flaggems/comparator/cuda/device_walk.h"
#include "flaggems/comparator/cuda/strided_layout.h"
#include "flaggems/comparator/cuda/word_walk.h"
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

template <DType kGot, typename Rule, typename Positions, typename Visitor>
void VisitAligned(const ArrayView& got, const ArrayView& want, const Rule& rule,
                  const Positions& positions, Visitor&& visitor) {
  visitor(ElementWalk<AlignedRuns<kGot>, Rule, Positions>(
      {static_cast<const StoredOf<kGot>*>(got.data),
       static_cast<const double*>(want.data)},
      rule, want.numel(), false, positions));
}

// False for types that are seldom enough.
template <typename Rule, typename Positions, typename Visitor>
bool VisitAlignedOf(const ArrayView& got, const ArrayView& want,
                    const Rule& rule, const Positions& positions,
                    Visitor&& visitor) {
  switch (got.dtype) {
    case DType::kFloat16:
      VisitAligned<DType::kFloat16>(got, want, rule, positions, visitor);
      return true;
    case DType::kBFloat16:
      VisitAligned<DType::kBFloat16>(got, want, rule, positions, visitor);
      return true;
    case DType::kFloat32:
      VisitAligned<DType::kFloat32>(got, want, rule, positions, visitor);
      return true;
    case DType::kFloat64:
      VisitAligned<DType::kFloat64>(got, want, rule, positions, visitor);
      return true;
    default:
      return false;
  }
}

// Where the elements of both lie without gaps, in the same order, which is that
// of the memory: the positions in that order. Else nullopt.
inline std::optional<Permuted> PermutationOf(const ArrayView& got,
                                             const ArrayView& want) {
  if (want.numel() == 0) return std::nullopt;
  struct Dimension {
    int64_t size, stride, position_stride;
  };
  std::vector<Dimension> dimensions;
  int64_t position_stride = 1;
  for (size_t d = want.sizes.size(); d-- > 0;) {
    if (want.sizes[d] == 1) continue;
    if (got.strides[d] != want.strides[d]) return std::nullopt;
    dimensions.push_back({want.sizes[d], want.strides[d], position_stride});
    position_stride *= want.sizes[d];
  }
  std::sort(dimensions.begin(), dimensions.end(),
            [](const Dimension& a, const Dimension& b) {
              return a.stride > b.stride;
            });
  std::vector<int64_t> sizes, positions, memory;
  for (const Dimension& dimension : dimensions) {
    sizes.push_back(dimension.size);
    positions.push_back(dimension.position_stride);
    memory.push_back(dimension.stride);
  }
  const ArrayView of_memory{nullptr, want.dtype, sizes, memory};
  if (!of_memory.is_contiguous()) return std::nullopt;
  const JoinedDimensions joined =
      JoinDimensions({nullptr, want.dtype, sizes, positions}, of_memory);
  if (joined.rank > JoinedDimensions::kMaxRank) return std::nullopt;
  return Permuted{StridedLayout<uint64_t>(joined)};
}

template <bool kPerElement, typename Visitor>
Planned VisitBudgetWalk(const ArrayView& got, const ArrayView& want,
                        const Budget& budget, Visitor&& visitor) {
  const std::optional<FloatFormat> format = FloatFormatOf(got.dtype);
  if (!format) return Planned::kNoRule;
  const BudgetRule<kPerElement> rule(budget, *format);
  constexpr size_t kRun = 2;  // of AlignedRuns
  if (IsAligned(got.data, kRun * ElementSize(got.dtype)) &&
      IsAligned(want.data, kRun * sizeof(double))) {
    if (got.is_contiguous() && want.is_contiguous()) {
      if ((!kPerElement ||
           IsAligned(budget.conditions.data, kRun * sizeof(double))) &&
          VisitAlignedOf(got, want, rule, RowMajor(), visitor)) {
        return Planned::kYes;
      }
    } else if constexpr (!kPerElement) {
      const std::optional<Permuted> positions = PermutationOf(got, want);
      if (positions && VisitAlignedOf(got, want, rule, *positions, visitor)) {
        return Planned::kYes;
      }
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
