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

#include <cstdint>
#include <type_traits>

#include "flaggems/comparator/comparison.h"
#include "flaggems/comparator/cuda/device_comparison.h"
#include "flaggems/comparator/cuda/device_elements.h"
#include "flaggems/comparator/cuda/device_look.h"
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

// What the number of an element in the walk says of its row-major position.
// Most walks follow the positions.
struct RowMajor {
  static constexpr bool kIsRising = true;
  FG_HOST_DEVICE int64_t operator()(int64_t index) const { return index; }
};

// Others follow the memory, where both arrays have their dimensions in the same
// other order. Only pairs that get a second look are asked for their position.
struct Permuted {
  static constexpr bool kIsRising = false;
  // got_strides are those of the positions, want_strides those of the memory.
  StridedLayout<uint64_t> layout;

  FG_HOST_DEVICE int64_t operator()(int64_t index) const {
    int64_t position, same;
    layout.Offsets(index, &position, &same);
    return position;
  }
};

template <typename Elements, typename Rule, typename Positions = RowMajor>
class ElementWalk {
  static_assert(Positions::kIsRising || !FirstLook<Rule>::kTakesCondition,
                "conditions lie in row-major order");

 public:
  static constexpr int kRuns = 4;
  static constexpr int64_t kTile = int64_t{kThreads} * kRuns * Elements::kRun;
  // Three would have more loads in flight, and fewer registers than a tile
  // takes: 70 % of a copy's rate in place of 83.
  static constexpr int kBlocksPerProcessor = 2;

  // `is_unsigned`: uint64_t, to be judged as such.
  ElementWalk(const Elements& elements, const Rule& rule, int64_t numel,
              bool is_unsigned = false, const Positions& positions = {})
      : elements_(elements),
        rule_(rule),
        positions_(positions),
        numel_(numel),
        is_unsigned_(is_unsigned) {}

  // Tiles, the last one included that is not full.
  int64_t tiles() const { return (numel_ + kTile - 1) / kTile; }

  // To be called by all threads of a block before one of them walks: without
  // bounds every pair of the first tile would get a second look. What that tile
  // has at least goes into *block_maxima, which starts with zeros; Push() tells
  // the other blocks.
  FG_HOST_DEVICE void Prepare(int64_t block, int thread,
                              BlockMaxima* block_maxima) const {
    if constexpr (FirstLook<Rule>::kHasBounds) {
      LowMaxima maxima;
      const int64_t first = block * kTile + int64_t{thread} * kRun;
      if ((block + 1) * kTile <= numel_) {
        Pairs pairs;
        Read(first, &pairs);
        double conditions[kPairs];
        ReadConditions(first, conditions);
        FG_UNROLL_
        for (int i = 0; i < kPairs; ++i) {
          FirstLook<Rule>::Estimate(pairs.got[i], pairs.want[i], conditions[i],
                                    rule_, &maxima);
        }
      } else if (first < numel_) {
        Value got, want;
        elements_.ReadOne(first, &got, &want);
        FirstLook<Rule>::Estimate(got, want, ConditionAt(first), rule_,
                                  &maxima);
      }
      maxima.Tell(block_maxima);
    }
  }

  // Thread `thread` of block `block` of `blocks`.
  FG_HOST_DEVICE DeviceComparison Walk(int64_t block, int64_t blocks,
                                       int thread,
                                       BlockMaxima* block_maxima) const {
    PartialComparison stats;
    FirstLook<Rule> look(rule_, *block_maxima);
    QuietSums sums;
    uint32_t nonzero = 0;
    const int64_t full_tiles = numel_ / kTile;
    int64_t count = 0;
    for (int64_t tile = block; tile < full_tiles; tile += blocks) {
      const int64_t first = tile * kTile + int64_t{thread} * kRun;
      if (count == 0) stats.worst_score = positions_(first);
      count += kPairs;
      nonzero |= WalkTile(first, block_maxima, &look, &sums, &stats);
    }
    if (full_tiles % blocks == block) {
      const int64_t first = full_tiles * kTile + thread;
      if (first < numel_ && count == 0) {
        stats.worst_score = positions_(first);
      }
      // All reads first, for they take their time.
      Value got[kPairs];
      Value want[kPairs];
      FG_UNROLL_
      for (int r = 0; r < kPairs; ++r) {
        got[r] = want[r] = 0;
        const int64_t i = first + r * kThreads;
        if (i < numel_) elements_.ReadOne(i, got + r, want + r);
      }
      FG_UNROLL_
      for (int r = 0; r < kPairs; ++r) {
        const int64_t i = first + r * kThreads;
        if (i >= numel_) break;
        ++count;
        nonzero |= got[r] != 0 ? 1 : 0;
        Look(got[r], want[r], i, ConditionAt(i), block_maxima, &stats);
      }
    }
    stats.numel = count;
    if constexpr (kIsReal) stats.finite_numbers += count;
    stats.ulp_errors += sums.errors;
    stats.ulp_error_squares += sums.squares;
    return {stats, nonzero != 0};
  }

 private:
  using Value = typename Elements::Value;
  static constexpr bool kIsReal = std::is_same_v<Value, double>;
  static constexpr int kRun = Elements::kRun;
  static constexpr int kPairs = kRuns * kRun;  // of a thread in a tile

  // Of one thread. Apart from the other statistics, which are in memory.
  struct QuietSums {
    int64_t errors = 0;  // of at most 2^32 pairs
    Int128 squares = 0;
  };

  // What a thread has of a tile.
  struct Pairs {
    Value got[kPairs];
    Value want[kPairs];
  };

