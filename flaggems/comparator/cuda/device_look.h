#ifndef FLAGGEMS_COMPARATOR_CUDA_DEVICE_LOOK_H_
#define FLAGGEMS_COMPARATOR_CUDA_DEVICE_LOOK_H_

// How a thread of a device looks at one pair: nearly all get a first look only,
// without a division. The bounds of that look are the maxima of all
// blocks: what an element cannot beat there it cannot beat in the joined
// result, and since the bound for the score lies strictly below a score that
// another element has, it is not the first of equals either.

#include <cmath>
#include <cstdint>
#include <type_traits>

#include "flaggems/comparator/budget_rule.h"
#include "flaggems/comparator/comparison.h"
#include "flaggems/comparator/cuda/device_elements.h"
#include "flaggems/comparator/cuda/unroll.h"
#include "flaggems/comparator/element.h"
#include "flaggems/comparator/element_rule.h"
#include "flaggems/comparator/quiet_errors.h"
#include "flaggems/comparator/ulp_error.h"
#include "flaggems/core/host_device.h"

namespace flaggems {
namespace internal_device {

inline constexpr int kWarp = 32;

// The largest statistics that threads of all blocks have found, as the bits of
// numbers that are not negative, which rise as the numbers do.
struct GridMaxima {
  uint64_t abs;
  uint64_t rel;
  uint64_t score;
};

// Those that threads of a block have found, or know of others. Written without
// locks: whatever is there belongs to some element, so that it is a valid
// bound; that a smaller one may overwrite it costs only time.
struct BlockMaxima {
  volatile double abs;
  volatile double rel;
  volatile double score;
  // What all blocks have been told by this one.
  volatile double told_abs;
  volatile double told_rel;
  volatile double told_score;
  // Another one whenever abs, rel or score have risen.
  volatile uint32_t version;
  // Of all blocks, which know at once what one alone would learn slowly; null:
  // there are no others.
  GridMaxima* grid;

