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
#include "flaggems/comparator/element.h"
#include "flaggems/comparator/element_rule.h"
#include "flaggems/comparator/quiet_errors.h"
#include "flaggems/comparator/ulp_error.h"
#include "flaggems/core/host_device.h"

namespace flaggems {
namespace internal_device {

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
  // Of all blocks, which know at once what one alone would learn slowly; null:
  // there are no others.
  GridMaxima* grid;
};

// Past the first level of the cache, which does not see other processors.
FG_HOST_DEVICE inline uint64_t Current(const uint64_t* bits) {
#ifdef __CUDA_ARCH__
  return __ldcg(reinterpret_cast<const unsigned long long*>(bits));
#else
  return *bits;
#endif
}

// On a device nobody waits for it.
FG_HOST_DEVICE inline void Push(uint64_t* bits, double value) {
  const auto own = internal_element::BitCast<uint64_t>(value);
#ifdef __CUDA_ARCH__
  atomicMax(reinterpret_cast<unsigned long long*>(bits), own);
#else
  if (own > *bits) *bits = own;
#endif
}

// Tells all blocks what this one knows.
FG_HOST_DEVICE inline void Push(const BlockMaxima& block) {
  if (block.grid == nullptr) return;
  Push(&block.grid->abs, block.abs);
  Push(&block.grid->rel, block.rel);
  Push(&block.grid->score, block.score);
}

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

// As Raise(), and tells all blocks what nobody here knew.
FG_HOST_DEVICE inline void RaiseAll(BlockMaxima* block,
                                    const PartialComparison& stats) {
  if (block->grid != nullptr) {
    if (stats.max_abs_diff > block->abs) {
      Push(&block->grid->abs, stats.max_abs_diff);
    }
    if (stats.max_rel_diff > block->rel) {
      Push(&block->grid->rel, stats.max_rel_diff);
    }
    if (stats.score > block->score) Push(&block->grid->score, stats.score);
  }
  Raise(block, stats);
}

// What is known by now.
struct KnownMaxima {
  uint64_t abs, rel, score;

  // To the block: costs a look at shared memory.
  FG_HOST_DEVICE explicit KnownMaxima(const BlockMaxima& block)
      : abs(internal_element::BitCast<uint64_t>(double{block.abs})),
        rel(internal_element::BitCast<uint64_t>(double{block.rel})),
        score(internal_element::BitCast<uint64_t>(double{block.score})) {}

  // To all blocks, which this one learns: costs the way to the second level of
  // the cache.
  FG_HOST_DEVICE static KnownMaxima Learn(BlockMaxima* block) {
    KnownMaxima known(*block);
    if (block->grid == nullptr) return known;
    Learn(&block->grid->abs, &known.abs, &block->abs);
    Learn(&block->grid->rel, &known.rel, &block->rel);
    Learn(&block->grid->score, &known.score, &block->score);
    return known;
  }

  // Another number whenever one of them rises, or nearly always: to miss that
  // costs only time.
  FG_HOST_DEVICE uint64_t Version() const { return abs + 3 * rel + 5 * score; }

 private:
  FG_HOST_DEVICE static void Learn(const uint64_t* grid, uint64_t* known,
                                   volatile double* block) {
    const uint64_t bits = Current(grid);
    if (bits <= *known) return;
    *known = bits;
    *block = internal_element::BitCast<double>(bits);
  }
};

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
  FG_HOST_DEVICE void Tell(BlockMaxima* block) const {
#ifdef __CUDA_ARCH__
    const float abs = LargestOfWarp(abs_);
    const float rel = LargestOfWarp(rel_);
    const float score = LargestOfWarp(score_);
    if (threadIdx.x % 32 != 0) return;
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
      : FirstLook(rule, KnownMaxima(block)) {}

  // Bounds of an earlier time are only lower: they last, but not as well.
  FG_HOST_DEVICE void Refresh(const BudgetRule<kPerElement>& rule,
                              BlockMaxima* block) {
    const KnownMaxima known = KnownMaxima::Learn(block);
    if (known.Version() != version_) *this = FirstLook(rule, known);
  }

  FG_HOST_DEVICE static void Estimate(double got, double want, double condition,
                                      const BudgetRule<kPerElement>& rule,
                                      LowMaxima* maxima) {
    const uint32_t smallest = HighWord(rule.ulp_error.smallest_power());
    const uint32_t want_power = Larger(HighWord(want) & kExponents, smallest);
    const uint32_t got_power = Larger(HighWord(got) & kExponents, smallest);
    const double power =
        OfHighWord(got_power < want_power ? got_power : want_power);
    const double abs_want = std::fabs(want);
    const double magnitude =
        kPerElement ? (condition > 0 ? condition : 0) : abs_want;
    maxima->Take(std::fabs(got - want), abs_want,
                 std::fma(rule.spacing_term(), power,
                          std::fma(rule.slope(), magnitude, rule.base())));
  }

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
  FG_HOST_DEVICE FirstLook(const BudgetRule<kPerElement>& rule,
                           const KnownMaxima& maxima)
      : version_(maxima.Version()) {
    PartialComparison known;
    known.max_abs_diff = internal_element::BitCast<double>(maxima.abs);
    known.max_rel_diff = internal_element::BitCast<double>(maxima.rel);
    known.score = internal_element::BitCast<double>(maxima.score);
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
  uint64_t version_;
};

// No tolerance: what is not equal has to be counted.
template <>
class FirstLook<FixedRule> {
 public:
  static constexpr bool kTakesCondition = false;
  static constexpr bool kHasBounds = false;

  FG_HOST_DEVICE FirstLook(const FixedRule&, const BlockMaxima&) {}
  FG_HOST_DEVICE void Refresh(const FixedRule&, BlockMaxima*) {}

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
  RaiseAll(block, *stats);
}

}  // namespace internal_device
}  // namespace flaggems

#endif  // FLAGGEMS_COMPARATOR_CUDA_DEVICE_LOOK_H_
