#include "flaggems/comparator/compare_range.h"

#include <cmath>
#include <type_traits>
#include <utility>

#include "absl/strings/str_cat.h"
#include "flaggems/comparator/element.h"
#include "flaggems/comparator/element_rule.h"
#include "flaggems/comparator/strided_reader.h"
#include "flaggems/core/dtype.h"
#include "flaggems/core/status_macros.h"

namespace flaggems {
namespace {

#if defined(__x86_64__)
#define FG_HAVE_AVX2_PATH_ 1
#endif

// Elements that are looked at together. Small, because all of them are looked
// at again when one needs it; a multiple of every vector's length.
constexpr int64_t kBlock = 64;
// Elements of a strided array that are gathered at a time (16 KiB of stack for
// a pair of complex128 arrays).
constexpr int64_t kGather = 8 * kBlock;

// ---- Which pairs of element types have a rule.

template <DType kDType>
inline constexpr bool kIsReal = std::is_same_v<ValueOf<kDType>, double>;
template <DType kDType>
inline constexpr bool kIsComplex =
    std::is_same_v<ValueOf<kDType>, ComplexValue>;
template <DType kDType>
inline constexpr bool kIsInteger = !kIsReal<kDType> && !kIsComplex<kDType>;

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

// ---- The first look: which blocks change nothing but the element count.

// Bounds on the error of an element with |want| = a: not more than `abs`,
// `rel_slope * a + rel_base` and `score_slope * a + score_base`. An error
// within all of them raises no maximum and is within the tolerance, and so are
// equal elements; the bounds are a little lower than need be, so that rounding
// never hides one.
struct QuietBounds {
  double abs = 0;
  double rel_slope = 0;
  double rel_base = 0;
  double score_slope = 0;
  double score_base = 0;
};

QuietBounds BoundsOf(const FixedRule& rule, const PartialComparison& stats) {
  using internal_rule::kLowered;
  using internal_rule::kMaxDouble;
  // Below this a factor of a bound may underflow: the bound is then 0, which
  // only sends more blocks to the second look.
  constexpr double kTiny = 1e-260;
  QuietBounds bounds;
  // Finite always: a difference that is Inf or NaN is never quiet.
  bounds.abs = std::fmin(stats.max_abs_diff, kMaxDouble);
  if (stats.max_rel_diff > kMaxDouble) {
    bounds.rel_base = kMaxDouble;
  } else if (stats.max_rel_diff > kTiny) {
    bounds.rel_slope = stats.max_rel_diff * kLowered;
    bounds.rel_base = stats.max_rel_diff * kRelFloor * kLowered;
  }
  // Above 1 every element counts, because it is a mismatch.
  const double score = std::fmin(stats.score, 1.0);
  if (score > kTiny) {
    bounds.score_slope = score * rule.tolerance.rtol * kLowered;
    bounds.score_base = score * rule.tolerance.atol * kLowered;
    // Without a base, a slope times a small value may round up: take off what
    // rounding can have added.
    if (bounds.score_base < kTiny) bounds.score_base = -1e-290;
  }
  return bounds;
}

// Whether a block of real pairs is quiet. Written so that compilers vectorise
// it: one flag as wide as the values, no branch. kEqual also accepts infinities
// that are the same in both, as a mask makes them; that costs a third more.
template <bool kEqual, DType kGot, DType kWant>
inline __attribute__((always_inline)) bool IsQuietBlock(
    const StoredOf<kGot>* got, const StoredOf<kWant>* want,
    const QuietBounds& bounds) {
  int64_t loud = 0;
  for (int64_t i = 0; i < kBlock; ++i) {
    const double g = Element<kGot>::Load(got[i]);
    const double w = Element<kWant>::Load(want[i]);
    const double diff = std::fabs(g - w);
    const double a = std::fabs(w);
    const double rel = bounds.rel_slope * a + bounds.rel_base;
    const double score = bounds.score_slope * a + bounds.score_base;
    if constexpr (kEqual) {
      const bool quiet = (diff <= bounds.abs) & (diff <= rel) & (diff <= score);
      loud |= (quiet | (g == w)) ? 0 : 1;
    } else {
      // Not "diff > bound": a NaN has to be loud.
      loud |= diff <= bounds.abs ? 0 : 1;
      loud |= diff <= rel ? 0 : 1;
      loud |= diff <= score ? 0 : 1;
    }
  }
  return loud == 0;
}

// Number of elements, a multiple of kBlock, in the leading blocks of got and
// want that are quiet.
template <DType kGot, DType kWant>
inline __attribute__((always_inline)) int64_t LeadingQuietBody(
    const StoredOf<kGot>* got, const StoredOf<kWant>* want, int64_t n,
    const QuietBounds& given) {
  int64_t done = 0;
  if constexpr (kIsReal<kGot>) {
    const QuietBounds bounds = given;  // a copy, so that it stays in registers
    for (; done + kBlock <= n; done += kBlock) {
      if (!IsQuietBlock<false, kGot, kWant>(got + done, want + done, bounds) &&
          !IsQuietBlock<true, kGot, kWant>(got + done, want + done, bounds)) {
        break;
      }
    }
  } else if constexpr (kIsInteger<kGot>) {
    // Same types: in the stored width, which packs more into a vector.
    using Wide =
        std::conditional_t<kGot == kWant, StoredOf<kWant>, ValueOf<kWant>>;
    for (; done + kBlock <= n; done += kBlock) {
      Wide loud = 0;
      for (int64_t i = done; i < done + kBlock; ++i) {
        loud |= static_cast<Wide>(Element<kGot>::Load(got[i])) ^
                static_cast<Wide>(Element<kWant>::Load(want[i]));
      }
      if (loud != 0) break;
    }
  }
  return done;  // complex pairs go to the second look at once
}

template <DType kGot, DType kWant>
int64_t LeadingQuietBaseline(const StoredOf<kGot>* got,
                             const StoredOf<kWant>* want, int64_t n,
                             const QuietBounds& bounds) {
  return LeadingQuietBody<kGot, kWant>(got, want, n, bounds);
}

#ifdef FG_HAVE_AVX2_PATH_
template <DType kGot, DType kWant>
__attribute__((target("avx2"))) int64_t LeadingQuietAvx2(
    const StoredOf<kGot>* got, const StoredOf<kWant>* want, int64_t n,
    const QuietBounds& bounds) {
  return LeadingQuietBody<kGot, kWant>(got, want, n, bounds);
}
#endif

bool UseAvx2(CodePath path) {
#ifdef FG_HAVE_AVX2_PATH_
  static const bool has_avx2 = __builtin_cpu_supports("avx2");
  return path == CodePath::kBest && has_avx2;
#else
  (void)path;
  return false;
#endif
}

// ---- The walk.

// Takes `n` pairs that lie one after the other into *stats.
template <DType kGot, DType kWant, typename Rule>
void CompareRun(const StoredOf<kGot>* got, const StoredOf<kWant>* want,
                int64_t n, int64_t position, const Rule& rule, bool avx2,
                PartialComparison* stats) {
  if (stats->worst_score < 0 && n > 0) stats->worst_score = position;
  stats->numel += n;
  int64_t i = 0;
  while (i < n) {
    const QuietBounds bounds = BoundsOf(rule, *stats);
#ifdef FG_HAVE_AVX2_PATH_
    i += avx2 ? LeadingQuietAvx2<kGot, kWant>(got + i, want + i, n - i, bounds)
              : LeadingQuietBaseline<kGot, kWant>(got + i, want + i, n - i,
                                                  bounds);
#else
    (void)avx2;
    i += LeadingQuietBaseline<kGot, kWant>(got + i, want + i, n - i, bounds);
#endif
    const int64_t loud_end = i + kBlock < n ? i + kBlock : n;
    PartialComparison local = *stats;  // a copy, to be kept in registers
    for (; i < loud_end; ++i) {
      Judge(static_cast<ValueOf<kWant>>(Element<kGot>::Load(got[i])),
            Element<kWant>::Load(want[i]), position + i, rule, &local);
    }
    *stats = local;
  }
}

template <DType kGot, DType kWant, typename Rule>
PartialComparison CompareTyped(const ArrayView& got, const ArrayView& want,
                               int64_t begin, int64_t end, const Rule& rule,
                               bool avx2) {
  PartialComparison stats;
  if (begin == end) return stats;
  const bool got_runs = got.is_contiguous();
  const bool want_runs = want.is_contiguous();
  const auto* got_data = static_cast<const StoredOf<kGot>*>(got.data);
  const auto* want_data = static_cast<const StoredOf<kWant>*>(want.data);
  if (got_runs && want_runs) {
    CompareRun<kGot, kWant>(got_data + begin, want_data + begin, end - begin,
                            begin, rule, avx2, &stats);
    return stats;
  }
  StridedReader got_reader(got, begin);
  StridedReader want_reader(want, begin);
  StoredOf<kGot> got_gathered[kGather];
  StoredOf<kWant> want_gathered[kGather];
  for (int64_t position = begin; position < end; position += kGather) {
    const int64_t n = end - position < kGather ? end - position : kGather;
    if (!got_runs) got_reader.Read(n, got_gathered);
    if (!want_runs) want_reader.Read(n, want_gathered);
    CompareRun<kGot, kWant>(got_runs ? got_data + position : got_gathered,
                            want_runs ? want_data + position : want_gathered, n,
                            position, rule, avx2, &stats);
  }
  return stats;
}

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
  const FixedRule rule{tolerance};
  const bool avx2 = UseAvx2(path);
  VisitPair(got.dtype, want.dtype, [&](auto got_tag, auto want_tag) {
    stats = CompareTyped<got_tag.value, want_tag.value>(got, want, begin, end,
                                                        rule, avx2);
  });
  return stats;
}

}  // namespace flaggems
