#ifndef FLAGGEMS_COMPARATOR_CUDA_DEVICE_WALK_H_
#define FLAGGEMS_COMPARATOR_CUDA_DEVICE_WALK_H_

// How threads of a device share a comparison: which elements a thread looks at,
// and how it takes them into its own statistics, which Merge() joins. Host code
// can run the same threads one after the other.
//
// Elements are cut into tiles. Block b of g takes the tiles b, b + g, ...; in a
// tile, thread t takes runs of kRun elements that lie kThreads * kRun apart, so
// that neighbouring threads read neighbouring memory. What is left after the
// last full tile goes to one block, an element at a time.
//
// As on the host, nearly all elements get a first look only, without a
// division. The bounds of that look are the maxima of the whole block: what an
// element cannot beat there it cannot beat in the joined result, and since the
// bound for the score lies strictly below a score that another element has, it
// is not the first of equals either.

#include <cmath>
#include <cstdint>
#include <type_traits>

#include "flaggems/comparator/budget_rule.h"
#include "flaggems/comparator/comparison.h"
#include "flaggems/comparator/cuda/device_comparison.h"
#include "flaggems/comparator/cuda/strided_layout.h"
#include "flaggems/comparator/element.h"
#include "flaggems/comparator/element_rule.h"
#include "flaggems/core/dtype.h"
#include "flaggems/core/host_device.h"

#ifdef __CUDA_ARCH__
#define FG_UNROLL_ _Pragma("unroll")
#else
#define FG_UNROLL_
#endif

namespace flaggems {
namespace internal_device {

inline constexpr int kThreads = 256;

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

// ---- Rules: the first look at a pair, and the second.

template <typename Rule>
class FirstLook;

template <bool kPerElement>
class FirstLook<BudgetRule<kPerElement>> {
 public:
  FG_HOST_DEVICE FirstLook(const BudgetRule<kPerElement>& rule,
                           const BlockMaxima& block)
      : bounds_(rule, Known(block)) {}

  FG_HOST_DEVICE bool IsQuiet(double got, double want, int64_t position) const {
    const double diff = std::fabs(got - want);
    const double abs_want = std::fabs(want);
    const double rel =
        bounds_.errors.rel_slope * abs_want + bounds_.errors.rel_base;
    const double score = bounds_.ForScore(std::fabs(got), abs_want, position);
    return (got == want) |
           ((diff <= bounds_.errors.abs) & (diff <= rel) & (diff <= score));
  }

 private:
  FG_HOST_DEVICE static PartialComparison Known(const BlockMaxima& block) {
    PartialComparison known;
    known.max_abs_diff = block.abs;
    known.max_rel_diff = block.rel;
    known.score = block.score;
    return known;
  }

  typename BudgetRule<kPerElement>::QuietBounds bounds_;
};

// No tolerance: what is not equal has to be counted.
template <>
class FirstLook<FixedRule> {
 public:
  FG_HOST_DEVICE FirstLook(const FixedRule&, const BlockMaxima&) {}

  template <typename Value>
  FG_HOST_DEVICE bool IsQuiet(Value got, Value want, int64_t) const {
    return got == want;
  }
};

// Out of line, and with the statistics in memory: seldom called, and the
// registers are for loads in flight.
template <typename Rule, typename Value>
FG_HOST_DEVICE __attribute__((noinline)) void SecondLook(
    Value got, Value want, int64_t position, const Rule& rule,
    PartialComparison* stats, BlockMaxima* block) {
  // The block may know better by now.
  const FirstLook<Rule> look(rule, *block);
  if (look.IsQuiet(got, want, position)) return;
  Judge(got, want, position, rule, stats);
  Raise(block, *stats);
}

// ---- Elements: `kRun` neighbours from a position on.

// Contiguous, of a type known to the compiler, aligned to runs.
template <DType kGot>
struct AlignedRuns {
  static constexpr int kRun = 2;
  using Value = double;

  const StoredOf<kGot>* got;
  const double* want;

