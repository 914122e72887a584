#ifndef FLAGGEMS_COMPARATOR_ELEMENT_WALK_H_
#define FLAGGEMS_COMPARATOR_ELEMENT_WALK_H_

// Takes pairs of elements of two arrays into a PartialComparison by a Rule as
// in element_rule.h, which also has
//
//   struct QuietBounds {
//     QuietBounds(const Rule& rule, const PartialComparison& stats);
//     QuietErrors errors;
//     double ForScore(double abs_got, double abs_want, int64_t position) const;
//   };
//
// An error of at most ForScore() raises no score, is within the limit, and has
// nothing to be counted but the sums of errors in spacings. ForScore may be NaN
// or negative: it only sends more elements to the second look.
//
// To be compiled with -ffp-contract=off: the bounds and the rule must round
// alike.

#include <cmath>
#include <cstdint>
#include <type_traits>

#include "flaggems/comparator/code_path.h"
#include "flaggems/comparator/comparison.h"
#include "flaggems/comparator/element.h"
#include "flaggems/comparator/element_rule.h"
#include "flaggems/comparator/quiet_errors.h"
#include "flaggems/comparator/strided_reader.h"
#include "flaggems/comparator/ulp_error.h"
#include "flaggems/core/array_view.h"
#include "flaggems/core/dtype.h"

