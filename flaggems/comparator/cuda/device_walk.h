#ifndef FLAGGEMS_COMPARATOR_CUDA_DEVICE_WALK_H_
#define FLAGGEMS_COMPARATOR_CUDA_DEVICE_WALK_H_

// How threads of a device share a comparison: which elements a thread looks at,
// and how it takes them into what it finds (found_words.h). Host code can run
// the same threads one after the other.
//
// Elements are cut into tiles, and a warp takes whole tiles, in rising order;
// which ones is its feed's to say. In a tile a lane takes runs of kRun elements
// that lie kWarp * kRun apart, so that neighbouring lanes read neighbouring
// memory. What is left after the last full tile is a tile too, whose elements
// are read one by one.
//
// A Feed is what one warp gets (DirectFeed below; staged_feed.cuh):
//   int64_t Tile();   // the tile to look at; none is left from tiles() on
//   void Advance();   // to the next one
//   void ReadRun(const Walk& walk, int lane, int run, Walk::RunPairs* pairs);
//                     // this lane's of Tile(), which is full
//   kRunsAtOnce       // runs that are to be read before the first is looked at
//   kTilesOfLearning  // with one of so many tiles a warp asks what all blocks
//                     // know; all ask for the same word of memory

#include <cstdint>
#include <type_traits>

#include "flaggems/comparator/comparison.h"
#include "flaggems/comparator/cuda/device_elements.h"
#include "flaggems/comparator/cuda/device_look.h"
#include "flaggems/comparator/cuda/found_words.h"
#include "flaggems/comparator/cuda/strided_layout.h"
#include "flaggems/comparator/cuda/unroll.h"
#include "flaggems/comparator/element_rule.h"
#include "flaggems/core/host_device.h"

namespace flaggems {
namespace internal_device {

// The tiles of warp `warp` of `warps`, read from the arrays themselves: at any
// time all warps are in the same part of the arrays, and neighbours next to
// each other.
class DirectFeed {
 public:
  static constexpr int kRunsAtOnce = 4;
  // While the tile is on its way.
  static constexpr int kTilesOfLearning = 1;

  FG_HOST_DEVICE DirectFeed(int64_t warp, int64_t warps)
      : tile_(warp), step_(warps) {}

  FG_HOST_DEVICE int64_t Tile() const { return tile_; }
  FG_HOST_DEVICE void Advance() { tile_ += step_; }
  template <typename Walk>
  FG_HOST_DEVICE void ReadRun(const Walk& walk, int lane, int run,
                              typename Walk::RunPairs* pairs) const {
    walk.ReadRun(tile_, lane, run, pairs);
  }

 private:
  int64_t tile_;
  int64_t step_;
};

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

template <typename ElementsType, typename Rule, typename Positions = RowMajor>
class ElementWalk {
  static constexpr OutputKind kOutput =
      ElementsType::kOutput == OutputKind::kWide && !Positions::kIsRising
          ? OutputKind::kAny
          : ElementsType::kOutput;
  using First = FirstLook<Rule, kOutput>;
  static_assert(Positions::kIsRising || !First::kTakesCondition,
                "conditions lie in row-major order");

 public:
  using Elements = ElementsType;
  using Value = typename Elements::Value;
  static constexpr bool kTakesCondition = First::kTakesCondition;
  // Whether Prepare() finds any, and Walk() asks for those of others.
  static constexpr bool kHasBounds = First::kHasBounds;
  static constexpr int kRun = Elements::kRun;
  static constexpr int kRuns = 4;
  static constexpr int kPairs = kRuns * kRun;  // of a lane in a tile
  static constexpr int64_t kTile = int64_t{kWarp} * kPairs;

  // A run of a lane. Conditions are 0 where the rule takes none.
  struct RunPairs {
    Value got[kRun];
    Value want[kRun];
    double condition[kRun];
    uint32_t nonzero;  // as Elements::Read() says
  };

  // `is_unsigned`: uint64_t, to be judged as such.
  ElementWalk(const Elements& elements, const Rule& rule, int64_t numel,
              bool is_unsigned = false, const Positions& positions = {})
      : elements_(elements),
        rule_(rule),
        positions_(positions),
        numel_(numel),
        is_unsigned_(is_unsigned) {}

  FG_HOST_DEVICE const Elements& elements() const { return elements_; }
  // Null where the rule takes none.
  FG_HOST_DEVICE const double* conditions() const {
    if constexpr (kTakesCondition) return rule_.conditions();
    return nullptr;
  }
  // The last one included that is not full.
  FG_HOST_DEVICE int64_t tiles() const { return (numel_ + kTile - 1) / kTile; }
  FG_HOST_DEVICE int64_t full_tiles() const { return numel_ / kTile; }