  FG_HOST_DEVICE void Read(int64_t position, double* g, double* w) const {
    struct alignas(kRun * sizeof(StoredOf<kGot>)) GotRun {
      StoredOf<kGot> x[kRun];
    };
    struct alignas(kRun * sizeof(double)) WantRun {
      double x[kRun];
    };
    const GotRun got_run = *reinterpret_cast<const GotRun*>(got + position);
    const WantRun want_run = *reinterpret_cast<const WantRun*>(want + position);
    for (int i = 0; i < kRun; ++i) {
      g[i] = Element<kGot>::Load(got_run.x[i]);
      w[i] = want_run.x[i];
    }
  }
  FG_HOST_DEVICE void ReadOne(int64_t position, double* g, double* w) const {
    *g = Element<kGot>::Load(got[position]);
    *w = want[position];
  }
};

template <DType kDType>
FG_HOST_DEVICE inline ValueOf<kDType> LoadAt(const void* data, int64_t i) {
  return Element<kDType>::Load(static_cast<const StoredOf<kDType>*>(data)[i]);
}

// Of a real floating type.
FG_HOST_DEVICE inline double LoadReal(DType dtype, const void* data,
                                      int64_t i) {
  switch (dtype) {
    case DType::kFloat16:
      return LoadAt<DType::kFloat16>(data, i);
    case DType::kBFloat16:
      return LoadAt<DType::kBFloat16>(data, i);
    case DType::kFloat32:
      return LoadAt<DType::kFloat32>(data, i);
    case DType::kFloat8E4M3FN:
      return LoadAt<DType::kFloat8E4M3FN>(data, i);
    case DType::kFloat8E5M2:
      return LoadAt<DType::kFloat8E5M2>(data, i);
    case DType::kFloat8E4M3FNUZ:
      return LoadAt<DType::kFloat8E4M3FNUZ>(data, i);
    case DType::kFloat8E5M2FNUZ:
      return LoadAt<DType::kFloat8E5M2FNUZ>(data, i);
    case DType::kFloat8E8M0FNU:
      return LoadAt<DType::kFloat8E8M0FNU>(data, i);
    default:
      return LoadAt<DType::kFloat64>(data, i);
  }
}

// Of bool or an integer; uint64 as the int64_t of the same bits.
FG_HOST_DEVICE inline int64_t LoadInteger(DType dtype, const void* data,
                                          int64_t i) {
  switch (dtype) {
    case DType::kBool:
      return LoadAt<DType::kBool>(data, i);
    case DType::kUInt8:
      return LoadAt<DType::kUInt8>(data, i);
    case DType::kInt8:
      return LoadAt<DType::kInt8>(data, i);
    case DType::kInt16:
      return LoadAt<DType::kInt16>(data, i);
    case DType::kInt32:
      return LoadAt<DType::kInt32>(data, i);
    case DType::kUInt16:
      return LoadAt<DType::kUInt16>(data, i);
    case DType::kUInt32:
      return LoadAt<DType::kUInt32>(data, i);
    default:
      return LoadAt<DType::kInt64>(data, i);
  }
}

// Strided, of any real floating types.
template <typename Index>
struct StridedReals {
  static constexpr int kRun = 1;
  using Value = double;

  const void* got;
  const void* want;
  DType got_dtype;
  DType want_dtype;
  StridedLayout<Index> layout;

  FG_HOST_DEVICE void Read(int64_t position, double* g, double* w) const {
    int64_t got_offset, want_offset;
    layout.Offsets(position, &got_offset, &want_offset);
    *g = LoadReal(got_dtype, got, got_offset);
    *w = LoadReal(want_dtype, want, want_offset);
  }
  FG_HOST_DEVICE void ReadOne(int64_t position, double* g, double* w) const {
    Read(position, g, w);
  }
};

// Strided, of one integer type.
template <typename Index>
struct StridedIntegers {
  static constexpr int kRun = 1;
  using Value = int64_t;

  const void* got;
  const void* want;
  DType dtype;
  StridedLayout<Index> layout;

