#ifndef FLAGGEMS_COMPARATOR_CUDA_WORD_WALK_H_
#define FLAGGEMS_COMPARATOR_CUDA_WORD_WALK_H_

// The walk (device_walk.h) over contiguous integers of one type, aligned to 16
// bytes and compared as words.

#include <cstdint>

#include "flaggems/comparator/cuda/device_elements.h"
#include "flaggems/comparator/cuda/device_look.h"
#include "flaggems/comparator/cuda/device_walk.h"
#include "flaggems/comparator/cuda/found_words.h"
#include "flaggems/comparator/cuda/unroll.h"
#include "flaggems/comparator/element_rule.h"
#include "flaggems/core/dtype.h"
#include "flaggems/core/host_device.h"

namespace flaggems {
namespace internal_device {

class WordWalk {
 public:
  static constexpr bool kHasBounds = false;

  WordWalk(const void* got, const void* want, DType dtype, int64_t numel)
      : got_(static_cast<const char*>(got)),
        want_(static_cast<const char*>(want)),
        dtype_(dtype),
        size_(static_cast<int>(ElementSize(dtype))),
        numel_(numel) {}

  // What is less than a word at the end is a tile of its own.
  FG_HOST_DEVICE int64_t tiles() const {
    return TilesOfWords() + (numel_ % PerWord() != 0 ? 1 : 0);
  }

  template <typename Feed>
  FG_HOST_DEVICE void Prepare(Feed& /*feed*/, int /*lane*/,
                              BlockMaxima* /*block_maxima*/) const {}

  template <typename Feed>
  FG_HOST_DEVICE void Walk(Feed& feed, int lane, BlockMaxima* block_maxima,
                           Found* found) const {
    const int run = PerWord();
    const int64_t words = Words();
    // What changes with every tile, in registers.
    int64_t count = 0;
    bool nonzero = false;
    int64_t tile;
    for (; (tile = feed.Tile()) < TilesOfWords(); feed.Advance()) {
      const int64_t first = tile * kTile + lane;
      if (first < words && count == 0) found->first = first * run;
      Word got[kRuns], want[kRuns];
      FG_UNROLL
      for (int r = 0; r < kRuns; ++r) {
        got[r] = want[r] = {0, 0};
        const int64_t i = first + r * kWarp;
        if (i < words) {
          got[r] = reinterpret_cast<const Word*>(got_)[i];
          want[r] = reinterpret_cast<const Word*>(want_)[i];
        }
      }
      FG_UNROLL
      for (int r = 0; r < kRuns; ++r) {
        const int64_t i = first + r * kWarp;
        if (i < words) count += run;
        nonzero |= (got[r].low | got[r].high) != 0;
        if (((got[r].low ^ want[r].low) | (got[r].high ^ want[r].high)) != 0) {
          for (int64_t k = i * run; k < (i + 1) * run; ++k) {
            LookAt(k, block_maxima, found);
          }
        }
      }
    }
    const int64_t i = words * run + lane;
    if (tile < tiles() && i < numel_) {
      if (count == 0) found->first = i;
      ++count;
      nonzero |= LookAt(i, block_maxima, found);
    }
    found->count = count;
    found->nonzero = nonzero ? 1 : 0;
  }

 private:
  static constexpr int kBytes = 16;
  static constexpr int kRuns = 2;
  static constexpr int64_t kTile = int64_t{kWarp} * kRuns;  // words
  struct alignas(kBytes) Word {
    uint64_t low, high;
  };

  FG_HOST_DEVICE int PerWord() const { return kBytes / size_; }
  FG_HOST_DEVICE int64_t Words() const { return numel_ / PerWord(); }
  FG_HOST_DEVICE int64_t TilesOfWords() const {
    return (Words() + kTile - 1) / kTile;
  }

  // Whether the element of got is not 0.
  FG_HOST_DEVICE __attribute__((noinline)) bool LookAt(
      int64_t i, BlockMaxima* block_maxima, Found* found) const {
    const int64_t got = LoadInteger(dtype_, got_, i);
    const int64_t want = LoadInteger(dtype_, want_, i);
    if (got == want) return got != 0;
    const FixedRule exact{{0, 0}, {}};
    if (dtype_ == DType::kUInt64) {
      SecondLook(static_cast<uint64_t>(got), static_cast<uint64_t>(want), i,
                 exact, found->Stats(), block_maxima);
    } else {
      SecondLook(got, want, i, exact, found->Stats(), block_maxima);
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

#endif  // FLAGGEMS_COMPARATOR_CUDA_WORD_WALK_H_