  // Of a full tile: the index of the first element of a lane's run.
  FG_HOST_DEVICE static int64_t RunAt(int64_t tile, int lane, int run) {
    return tile * kTile + (run * kWarp + lane) * int64_t{kRun};
  }

  FG_HOST_DEVICE void ReadRun(int64_t tile, int lane, int run,
                              RunPairs* pairs) const {
    const int64_t at = RunAt(tile, lane, run);
    pairs->nonzero = elements_.Read(at, pairs->got, pairs->want);
    Run<double, kRun> condition = {};
    if constexpr (kTakesCondition) {
      condition =
          *reinterpret_cast<const Run<double, kRun>*>(conditions() + at);
    }
    for (int k = 0; k < kRun; ++k) pairs->condition[k] = condition.x[k];
  }

  // To be called by all lanes of a block before one of them walks: without
  // bounds every pair of a first tile would get a second look. What this lane's
  // has at least goes into *block_maxima, which starts with zeros; Tell() tells
  // the other blocks.
  template <typename Feed>
  FG_HOST_DEVICE void Prepare(Feed& feed, int lane,
                              BlockMaxima* block_maxima) const {
    if constexpr (kHasBounds) {
      LowMaxima maxima;
      const int64_t tile = feed.Tile();
      if (tile < full_tiles()) {
        FG_NO_UNROLL
        for (int first = 0; first < kRuns; first += Feed::kRunsAtOnce) {
          RunPairs pairs[Feed::kRunsAtOnce];
          FG_UNROLL
          for (int r = 0; r < Feed::kRunsAtOnce; ++r) {
            feed.ReadRun(*this, lane, first + r, pairs + r);
          }
          FG_UNROLL
          for (int i = 0; i < Feed::kRunsAtOnce * kRun; ++i) {
            const RunPairs& run = pairs[i / kRun];
            const int k = i % kRun;
            First::Estimate(run.got[k], run.want[k], run.condition[k], rule_,
                            &maxima);
          }
        }
      } else if (tile * kTile + lane < numel_) {
        const int64_t i = tile * kTile + lane;
        Value got, want;
        elements_.ReadOne(i, &got, &want);
        First::Estimate(got, want, ConditionAt(i), rule_, &maxima);
      }
      maxima.RaiseIn(block_maxima);
    }
  }

  // What lane `lane` of the feed's warp finds in all of the feed's tiles.
  template <typename Feed>
  FG_HOST_DEVICE void Walk(Feed& feed, int lane, BlockMaxima* block_maxima,
                           Found* found) const {
    constexpr int kAtOnce = Feed::kRunsAtOnce;
    static_assert(kRuns % kAtOnce == 0, "");
    First look(rule_, *block_maxima);
    // What changes with every tile, in registers.
    int64_t count = 0;
    int64_t errors = 0;
    Int128 squares = 0;
    uint32_t nonzero = 0;
    unsigned round = 0;
    int64_t tile;
    for (; (tile = feed.Tile()) < full_tiles(); feed.Advance()) {
      if (count == 0) found->first = positions_(RunAt(tile, lane, 0));
      count += kPairs;
      unsigned loud = 0;
      TileSums sums;
      FG_NO_UNROLL
      for (int first_run = 0; first_run < kRuns; first_run += kAtOnce) {
        RunPairs pairs[kAtOnce];
        FG_UNROLL
        for (int r = 0; r < kAtOnce; ++r) {
          feed.ReadRun(*this, lane, first_run + r, pairs + r);
          nonzero |= pairs[r].nonzero;
        }
        if constexpr (kHasBounds) {
          if (first_run == 0) {
            if (round++ % Feed::kTilesOfLearning == 0) {
              Learn(Current(block_maxima->grid), block_maxima);
            }
            look.Refresh(rule_, *block_maxima);
          }
        }
        unsigned loud_here = 0;
        FG_UNROLL
        for (int i = 0; i < kAtOnce * kRun; ++i) {
          const RunPairs& run = pairs[i / kRun];
          const int k = i % kRun;
          const bool quiet = look.Take(run.got[k], run.want[k],
                                       run.condition[k], rule_, &sums);
          loud_here |= quiet ? 0u : 1u << i;
        }
        loud |= loud_here << (first_run * kRun);
      }
      errors += sums.errors;
      squares += sums.squares;
      if (loud != 0) LookAgain(feed, lane, loud, block_maxima, &look, found);
    }
    found->count = count;
    found->nonzero = nonzero;
    found->is_real = kIsReal;
    if (tile < tiles()) {
      WalkRest(tile * kTile + lane, block_maxima, &look, found);
    }
    found->errors += errors;
    found->squares += squares;
  }

 private:
  static constexpr bool kIsReal = std::is_same_v<Value, double>;