  FG_HOST_DEVICE void Read(int64_t position, int64_t* g, int64_t* w) const {
    int64_t got_offset, want_offset;
    layout.Offsets(position, &got_offset, &want_offset);
    *g = LoadInteger(dtype, got, got_offset);
    *w = LoadInteger(dtype, want, want_offset);
  }
  FG_HOST_DEVICE void ReadOne(int64_t position, int64_t* g, int64_t* w) const {
    Read(position, g, w);
  }
};

// ---- The walk.

template <typename Elements, typename Rule>
class ElementWalk {
 public:
  static constexpr int kRuns = 4;
  static constexpr int64_t kTile = int64_t{kThreads} * kRuns * Elements::kRun;

  // `is_unsigned`: uint64_t, to be judged as such.
  ElementWalk(const Elements& elements, const Rule& rule, int64_t numel,
              bool is_unsigned = false)
      : elements_(elements),
        rule_(rule),
        numel_(numel),
        is_unsigned_(is_unsigned) {}

  // Tiles, the last one included that is not full.
  int64_t tiles() const { return (numel_ + kTile - 1) / kTile; }

  // Thread `thread` of block `block` of `blocks`. *block_maxima starts with
  // zeros.
  FG_HOST_DEVICE DeviceComparison Walk(int64_t block, int64_t blocks,
                                       int thread,
                                       BlockMaxima* block_maxima) const {
    constexpr int kRun = Elements::kRun;
    PartialComparison stats;
    bool nonzero = false;
    const int64_t full_tiles = numel_ / kTile;
    int64_t count = 0;
    for (int64_t tile = block; tile < full_tiles; tile += blocks) {
      const int64_t first = tile * kTile + int64_t{thread} * kRun;
      if (count == 0) stats.worst_score = first;
      count += kRuns * kRun;
      nonzero |= WalkTile(first, block_maxima, &stats);
    }
    if (full_tiles % blocks == block) {
      const int64_t first = full_tiles * kTile + thread;
      if (first < numel_ && count == 0) stats.worst_score = first;
      // All reads first, for they take their time.
      Value got[kRuns * kRun];
      Value want[kRuns * kRun];
      FG_UNROLL_
      for (int r = 0; r < kRuns * kRun; ++r) {
        got[r] = want[r] = 0;
        const int64_t i = first + r * kThreads;
        if (i < numel_) elements_.ReadOne(i, got + r, want + r);
      }
      FG_UNROLL_
      for (int r = 0; r < kRuns * kRun; ++r) {
        const int64_t i = first + r * kThreads;
        if (i >= numel_) break;
        ++count;
        nonzero |= got[r] != 0;
        Look(got[r], want[r], i, block_maxima, &stats);
      }
    }
    stats.numel = count;
    return {stats, nonzero};
  }

 private:
  using Value = typename Elements::Value;

  // Whether an element of got is not 0.
  FG_HOST_DEVICE bool WalkTile(int64_t first, BlockMaxima* block_maxima,
                               PartialComparison* stats) const {
    constexpr int kRun = Elements::kRun;
    Value got[kRuns * kRun];
    Value want[kRuns * kRun];
    FG_UNROLL_
    for (int r = 0; r < kRuns; ++r) {
      elements_.Read(first + r * (kThreads * kRun), got + r * kRun,
                     want + r * kRun);
    }
    const FirstLook<Rule> look(rule_, *block_maxima);
    unsigned loud = 0;
    bool nonzero = false;
    FG_UNROLL_
    for (int i = 0; i < kRuns * kRun; ++i) {
      const int64_t position =
          first + (i / kRun) * (kThreads * kRun) + i % kRun;
      nonzero |= got[i] != 0;
      loud |= look.IsQuiet(got[i], want[i], position) ? 0u : 1u << i;
    }
    if (loud == 0) return nonzero;
    FG_UNROLL_
    for (int i = 0; i < kRuns * kRun; ++i) {
      if ((loud >> i & 1) == 0) continue;
      Look(got[i], want[i], first + (i / kRun) * (kThreads * kRun) + i % kRun,
           block_maxima, stats);
    }
    return nonzero;
  }

