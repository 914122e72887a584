#include "flaggems/comparator/compare_range.h"

#include <cmath>
#include <type_traits>
#include <utility>

#include "absl/strings/str_cat.h"
#include "flaggems/comparator/element.h"
#include "flaggems/comparator/element_rule.h"
#include "flaggems/comparator/element_walk.h"
#include "flaggems/comparator/quiet_errors.h"
#include "flaggems/comparator/strided_reader.h"
#include "flaggems/comparator/ulp_error.h"
#include "flaggems/core/dtype.h"
#include "flaggems/core/status_macros.h"

namespace flaggems {
namespace {

using internal_walk::kIsComplex;
using internal_walk::kIsInteger;
using internal_walk::kIsReal;

// ---- Which pairs of element types have a rule.

template <DType kGot, DType kWant>
constexpr bool Comparable() {
  if (kGot == kWant) return true;
  if (sizeof(StoredOf<kGot>) >= sizeof(StoredOf<kWant>)) return false;
  if (kIsReal<kGot> && kIsReal<kWant>) return true;
  if (kIsComplex<kGot> && kIsComplex<kWant>) return true;
  if constexpr (kIsInteger<kGot> && kIsInteger<kWant>) {
    if (kGot == DType::kBool || kWant == DType::kBool) return false;
    return std::is_signed_v<StoredOf<kWant>> ||
           std::is_unsigned_v<StoredOf<kGot>>;
  }
  return false;
}

// Calls visitor(got tag, want tag) for a comparable pair; false for others.
template <typename Visitor>
bool VisitPair(DType got, DType want, Visitor&& visitor) {
  bool comparable = false;
  VisitElementType(got, [&](auto got_tag) {
    VisitElementType(want, [&](auto want_tag) {
      if constexpr (Comparable<got_tag.value, want_tag.value>()) {
        visitor(got_tag, want_tag);
        comparable = true;
      }
    });
  });
  return comparable;
}

// ---- The rule, with its bounds for the first look.

struct WalkedFixedRule : FixedRule {
  WalkedFixedRule(const Tolerance& tolerance, DType got)
      : FixedRule{tolerance, UlpErrorOf(got)} {}

  // The limit is linear in |want|, and so is the bound.
  struct QuietBounds {
    internal_rule::QuietErrors errors;
    double slope = 0;
    double base = 0;

    QuietBounds(const FixedRule& rule, const PartialComparison& stats)
        : errors(stats) {
      const double score = internal_rule::QuietScore(stats);
      if (score > 0) {
        slope = score * rule.tolerance.rtol;
        base = score * rule.tolerance.atol;
        // Without a base, a slope times a small value may round up: take off
        // what rounding can have added.
        if (base < internal_rule::kQuietTiny) base = -1e-290;
      }
    }
    double ForScore(double /*abs_got*/, double abs_want,
                    int64_t /*position*/) const {
      return slope * abs_want + base;
    }
  };
};

}  // namespace

absl::Status ValidateArguments(const ArrayView& got, const ArrayView& want,
                               const Tolerance& tolerance) {
  for (const auto& [name, value] :
       {std::pair<const char*, double>{"rtol", tolerance.rtol},
        {"atol", tolerance.atol}}) {
    if (!(value >= 0) || std::isinf(value)) {
      return absl::InvalidArgumentError(absl::StrCat(
          name, " is ", value, "; it must be finite and not negative"));
    }
  }
  FG_RETURN_IF_ERROR(ValidateView(got));
  return ValidateView(want);
}

absl::Status ValidateCompare(const ArrayView& got, const ArrayView& want,
                             const Tolerance& tolerance) {
  FG_RETURN_IF_ERROR(ValidateArguments(got, want, tolerance));
  if (!VisitPair(got.dtype, want.dtype, [](auto, auto) {})) {
    return absl::UnimplementedError(absl::StrCat(
        "no rule to compare ", TorchName(got.dtype), " with ",
        TorchName(want.dtype),
        "; convert one to the type of the other, or want to a wider one"));
  }
  return absl::OkStatus();
}

PartialComparison CompareRange(const ArrayView& got, const ArrayView& want,
                               const Tolerance& tolerance, int64_t begin,
                               int64_t end, CodePath path) {
  PartialComparison stats;
  const WalkedFixedRule rule(tolerance, got.dtype);
  const bool avx2 = internal_walk::UseAvx2(path);
  VisitPair(got.dtype, want.dtype, [&](auto got_tag, auto want_tag) {
    stats = internal_walk::CompareTyped<got_tag.value, want_tag.value>(
        got, want, begin, end, rule, avx2);
  });
  return stats;
}

}  // namespace flaggems
