#ifndef FLAGGEMS_COMPARATOR_ELEMENT_RULE_H_
#define FLAGGEMS_COMPARATOR_ELEMENT_RULE_H_

// Judges one pair of values and keeps the statistics. What differs between
// tolerance models is the largest error allowed of an element: a Rule is any
// type with
//
//   double Limit(const ElementError& error, PartialComparison* stats) const;
//   bool AgreesAsOverflow(double got, double want, int64_t position) const;
//   UlpErrorFunction ulp_error;  // of got's dtype or of its parts
//
// Limit is >= 0, never NaN, and called for pairs of finite elements; in *stats
// it may count what it allowed. AgreesAsOverflow is called for a `got` that is
// no number where `want` is one, and says whether that is what the element's
// type makes of `want`. The classes of special values, the ratios and the
// choice of the worst element are the same for all.

#include <cmath>
#include <cstdint>
#include <limits>

#include "flaggems/comparator/comparison.h"
#include "flaggems/comparator/element.h"
#include "flaggems/comparator/tolerance.h"
#include "flaggems/comparator/ulp_error.h"
#include "flaggems/core/host_device.h"

namespace flaggems {

// The error of a finite pair. Of a pair of complex numbers diff and the others
// are moduli, and abs_got is abs_want.
struct ElementError {
  double diff;  // |got - want|; Inf after an overflow
  double abs_got;
  double abs_want;
  int64_t position;  // row-major
};

// atol + rtol * |want|.
struct FixedRule {
  Tolerance tolerance;
  UlpErrorFunction ulp_error;