  FG_HOST_DEVICE void Look(Value got, Value want, int64_t position,
                           BlockMaxima* block_maxima,
                           PartialComparison* stats) const {
    if constexpr (std::is_same_v<Value, int64_t>) {
      if (is_unsigned_) {
        SecondLook(static_cast<uint64_t>(got), static_cast<uint64_t>(want),
                   position, rule_, stats, block_maxima);
        return;
      }
    }
    SecondLook(got, want, position, rule_, stats, block_maxima);
  }

  Elements elements_;
  Rule rule_;
  int64_t numel_;
  bool is_unsigned_;
};

// Contiguous integers of one type, aligned to 16 bytes and compared as words.
class WordWalk {
 public:
  static constexpr int kRuns = 2;

  WordWalk(const void* got, const void* want, DType dtype, int64_t numel)
      : got_(static_cast<const char*>(got)),
        want_(static_cast<const char*>(want)),
        dtype_(dtype),
        size_(static_cast<int>(ElementSize(dtype))),
        numel_(numel) {}

  int64_t tiles() const { return (Words() + kTile - 1) / kTile; }

  FG_HOST_DEVICE DeviceComparison Walk(int64_t block, int64_t blocks,
                                       int thread,
                                       BlockMaxima* block_maxima) const {
    PartialComparison stats;
    bool nonzero = false;
    const int run = kBytes / size_;
    const int64_t words = Words();
    int64_t count = 0;
    int64_t tile = block;
    for (; tile * kTile < words; tile += blocks) {
      const int64_t first = tile * kTile + thread;
      if (first < words && count == 0) stats.worst_score = first * run;
      Word got[kRuns], want[kRuns];
      FG_UNROLL_
      for (int r = 0; r < kRuns; ++r) {
        got[r] = want[r] = {0, 0};
        const int64_t i = first + r * kThreads;
        if (i < words) {
          got[r] = reinterpret_cast<const Word*>(got_)[i];
          want[r] = reinterpret_cast<const Word*>(want_)[i];
        }
      }
      FG_UNROLL_
      for (int r = 0; r < kRuns; ++r) {
        const int64_t i = first + r * kThreads;
        if (i < words) count += run;
        nonzero |= (got[r].low | got[r].high) != 0;
        if (((got[r].low ^ want[r].low) | (got[r].high ^ want[r].high)) != 0) {
          for (int64_t k = i * run; k < (i + 1) * run; ++k) {
            LookAt(k, block_maxima, &stats);
          }
        }
      }
    }
    // What is less than a word, in the block whose turn it would be.
    const int64_t i = words * run + thread;
    if (i < numel_ && (words + kTile - 1) / kTile % blocks == block) {
      if (count == 0) stats.worst_score = i;
      ++count;
      nonzero |= LookAt(i, block_maxima, &stats);
    }
    stats.numel = count;
    return {stats, nonzero};
  }

 private:
  static constexpr int kBytes = 16;
  static constexpr int64_t kTile = int64_t{kThreads} * kRuns;  // words
  struct alignas(kBytes) Word {
    uint64_t low, high;
  };

  FG_HOST_DEVICE int64_t Words() const { return numel_ / (kBytes / size_); }

  // Whether the element of got is not 0.
  FG_HOST_DEVICE __attribute__((noinline)) bool LookAt(
      int64_t i, BlockMaxima* block_maxima, PartialComparison* stats) const {
    const int64_t got = LoadInteger(dtype_, got_, i);
    const int64_t want = LoadInteger(dtype_, want_, i);
    if (got == want) return got != 0;
    const FixedRule exact{{0, 0}};
    if (dtype_ == DType::kUInt64) {
      SecondLook(static_cast<uint64_t>(got), static_cast<uint64_t>(want), i,
                 exact, stats, block_maxima);
    } else {
      SecondLook(got, want, i, exact, stats, block_maxima);
    }
    return got != 0;
  }

  const char* got_;
  const char* want_;
  DType dtype_;
  int size_;
  int64_t numel_;
};

}  // namespace internal_device
}  // namespace flaggems

#undef FG_UNROLL_

#endif  // FLAGGEMS_COMPARATOR_CUDA_DEVICE_WALK_H_