  FG_HOST_DEVICE static int64_t IndexOf(int64_t first, int i) {
    return first + (i / kRun) * (kThreads * kRun) + i % kRun;
  }

  // Not 0 if an element of got is not 0.
  FG_HOST_DEVICE uint32_t Read(int64_t first, Pairs* pairs) const {
    uint32_t nonzero = 0;
    FG_UNROLL_
    for (int i = 0; i < kPairs; i += kRun) {
      nonzero |=
          elements_.Read(IndexOf(first, i), pairs->got + i, pairs->want + i);
    }
    return nonzero;
  }

  // Zeros where the rule takes none.
  FG_HOST_DEVICE void ReadConditions(int64_t first, double* conditions) const {
    FG_UNROLL_
    for (int i = 0; i < kPairs; i += kRun) {
      Run<double, kRun> run = {};
      if constexpr (FirstLook<Rule>::kTakesCondition) {
        run = *reinterpret_cast<const Run<double, kRun>*>(rule_.conditions() +
                                                          IndexOf(first, i));
      }
      for (int k = 0; k < kRun; ++k) conditions[i + k] = run.x[k];
    }
  }

  // As Read().
  FG_HOST_DEVICE uint32_t WalkTile(int64_t first, BlockMaxima* block_maxima,
                                   FirstLook<Rule>* look, QuietSums* sums,
                                   PartialComparison* stats) const {
    Pairs pairs;
    const uint32_t nonzero = Read(first, &pairs);
    double conditions[kPairs];
    ReadConditions(first, conditions);
    // The tile's elements are on their way meanwhile.
    look->Refresh(rule_, block_maxima);
    unsigned loud = 0;
    TileSums tile;
    FG_UNROLL_
    for (int i = 0; i < kPairs; ++i) {
      const bool quiet =
          look->Take(pairs.got[i], pairs.want[i], conditions[i], rule_, &tile);
      loud |= quiet ? 0u : 1u << i;
    }
    sums->errors += tile.errors;
    sums->squares += tile.squares;
    if (loud != 0) LookAgain(first, loud, block_maxima, stats);
    return nonzero;
  }

  // At the pairs of a tile whose bits are set.
  FG_HOST_DEVICE void LookAgain(int64_t first, unsigned loud,
                                BlockMaxima* block_maxima,
                                PartialComparison* stats) const {
    // Read again, so that the first look need not keep them in registers.
#ifdef __CUDA_ARCH__
    asm volatile("" ::: "memory");
#pragma unroll 1
#endif
    for (int i = 0; i < kPairs; ++i) {
      if ((loud >> i & 1) == 0) continue;
      const int64_t index = IndexOf(first, i);
      Value got, want;
      elements_.ReadOne(index, &got, &want);
      if constexpr (kIsReal) {
        // Infinities, as a mask makes them, have only to be taken off.
        if (got == want) {
          if (!IsFinite(want)) --stats->finite_numbers;
          continue;
        }
      }
      Look(got, want, index, ConditionAt(index), block_maxima, stats);
    }
  }

  FG_HOST_DEVICE double ConditionAt(int64_t index) const {
    if constexpr (FirstLook<Rule>::kTakesCondition) {
      return rule_.conditions()[index];
    }
    return 0;
  }

  FG_HOST_DEVICE void Look(Value got, Value want, int64_t index,
                           double condition, BlockMaxima* block_maxima,
                           PartialComparison* stats) const {
    if constexpr (!Positions::kIsRising) {
      LookInAnyOrder(got, want, index, condition, block_maxima, stats);
      return;
    }
    const int64_t position = positions_(index);
    if constexpr (!kIsReal) {
      if (is_unsigned_) {
        SecondLook(static_cast<uint64_t>(got), static_cast<uint64_t>(want),
                   position, condition, rule_, stats, block_maxima);
        return;
      }
    }
    SecondLook(got, want, position, condition, rule_, stats, block_maxima);
  }

  // Judge() takes the first of equals that it sees, Merge() the lowest.
  FG_HOST_DEVICE __attribute__((noinline)) void LookInAnyOrder(
      Value got, Value want, int64_t index, double condition,
      BlockMaxima* block_maxima, PartialComparison* stats) const {
    PartialComparison one;
    SecondLook(got, want, positions_(index), condition, rule_, &one,
               block_maxima);
    *stats = Merge(*stats, one);
  }

  Elements elements_;
  Rule rule_;
  Positions positions_;
  int64_t numel_;
  bool is_unsigned_;
};

// Contiguous integers of one type, aligned to 16 bytes and compared as words.
class WordWalk {
 public:
  static constexpr int kRuns = 2;
  static constexpr int kBlocksPerProcessor = 3;

  WordWalk(const void* got, const void* want, DType dtype, int64_t numel)
      : got_(static_cast<const char*>(got)),
        want_(static_cast<const char*>(want)),
        dtype_(dtype),
        size_(static_cast<int>(ElementSize(dtype))),
        numel_(numel) {}

  int64_t tiles() const { return (Words() + kTile - 1) / kTile; }

  FG_HOST_DEVICE void Prepare(int64_t /*block*/, int /*thread*/,
                              BlockMaxima* /*block_maxima*/) const {}

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
    const FixedRule exact{{0, 0}, {}};
    if (dtype_ == DType::kUInt64) {
      SecondLook(static_cast<uint64_t>(got), static_cast<uint64_t>(want), i, 0,
                 exact, stats, block_maxima);
    } else {
      SecondLook(got, want, i, 0, exact, stats, block_maxima);
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