  FG_HOST_DEVICE void Clear(GridMaxima* of_all) {
    abs = rel = score = told_abs = told_rel = told_score = 0;
    version = 0;
    grid = of_all;
  }
};

// What all blocks know now: costs the way to the second level of the cache,
// past the first, which does not see other processors. Zeros if there are no
// others.
FG_HOST_DEVICE inline GridMaxima Current(const GridMaxima* grid) {
  if (grid == nullptr) return {0, 0, 0};
#ifdef __CUDA_ARCH__
  const auto load = [](const uint64_t* bits) -> uint64_t {
    return __ldcg(reinterpret_cast<const unsigned long long*>(bits));
  };
  return {load(&grid->abs), load(&grid->rel), load(&grid->score)};
#else
  return *grid;
#endif
}

// Tells all blocks what this one knows and has not told. To be called by one
// lane of a warp; there are others, of which some may tell the same.
FG_HOST_DEVICE inline void Tell(BlockMaxima* block) {
  if (block->grid == nullptr) return;
  const auto tell = [](const volatile double& maximum, volatile double* told,
                       uint64_t* bits) {
    const double value = maximum;
    if (value <= *told) return;
    *told = value;
    const auto own = internal_element::BitCast<uint64_t>(value);
#ifdef __CUDA_ARCH__
    // atomicMax() would be ready for shared memory too, at three times the
    // code. Nobody waits for it.
    asm volatile(
        "red.global.max.u64 [%0], %1;" ::"l"(__cvta_generic_to_global(bits)),
        "l"(own)
        : "memory");
#else
    if (own > *bits) *bits = own;
#endif
  };
  tell(block->abs, &block->told_abs, &block->grid->abs);
  tell(block->rel, &block->told_rel, &block->grid->rel);
  tell(block->score, &block->told_score, &block->grid->score);
}

// Whether it has risen.
FG_HOST_DEVICE inline bool Raise(volatile double* maximum, double value) {
  // The lanes of a warp write one after the other: a few rounds leave the
  // largest, or nearly so.
  int round = 0;
  FG_NO_UNROLL
  for (; round < 6 && value > *maximum; ++round) *maximum = value;
  return round > 0;
}

// Also tells all blocks what nobody here knew.
FG_HOST_DEVICE inline void Raise(BlockMaxima* block,
                                 const PartialComparison& stats) {
  const bool has_risen = Raise(&block->abs, stats.max_abs_diff) |
                         Raise(&block->rel, stats.max_rel_diff) |
                         Raise(&block->score, stats.score);
  if (!has_risen) return;
  block->version = block->version + 1;
#ifdef __CUDA_ARCH__
  const unsigned here = __activemask();
  if (threadIdx.x % kWarp != static_cast<unsigned>(__ffs(here)) - 1) return;
#endif
  Tell(block);
}

// What other blocks know becomes known to this one.
FG_HOST_DEVICE inline void Learn(const GridMaxima& grid, BlockMaxima* block) {
  bool is_new = false;
  const auto learn = [&](uint64_t bits, volatile double* maximum) {
    const auto value = internal_element::BitCast<double>(bits);
    if (value <= *maximum) return;
    *maximum = value;
    is_new = true;
  };
  learn(grid.abs, &block->abs);
  learn(grid.rel, &block->rel);
  learn(grid.score, &block->score);
  if (is_new) block->version = block->version + 1;
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

// Statistics that some pairs have at least, from quick arithmetic: bounds to
// begin with. Lowered by more than that can be off, so that every one of these
// pairs is above them, and is counted when it is looked at.
class LowMaxima {
 public:
  // A pair with this error, reference and limit; a limit that may be wrong
  // where the error exceeds it.
  FG_HOST_DEVICE void Take(double size, double abs_want, double limit) {
    const auto error = static_cast<float>(size);
    if (!InRange(error)) return;
    abs_ = Larger(abs_, error);
    rel_ = Larger(rel_, Ratio(error, abs_want + kRelFloor));
    const float score = Ratio(error, limit);
    if (score <= 1) score_ = Larger(score_, score);
  }

  // Into *block, of all threads that call it together: those of a warp.
  FG_HOST_DEVICE void RaiseIn(BlockMaxima* block) const {
#ifdef __CUDA_ARCH__
    const float abs = LargestOfWarp(abs_);
    const float rel = LargestOfWarp(rel_);
    const float score = LargestOfWarp(score_);
    if (threadIdx.x % kWarp != 0) return;
#else
    const float abs = abs_, rel = rel_, score = score_;
#endif
    Raise(&block->abs, abs * kLowered);
    Raise(&block->rel, rel * kLowered);
    Raise(&block->score, score * kLowered);
  }

 private:
  static constexpr double kLowered = 1 - 0x1p-18;

  // Far from where float32 overflows and underflows.
  FG_HOST_DEVICE static bool InRange(float x) {
    return x > 1e-30f && x < 1e30f;
  }
  FG_HOST_DEVICE static float Larger(float a, float b) { return a < b ? b : a; }
  FG_HOST_DEVICE static float Ratio(float error, double divisor) {
    const auto narrow = static_cast<float>(divisor);
    if (!InRange(narrow)) return 0;
#ifdef __CUDA_ARCH__
    return __fdividef(error, narrow);
#else
    return error / narrow;
#endif
  }
#ifdef __CUDA_ARCH__
  __device__ static float LargestOfWarp(float x) {
    return __uint_as_float(__reduce_max_sync(~0u, __float_as_uint(x)));
  }
#endif

  float abs_ = 0;
  float rel_ = 0;
  float score_ = 0;
};

// ---- The first look at a pair: whether it changes nothing but the element
// count and the sums of errors, which it is then taken into. What it says no to
// gets the second look; that may be too much, equal infinities for example.

template <typename Rule, OutputKind kOutput>
class FirstLook;

// budget_rule.h's QuietBounds in fewer operations. They round otherwise than
// the rule; that the bounds are lowered by more than rounding can be makes up
// for it. The spacing is taken from exponents as integers.
//
// kWide: errors are whole spacings, and any number of elements may share the
// largest score, which the lowered bound lets none of them pass. What has no
// larger score than an element before it, by the rule's own arithmetic, is
// quiet too.
template <bool kPerElement, OutputKind kOutput>
class FirstLook<BudgetRule<kPerElement>, kOutput> {
 public:
  static constexpr bool kTakesCondition = kPerElement;
  static constexpr bool kHasBounds = true;

  FG_HOST_DEVICE FirstLook(const BudgetRule<kPerElement>& rule,
                           const BlockMaxima& block)
      // Before the maxima: they can only be newer.
      : version_(block.version) {
    PartialComparison known;
    known.max_abs_diff = block.abs;
    known.max_rel_diff = block.rel;
    known.score = block.score;
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

  // Bounds of an earlier time are only lower: they last, but not as well.
  FG_HOST_DEVICE void Refresh(const BudgetRule<kPerElement>& rule,
                              const BlockMaxima& block) {
    if (block.version == version_) return;
    const double attained = attained_;
    *this = FirstLook(rule, block);
    attained_ = attained;
  }
  // `score`: the largest of what this thread has judged, all of it at lower
  // positions than what comes now.
  FG_HOST_DEVICE void Attain(double score) {
    // Above 1 every element counts.
    if constexpr (kOutput == OutputKind::kWide)
      attained_ = std::fmin(score, 1.0);
  }

  FG_HOST_DEVICE static void Estimate(double got, double want, double condition,
                                      const BudgetRule<kPerElement>& rule,
                                      LowMaxima* maxima) {
    const Powers powers(got, want, rule);
    const double abs_want = std::fabs(want);
    maxima->Take(std::fabs(got - want), abs_want,
                 std::fma(rule.spacing_term(), OfHighWord(powers.smaller),
                          std::fma(rule.slope(), Magnitude(condition, abs_want),
                                   rule.base())));
  }

  FG_HOST_DEVICE bool Take(double got, double want, double condition,
                           const BudgetRule<kPerElement>& rule,
                           TileSums* sums) const {
    constexpr uint32_t kMaxUnits = HighWordOfMaxUnits();
    const Powers powers(got, want, rule);
    const double diff = got - want;
    const double size = std::fabs(diff);
    const double abs_want = std::fabs(want);
    const double rel = std::fma(rel_slope_, abs_want, rel_base_);
    const double power = OfHighWord(powers.smaller);
    const double magnitude = Magnitude(condition, abs_want);
    const double score =
        std::fma(power_slope_, power, std::fma(slope_, magnitude, base_));
    const double units = Units(diff, powers.of_want, rule);
    bool within = size <= score;
    if constexpr (kOutput == OutputKind::kWide) {
      within |= IsAttained(size, power, magnitude, rule);
    }
    const bool quiet = within & (size <= abs_) & (size <= rel) &
                       ((HighWord(units) & 0x7fffffff) < kMaxUnits);
    const int64_t shifted =
        UlpErrorFunction::IntegerOf(units + UlpErrorFunction::kToInteger);
    const int32_t integer = quiet ? static_cast<int32_t>(shifted) : 0;
    sums->errors += integer;
    sums->squares += static_cast<int64_t>(integer) * integer;
    return quiet;
  }

 private:
  // The upper words of 2^e, ulp.h's, at |want| and at the smaller of the two
  // magnitudes.
  struct Powers {
    FG_HOST_DEVICE Powers(double got, double want,
                          const BudgetRule<kPerElement>& rule) {
      const uint32_t smallest = HighWord(rule.ulp_error.smallest_power());
      const uint32_t want_power = HighWord(want) & kExponents;
      const uint32_t got_power = HighWord(got) & kExponents;
      of_want = Larger(want_power, smallest);
      smaller =
          Larger(got_power < want_power ? got_power : want_power, smallest);
    }
    uint32_t of_want;
    uint32_t smaller;
  };

  static constexpr double kTrusted = 1e-200;
  // A factor that may have lost bits to underflow is left out.
  FG_HOST_DEVICE static double Trusted(double factor) {
    return factor < internal_rule::kQuietTiny ? 0 : factor;
  }
  FG_HOST_DEVICE static uint32_t Larger(uint32_t a, uint32_t b) {
    return a < b ? b : a;
  }
  FG_HOST_DEVICE static double Magnitude(double condition, double abs_want) {
    if constexpr (!kPerElement) return abs_want;
    return condition > 0 ? condition : 0;
  }

  // UlpErrorFunction's, before it is clamped.
  FG_HOST_DEVICE static double Units(double diff, uint32_t want_power,
                                     const BudgetRule<kPerElement>& rule) {
    if constexpr (kOutput == OutputKind::kNarrow) {
      // Both factors in one, whose exponent no narrow type carries out of
      // range.
      const uint32_t factor = kExponents - want_power +
                              HighWord(rule.ulp_error.scale()) - HighWord(1.0);
      return diff * OfHighWord(factor);
    }
    return diff * OfHighWord(kExponents - want_power) * rule.ulp_error.scale();
  }

  // Whether size / limit, rounded, is not above attained_: it is not where the
  // exact product attained_ * limit is not below size. The limit is the rule's
  // to the bit; a difference that could have underflowed proves nothing.
  FG_HOST_DEVICE bool IsAttained(double size, double power, double magnitude,
                                 const BudgetRule<kPerElement>& rule) const {
    const double arithmetic = kPerElement
                                  ? rule.slope() * magnitude
                                  : rule.slope() * magnitude + rule.base();
    const double limit = rule.spacing_term() * power + arithmetic;
    return (limit > kTrusted) & (std::fma(-attained_, limit, size) <= 0);
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
  double attained_ = 0;  // kWide
  uint32_t version_;
};

// No tolerance: what is not equal has to be counted.
template <OutputKind kOutput>
class FirstLook<FixedRule, kOutput> {
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

// ---- The second look. Out of line, and with the statistics in memory: seldom
// called, and the registers are for loads in flight.

template <typename Rule, typename Value>
FG_HOST_DEVICE __attribute__((noinline)) void SecondLook(
    Value got, Value want, int64_t position, const Rule& rule,
    PartialComparison* stats, BlockMaxima* block) {
  Judge(got, want, position, rule, stats);
  Raise(block, *stats);
}

}  // namespace internal_device
}  // namespace flaggems

#endif  // FLAGGEMS_COMPARATOR_CUDA_DEVICE_LOOK_H_
