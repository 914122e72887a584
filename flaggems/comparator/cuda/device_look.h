#ifndef FLAGGEMS_COMPARATOR_CUDA_DEVICE_LOOK_H_
#define FLAGGEMS_COMPARATOR_CUDA_DEVICE_LOOK_H_

// How a thread of a device looks at one pair: nearly all get a first look only,
// without a division. The bounds of that look are the maxima of the whole
// block: what an element cannot beat there it cannot beat in the joined result,
// and since the bound for the score lies strictly below a score that another
// element has, it is not the first of equals either.

#include <cmath>
#include <cstdint>
#include <type_traits>

#include "flaggems/comparator/budget_rule.h"
#include "flaggems/comparator/comparison.h"
#include "flaggems/comparator/element.h"
#include "flaggems/comparator/element_rule.h"
#include "flaggems/comparator/quiet_errors.h"
#include "flaggems/comparator/ulp_error.h"
#include "flaggems/core/host_device.h"

namespace flaggems {
namespace internal_device {

// The largest statistics that threads of a block have found. Written without
// locks: whatever is there belongs to some element, so that it is a valid
// bound; that a smaller one may overwrite it costs only time.
struct BlockMaxima {
  volatile double abs;
  volatile double rel;
  volatile double score;
};

FG_HOST_DEVICE inline void Raise(volatile double* maximum, double value) {
  // The lanes of a warp write one after the other: a few rounds leave the
  // largest, or nearly so.
  for (int round = 0; round < 6 && value > *maximum; ++round) *maximum = value;
}

FG_HOST_DEVICE inline void Raise(BlockMaxima* block,
                                 const PartialComparison& stats) {
  Raise(&block->abs, stats.max_abs_diff);
  Raise(&block->rel, stats.max_rel_diff);
  Raise(&block->score, stats.score);
}

// What a thread keeps of the quiet pairs of a tile: the sums of at most 16
// errors in units (ulp_error.h), and of their squares.
struct TileSums {
  int32_t errors = 0;
  int64_t squares = 0;
};

FG_HOST_DEVICE inline uint32_t HighWord(double x) {
  return static_cast<uint32_t>(internal_element::BitCast<uint64_t>(x) >> 32);
}
FG_HOST_DEVICE inline double OfHighWord(uint32_t high) {
  return internal_element::BitCast<double>(static_cast<uint64_t>(high) << 32);
}
inline constexpr uint32_t kExponents = 0x7ff00000;  // in the upper word

FG_HOST_DEVICE inline bool IsFinite(double x) {
  return (HighWord(x) & kExponents) != kExponents;
}

// ---- The first look at a pair: whether it changes nothing but the element
// count and the sums of errors, which it is then taken into. What it says no to
// gets the second look; that may be too much, equal infinities for example.

template <typename Rule>
class FirstLook;

// budget_rule.h's QuietBounds in fewer operations. They round otherwise than
// the rule; that the bounds are lowered by more than rounding can be makes up
// for it. The spacing is taken from exponents as integers.
template <bool kPerElement>
class FirstLook<BudgetRule<kPerElement>> {
 public:
  static constexpr bool kTakesCondition = kPerElement;
  static constexpr bool kHasBounds = true;

  FG_HOST_DEVICE FirstLook(const BudgetRule<kPerElement>& rule,
                           const BlockMaxima& block)
      : FirstLook(rule, Known(block)) {}