namespace flaggems {
namespace internal_walk {

#if defined(__x86_64__)
#define FG_HAVE_AVX2_PATH_ 1
#endif

// Elements that are looked at together. Small, because all of them are looked
// at again when one needs it; a multiple of every vector's length.
inline constexpr int64_t kBlock = 64;
// Elements of a strided array that are gathered at a time (16 KiB of stack for
// a pair of complex128 arrays).
inline constexpr int64_t kGather = 8 * kBlock;

template <DType kDType>
inline constexpr bool kIsReal = std::is_same_v<ValueOf<kDType>, double>;
template <DType kDType>
inline constexpr bool kIsComplex =
    std::is_same_v<ValueOf<kDType>, ComplexValue>;
template <DType kDType>
inline constexpr bool kIsInteger = !kIsReal<kDType> && !kIsComplex<kDType>;

// ---- The first look: which blocks change nothing but the element count and
// the sums of errors.

// The sums over blocks of real pairs that are quiet.
struct QuietSums {
  Int128 errors = 0;
  Int128 squares = 0;
  int64_t infinities = 0;  // the same in both
};

// Adds a quiet block. kEqual: it may have infinities, the same in both.
template <bool kEqual, DType kGot, DType kWant>
inline __attribute__((always_inline)) void AddQuietBlock(
    const StoredOf<kGot>* got, const StoredOf<kWant>* want,
    const UlpErrorFunction& ulp_error, QuietSums* sums) {
  // Doubles hold the squares exactly. Added to this one, an integer of up to
  // 2^52 is the difference of the bits. Sums of bits wrap; what is added too
  // much comes off at the end.
  constexpr double kToBits = 0x1p52;
  uint64_t errors = 0;
  uint64_t squares = 0;
  int64_t infinities = 0;
  for (int64_t i = 0; i < kBlock; ++i) {
    const double g = Element<kGot>::Load(got[i]);
    const double w = Element<kWant>::Load(want[i]);
    double diff = g - w;
    if constexpr (kEqual) {
      // 0 where they are equal, by a mask: ?: would become a branch.
      diff = internal_element::BitCast<double>(
          internal_element::BitCast<uint64_t>(diff) &
          (0 - static_cast<uint64_t>(g != w)));
      infinities += std::fabs(w) > internal_rule::kMaxDouble ? 1 : 0;
    }
    const double shifted = ulp_error.Shifted(diff, w);
    const double units = shifted - UlpErrorFunction::kToInteger;
    errors += internal_element::BitCast<uint64_t>(shifted);
    squares += internal_element::BitCast<uint64_t>(units * units + kToBits);
  }
  constexpr double kToInteger = UlpErrorFunction::kToInteger;
  errors -= kBlock * internal_element::BitCast<uint64_t>(kToInteger);
  squares -= kBlock * internal_element::BitCast<uint64_t>(kToBits);
  sums->errors += static_cast<int64_t>(errors);
  sums->squares += squares;
  sums->infinities += infinities;
}

// Whether a block of real pairs is quiet. Written so that compilers vectorise
// it: one flag as wide as the values, no branch. kEqual also accepts infinities
// that are the same in both, as a mask makes them; that costs a third more.
// *different: whether a pair is not equal; not set if the block is not quiet.
template <bool kEqual, DType kGot, DType kWant, typename Bounds>
inline __attribute__((always_inline)) bool IsQuietBlock(
    const StoredOf<kGot>* got, const StoredOf<kWant>* want, int64_t position,
    const Bounds& bounds, bool* different) {
  int64_t loud = 0;
  uint64_t differences = 0;
  for (int64_t i = 0; i < kBlock; ++i) {
    const double g = Element<kGot>::Load(got[i]);
    const double w = Element<kWant>::Load(want[i]);
    const double diff = std::fabs(g - w);
    differences |= internal_element::BitCast<uint64_t>(diff);
    const double a = std::fabs(w);
    const double rel = bounds.errors.rel_slope * a + bounds.errors.rel_base;
    const double score = bounds.ForScore(std::fabs(g), a, position + i);
    if constexpr (kEqual) {
      const bool quiet =
          (diff <= bounds.errors.abs) & (diff <= rel) & (diff <= score);
      loud |= (quiet | (g == w)) ? 0 : 1;
    } else {
      // Not "diff > bound": a NaN has to be loud.
      loud |= diff <= bounds.errors.abs ? 0 : 1;
      loud |= diff <= rel ? 0 : 1;
      loud |= diff <= score ? 0 : 1;
    }
  }
  *different = differences != 0;
  return loud == 0;
}

// Number of elements, a multiple of kBlock, in the leading blocks of got and
// want that are quiet; these are taken into *sums.
template <DType kGot, DType kWant, typename Rule>
inline __attribute__((always_inline)) int64_t LeadingQuietBody(
    const StoredOf<kGot>* got, const StoredOf<kWant>* want, int64_t n,
    int64_t position, const Rule& rule, const typename Rule::QuietBounds& given,
    QuietSums* sums) {
  int64_t done = 0;
  if constexpr (kIsReal<kGot>) {
    const auto bounds = given;  // copies, so that they stay in registers
    const UlpErrorFunction ulp_error = rule.ulp_error;
    for (; done + kBlock <= n; done += kBlock) {
      bool different;
      if (IsQuietBlock<false, kGot, kWant>(
              got + done, want + done, position + done, bounds, &different)) {
        if (different) {
          AddQuietBlock<false, kGot, kWant>(got + done, want + done, ulp_error,
                                            sums);
        }
      } else if (IsQuietBlock<true, kGot, kWant>(got + done, want + done,
                                                 position + done, bounds,
                                                 &different)) {
        AddQuietBlock<true, kGot, kWant>(got + done, want + done, ulp_error,
                                         sums);
      } else {
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

template <DType kGot, DType kWant, typename Rule>
int64_t LeadingQuietBaseline(const StoredOf<kGot>* got,
                             const StoredOf<kWant>* want, int64_t n,
                             int64_t position, const Rule& rule,
                             const typename Rule::QuietBounds& bounds,
                             QuietSums* sums) {
  return LeadingQuietBody<kGot, kWant>(got, want, n, position, rule, bounds,
                                       sums);
}

#ifdef FG_HAVE_AVX2_PATH_
template <DType kGot, DType kWant, typename Rule>
__attribute__((target("avx2"))) int64_t LeadingQuietAvx2(
    const StoredOf<kGot>* got, const StoredOf<kWant>* want, int64_t n,
    int64_t position, const Rule& rule,
    const typename Rule::QuietBounds& bounds, QuietSums* sums) {
  return LeadingQuietBody<kGot, kWant>(got, want, n, position, rule, bounds,
                                       sums);
}
#endif

inline bool UseAvx2(CodePath path) {
#ifdef FG_HAVE_AVX2_PATH_
  return path == CodePath::kBest && __builtin_cpu_supports("avx2");
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
  if constexpr (kIsReal<kGot>) stats->finite_numbers += n;
  if constexpr (kIsComplex<kGot>) stats->finite_numbers += 2 * n;
  int64_t i = 0;
  while (i < n) {
    const typename Rule::QuietBounds bounds(rule, *stats);
    QuietSums sums;
#ifdef FG_HAVE_AVX2_PATH_
    i += avx2
             ? LeadingQuietAvx2<kGot, kWant>(got + i, want + i, n - i,
                                             position + i, rule, bounds, &sums)
             : LeadingQuietBaseline<kGot, kWant>(
                   got + i, want + i, n - i, position + i, rule, bounds, &sums);
#else
    (void)avx2;
    i += LeadingQuietBaseline<kGot, kWant>(got + i, want + i, n - i,
                                           position + i, rule, bounds, &sums);
#endif
    stats->finite_numbers -= sums.infinities;
    stats->ulp_errors += sums.errors;
    stats->ulp_error_squares += sums.squares;
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

}  // namespace internal_walk
}  // namespace flaggems

#undef FG_HAVE_AVX2_PATH_

#endif  // FLAGGEMS_COMPARATOR_ELEMENT_WALK_H_