  FG_HOST_DEVICE double Limit(const ElementError& error,
                              PartialComparison* /*stats*/) const {
    return tolerance.atol + tolerance.rtol * error.abs_want;
  }
  FG_HOST_DEVICE bool AgreesAsOverflow(double /*got*/, double /*want*/,
                                       int64_t /*position*/) const {
    return false;
  }
};

// Under max_rel_diff's quotient, so that it is a number where want is 0.
inline constexpr double kRelFloor = 1e-12;

namespace internal_rule {

inline constexpr double kMaxDouble = std::numeric_limits<double>::max();

// A product of a maximum and a divisor, lowered by more than rounding can have
// raised it: an error below it has no larger quotient than that maximum.
inline constexpr double kLowered = 1.0 - 0x1p-48;
// Below this a product may have lost bits to underflow and proves nothing.
inline constexpr double kTrustedProduct = 1e-280;

// What a pair of elements amounts to. Complex numbers join two parts.
enum class PairClass : uint8_t { kFinite, kSameSpecial, kOtherSpecial };

FG_HOST_DEVICE inline PairClass Classify(double got, double want) {
  if (std::isfinite(got) && std::isfinite(want)) return PairClass::kFinite;
  if (got == want) return PairClass::kSameSpecial;
  if (std::isnan(got) && std::isnan(want)) return PairClass::kSameSpecial;
  return PairClass::kOtherSpecial;
}

// Classify(), where what overflowed as it should is the same special value.
template <typename Rule>
FG_HOST_DEVICE inline PairClass ClassifyBy(const Rule& rule, double got,
                                           double want, int64_t position) {
  const PairClass pair_class = Classify(got, want);
  if (pair_class == PairClass::kOtherSpecial && std::isfinite(want) &&
      rule.AgreesAsOverflow(got, want, position)) {
    return PairClass::kSameSpecial;
  }
  return pair_class;
}

// Takes the error of a finite pair into the maxima; returns whether it exceeds
// the limit. `diff` may be Inf, after an overflow.
FG_HOST_DEVICE inline bool AddError(double diff, double abs_want, double limit,
                                    int64_t position,
                                    PartialComparison* stats) {
  if (diff == 0) return false;
  if (diff > stats->max_abs_diff) stats->max_abs_diff = diff;

  // A quotient costs more than the rest together, and few can raise a maximum.
  const double rel_divisor = abs_want + kRelFloor;
  const double rel_bound = stats->max_rel_diff * rel_divisor * kLowered;
  if (!(diff < rel_bound && rel_bound > kTrustedProduct)) {
    const double rel = diff / rel_divisor;
    if (rel > stats->max_rel_diff) stats->max_rel_diff = rel;
  }
  const double score_bound = stats->score * limit * kLowered;
  if (!(diff < score_bound && score_bound > kTrustedProduct)) {
    // The limit may be Inf too; the overflow of the error is the worse news.
    const double score = diff > kMaxDouble ? diff : diff / limit;
    if (score > stats->score) {
      stats->score = score;
      stats->worst_score = position;
    }
  }
  return diff > limit || diff > kMaxDouble;
}

template <typename Rule>
FG_HOST_DEVICE inline bool AddError(const ElementError& error, const Rule& rule,
                                    PartialComparison* stats) {
  if (error.diff == 0) return false;
  return AddError(error.diff, error.abs_want, rule.Limit(error, stats),
                  error.position, stats);
}

// Takes the error of a finite pair into the sums.
template <typename Rule>
FG_HOST_DEVICE inline void AddUlpError(double got, double want,
                                       const Rule& rule,
                                       PartialComparison* stats) {
  if (got == want) return;
  const int64_t units = rule.ulp_error(got, want);
  stats->ulp_errors += units;
  stats->ulp_error_squares += units * units;
}

FG_HOST_DEVICE inline void AddSpecialMismatch(bool with_nan, int64_t position,
                                              PartialComparison* stats) {
  ++stats->special_mismatches;
  stats->nan_mismatch |= with_nan;
  if (stats->first_special < 0) stats->first_special = position;
}

// sqrt(re^2 + im^2) without overflow or underflow on the way, in operations
// that every IEEE machine rounds alike (std::hypot is the library's choice).
FG_HOST_DEVICE inline double Modulus(double re, double im) {
  re = std::fabs(re);
  im = std::fabs(im);
  const double largest = re > im ? re : im;
  double scale = 1;
  if (largest > 0x1p500) {
    scale = 0x1p-600;
  } else if (largest < 0x1p-500) {
    scale = 0x1p600;
  }
  re *= scale;
  im *= scale;
  return std::sqrt(re * re + im * im) / scale;
}

}  // namespace internal_rule

// Judge() takes one pair into *stats. Positions must rise from call to call.
// finite_numbers: Judge() takes off the pairs that are not finite; whoever
// walks over floating numbers adds all.
template <typename Rule>
FG_HOST_DEVICE inline void Judge(double got, double want, int64_t position,
                                 const Rule& rule, PartialComparison* stats) {
  using internal_rule::PairClass;
  const double diff = std::fabs(got - want);
  if (diff <= internal_rule::kMaxDouble ||
      internal_rule::Classify(got, want) == PairClass::kFinite) {
    internal_rule::AddUlpError(got, want, rule, stats);
    stats->value_mismatches += internal_rule::AddError(
        {diff, std::fabs(got), std::fabs(want), position}, rule, stats);
    return;
  }
  --stats->finite_numbers;
  stats->want_nans += std::isnan(want);
  if (internal_rule::ClassifyBy(rule, got, want, position) ==
      PairClass::kOtherSpecial) {
    internal_rule::AddSpecialMismatch(std::isnan(got) || std::isnan(want),
                                      position, stats);
  }
}

template <typename Rule>
FG_HOST_DEVICE inline void Judge(const ComplexValue& got,
                                 const ComplexValue& want, int64_t position,
                                 const Rule& rule, PartialComparison* stats) {
  using internal_rule::PairClass;
  const PairClass re =
      internal_rule::ClassifyBy(rule, got.re, want.re, position);
  const PairClass im =
      internal_rule::ClassifyBy(rule, got.im, want.im, position);
  const auto sum_part = [&](PairClass part, double got_part, double want_part) {
    if (part == PairClass::kFinite) {
      internal_rule::AddUlpError(got_part, want_part, rule, stats);
    } else {
      --stats->finite_numbers;
    }
  };
  sum_part(re, got.re, want.re);
  sum_part(im, got.im, want.im);
  if (re == PairClass::kFinite && im == PairClass::kFinite) {
    const double diff =
        internal_rule::Modulus(got.re - want.re, got.im - want.im);
    double abs_want = internal_rule::Modulus(want.re, want.im);
    if (abs_want > internal_rule::kMaxDouble) {
      abs_want = internal_rule::kMaxDouble;
    }
    stats->value_mismatches += internal_rule::AddError(
        {diff, abs_want, abs_want, position}, rule, stats);
    return;
  }
  stats->want_nans += std::isnan(want.re) || std::isnan(want.im);
  if (re == PairClass::kOtherSpecial || im == PairClass::kOtherSpecial) {
    const bool with_nan = (re == PairClass::kOtherSpecial &&
                           (std::isnan(got.re) || std::isnan(want.re))) ||
                          (im == PairClass::kOtherSpecial &&
                           (std::isnan(got.im) || std::isnan(want.im)));
    internal_rule::AddSpecialMismatch(with_nan, position, stats);
    return;
  }
  // One part is the same special value in both, or overflowed as it should;
  // the other may be a number.
  bool beyond = false;
  const auto judge_part = [&](double got_part, double want_part) {
    const double abs_want = std::fabs(want_part);
    beyond |= internal_rule::AddError(
        {std::fabs(got_part - want_part), abs_want, abs_want, position}, rule,
        stats);
  };
  if (re == PairClass::kFinite) judge_part(got.re, want.re);
  if (im == PairClass::kFinite) judge_part(got.im, want.im);
  stats->value_mismatches += beyond;
}

// Integers and bools: no rule but equality.
template <typename Integer>
FG_HOST_DEVICE inline void JudgeInteger(Integer got, Integer want,
                                        int64_t position,
                                        PartialComparison* stats) {
  if (got == want) return;
  const uint64_t larger = static_cast<uint64_t>(got > want ? got : want);
  const uint64_t smaller = static_cast<uint64_t>(got > want ? want : got);
  const double diff = static_cast<double>(larger - smaller);  // modulo 2^64
  const double abs_want = std::fabs(static_cast<double>(want));
  stats->value_mismatches +=
      internal_rule::AddError(diff, abs_want, 0, position, stats);
}

template <typename Rule>
FG_HOST_DEVICE inline void Judge(int64_t got, int64_t want, int64_t position,
                                 const Rule&, PartialComparison* stats) {
  JudgeInteger(got, want, position, stats);
}

template <typename Rule>
FG_HOST_DEVICE inline void Judge(uint64_t got, uint64_t want, int64_t position,
                                 const Rule&, PartialComparison* stats) {
  JudgeInteger(got, want, position, stats);
}

}  // namespace flaggems

#endif  // FLAGGEMS_COMPARATOR_ELEMENT_RULE_H_