  FG_HOST_DEVICE bool Take(double got, double want, double condition,
                           const BudgetRule<kPerElement>& rule,
                           TileSums* sums) const {
    constexpr uint32_t kMaxUnits = HighWordOfMaxUnits();
    const uint32_t smallest = HighWord(rule.ulp_error.smallest_power());
    const uint32_t want_power = Larger(HighWord(want) & kExponents, smallest);
    const uint32_t got_power = Larger(HighWord(got) & kExponents, smallest);
    const double diff = got - want;
    const double size = std::fabs(diff);
    const double abs_want = std::fabs(want);
    const double rel = std::fma(rel_slope_, abs_want, rel_base_);
    const double power =
        OfHighWord(got_power < want_power ? got_power : want_power);
    const double magnitude =
        kPerElement ? (condition > 0 ? condition : 0) : abs_want;
    const double score =
        std::fma(power_slope_, power, std::fma(slope_, magnitude, base_));
    const double units =
        diff * OfHighWord(kExponents - want_power) * rule.ulp_error.scale();
    const bool quiet = (size <= abs_) & (size <= rel) & (size <= score) &
                       ((HighWord(units) & 0x7fffffff) < kMaxUnits);
    const int64_t shifted =
        UlpErrorFunction::IntegerOf(units + UlpErrorFunction::kToInteger);
    const int32_t integer = quiet ? static_cast<int32_t>(shifted) : 0;
    sums->errors += integer;
    sums->squares += static_cast<int64_t>(integer) * integer;
    return quiet;
  }

 private:
  FG_HOST_DEVICE static PartialComparison Known(const BlockMaxima& block) {
    PartialComparison known;
    known.max_abs_diff = block.abs;
    known.max_rel_diff = block.rel;
    known.score = block.score;
    return known;
  }
  FG_HOST_DEVICE FirstLook(const BudgetRule<kPerElement>& rule,
                           const PartialComparison& known) {
    const internal_rule::QuietErrors errors(known);
    abs_ = errors.abs;
    rel_slope_ = errors.rel_slope;
    rel_base_ = errors.rel_base;
    const double share = internal_rule::QuietScore(known);
    if (share < kTrusted) return;
    power_slope_ = Trusted(share * rule.spacing_term());
    slope_ = Trusted(share * rule.slope());
    // Less what rounding to a subnormal can have added to the products.
    base_ = share * rule.base() - 1e-290;
  }

  static constexpr double kTrusted = 1e-200;
  // A factor that may have lost bits to underflow is left out.
  FG_HOST_DEVICE static double Trusted(double factor) {
    return factor < internal_rule::kQuietTiny ? 0 : factor;
  }
  FG_HOST_DEVICE static uint32_t Larger(uint32_t a, uint32_t b) {
    return a < b ? b : a;
  }
  FG_HOST_DEVICE static constexpr uint32_t HighWordOfMaxUnits() {
    static_assert(UlpErrorFunction::kMaxUnits == 0x1p26, "");
    return uint32_t{1023 + 26} << 20;
  }

  double abs_;
  double rel_slope_;
  double rel_base_;
  double power_slope_ = 0;
  double slope_ = 0;
  double base_ = 0;
};

// No tolerance: what is not equal has to be counted.
template <>
class FirstLook<FixedRule> {
 public:
  static constexpr bool kTakesCondition = false;
  static constexpr bool kHasBounds = false;

  FG_HOST_DEVICE FirstLook(const FixedRule&, const BlockMaxima&) {}

  FG_HOST_DEVICE bool Take(double got, double want, double /*condition*/,
                           const FixedRule&, TileSums*) const {
    return (got == want) & IsFinite(want);
  }
  FG_HOST_DEVICE bool Take(int64_t got, int64_t want, double /*condition*/,
                           const FixedRule&, TileSums*) const {
    return got == want;
  }
};

// ---- The second look.

// Out of line, and with the statistics in memory: seldom called, and the
// registers are for loads in flight.
template <typename Rule, typename Value>
FG_HOST_DEVICE __attribute__((noinline)) void SecondLook(
    Value got, Value want, int64_t position, double condition, const Rule& rule,
    PartialComparison* stats, BlockMaxima* block) {
  if constexpr (std::is_same_v<Value, double>) {
    // The block may know better by now.
    TileSums sums;
    if (FirstLook<Rule>(rule, *block).Take(got, want, condition, rule, &sums)) {
      stats->ulp_errors += sums.errors;
      stats->ulp_error_squares += sums.squares;
      return;
    }
  }
  Judge(got, want, position, rule, stats);
  Raise(block, *stats);
}

}  // namespace internal_device
}  // namespace flaggems

#endif  // FLAGGEMS_COMPARATOR_CUDA_DEVICE_LOOK_H_