  // At the pairs of a tile whose bits are set.
  template <typename Feed>
  FG_HOST_DEVICE void LookAgain(Feed& feed, int lane, unsigned loud,
                                BlockMaxima* block_maxima, First* look,
                                Found* found) const {
    static_assert(kRun <= 2, "");
    // Read again, so that the first look need not keep them in registers.
#ifdef __CUDA_ARCH__
    asm volatile("" ::: "memory");
#endif
    FG_NO_UNROLL
    for (int run = 0; run < kRuns; ++run) {
      if ((loud >> (run * kRun) & ((1u << kRun) - 1)) == 0) continue;
      RunPairs pairs;
      feed.ReadRun(*this, lane, run, &pairs);
      FG_NO_UNROLL
      for (int k = 0; k < kRun; ++k) {
        if ((loud >> (run * kRun + k) & 1) == 0) continue;
        // Not an index into the run, which would have to be in memory then.
        const bool first = k == 0;
        constexpr int kLast = kRun - 1;
        Look(first ? pairs.got[0] : pairs.got[kLast],
             first ? pairs.want[0] : pairs.want[kLast],
             RunAt(feed.Tile(), lane, run) + k, block_maxima, look, found);
      }
    }
  }

  // What is no full tile: each kWarp-th element from `first` on.
  FG_HOST_DEVICE void WalkRest(int64_t first, BlockMaxima* block_maxima,
                               First* look, Found* found) const {
    if (first < numel_ && found->count == 0) found->first = positions_(first);
    FG_NO_UNROLL
    for (int64_t i = first; i < numel_; i += kWarp) {
      Value got, want;
      elements_.ReadOne(i, &got, &want);
      ++found->count;
      found->nonzero |= got != 0 ? 1 : 0;
      Look(got, want, i, block_maxima, look, found);
    }
  }

  FG_HOST_DEVICE double ConditionAt(int64_t index) const {
    if constexpr (kTakesCondition) return conditions()[index];
    return 0;
  }

  // As LookAtOne(), and for arrays that are read one by one out of line: their
  // loop is long already.
  FG_HOST_DEVICE void Look(Value got, Value want, int64_t index,
                           BlockMaxima* block_maxima, First* look,
                           Found* found) const {
    if constexpr (kRun == 1) {
      LookOutOfLine(got, want, index, block_maxima, look, found);
    } else {
      LookAtOne(got, want, index, block_maxima, look, found);
    }
  }
  FG_HOST_DEVICE __attribute__((noinline)) void LookOutOfLine(
      Value got, Value want, int64_t index, BlockMaxima* block_maxima,
      First* look, Found* found) const {
    LookAtOne(got, want, index, block_maxima, look, found);
  }

  // Once more the first look, for the block may know better by now; then the
  // second one.
  FG_HOST_DEVICE void LookAtOne(Value got, Value want, int64_t index,
                                BlockMaxima* block_maxima, First* look,
                                Found* found) const {
    if constexpr (kIsReal) {
      // Infinities, as a mask makes them, have only to be taken off.
      if (got == want) {
        if (!IsFinite(want)) {
          --found->Stats()->finite_numbers;
        }
        return;
      }
    } else if (got == want) {
      return;
    }
    if constexpr (kHasBounds) {
      look->Refresh(rule_, *block_maxima);
      TileSums sums;
      if (look->Take(got, want, ConditionAt(index), rule_, &sums)) {
        found->Add(sums);
        return;
      }
    }
    PartialComparison* const stats = found->Stats();
    if constexpr (!Positions::kIsRising) {
      LookInAnyOrder(got, want, index, block_maxima, stats);
      return;
    }
    const int64_t position = positions_(index);
    if constexpr (!kIsReal) {
      if (is_unsigned_) {
        SecondLook(static_cast<uint64_t>(got), static_cast<uint64_t>(want),
                   position, rule_, stats, block_maxima);
        return;
      }
    }
    SecondLook(got, want, position, rule_, stats, block_maxima);
    if constexpr (kHasBounds) look->Attain(stats->score);
  }

  // Judge() takes the first of equals that it sees, Merge() the lowest.
  FG_HOST_DEVICE __attribute__((noinline)) void LookInAnyOrder(
      Value got, Value want, int64_t index, BlockMaxima* block_maxima,
      PartialComparison* stats) const {
    PartialComparison one;
    SecondLook(got, want, positions_(index), rule_, &one, block_maxima);
    *stats = Merge(*stats, one);
  }

  Elements elements_;
  Rule rule_;
  Positions positions_;
  int64_t numel_;
  bool is_unsigned_;
};

}  // namespace internal_device
}  // namespace flaggems

#endif  // FLAGGEMS_COMPARATOR_CUDA_DEVICE_WALK_H_
