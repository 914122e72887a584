#ifndef FLAGGEMS_COMPARATOR_CUDA_FOUND_WORDS_H_
#define FLAGGEMS_COMPARATOR_CUDA_FOUND_WORDS_H_

// What threads of a device found, and how it is merged: word by word, all by
// the same few instructions, for code that runs once takes as long as it takes
// to fetch.

#include <cstdint>
#include <new>

#include "flaggems/comparator/comparison.h"
#include "flaggems/comparator/cuda/device_comparison.h"
#include "flaggems/comparator/cuda/device_look.h"
#include "flaggems/comparator/element.h"
#include "flaggems/core/host_device.h"

namespace flaggems {
namespace internal_device {

// What a thread has found. What it has of pairs that got no second look is
// apart from its statistics, which are in memory, and which few threads have.
struct Found {
  int64_t count = 0;   // pairs, whatever the look
  int64_t first = -1;  // the position of the first one
  int64_t errors = 0;  // sums as in PartialComparison, of at most 2^32 pairs
  Int128 squares = 0;
  uint32_t nonzero = 0;  // not 0 if an element of got is neither 0 nor -0
  bool is_real = false;

  bool has_stats = false;

  FG_HOST_DEVICE void Add(const TileSums& sums) {
    errors += sums.errors;
    squares += sums.squares;
  }

  // Without numel and the sums above; finite_numbers is less the number of
  // pairs that are not finite. Made when first asked for: to write those of all
  // threads would be as much as a small array.
  FG_HOST_DEVICE PartialComparison* Stats() {
    auto* const stats = reinterpret_cast<PartialComparison*>(memory_);
    if (!has_stats) new (stats) PartialComparison();
    has_stats = true;
    return stats;
  }
  // They have been asked for.
  FG_HOST_DEVICE const PartialComparison& stats() const {
    return *reinterpret_cast<const PartialComparison*>(memory_);
  }

 private:
  alignas(PartialComparison) unsigned char memory_[sizeof(PartialComparison)];
};

namespace internal_words {

FG_HOST_DEVICE inline uint64_t BitsOf(double x) {
  return internal_element::BitCast<uint64_t>(x);
}
FG_HOST_DEVICE inline uint64_t Low(Int128 x) {
  return static_cast<uint32_t>(x);
}
FG_HOST_DEVICE inline uint64_t High(Int128 x) {
  return static_cast<uint64_t>(static_cast<int64_t>(x >> 32));
}

}  // namespace internal_words

FG_HOST_DEVICE inline FoundWords WordsOf(const Found& found) {
  using internal_words::BitsOf;
  FoundWords words = {};
  Int128 errors = found.errors;
  Int128 squares = found.squares;
  uint64_t flags = 0;
  if (found.nonzero != 0) flags |= FoundWords::kGotNonzero;
  if (found.is_real) flags |= FoundWords::kIsReal;
  words.word[FoundWords::kNumel] = static_cast<uint64_t>(found.count);
  words.word[FoundWords::kWorst] = static_cast<uint64_t>(found.first);
  words.word[FoundWords::kFirstSpecial] = ~uint64_t{0};
  if (found.has_stats) {
    const PartialComparison& stats = found.stats();
    errors += stats.ulp_errors;
    squares += stats.ulp_error_squares;
    if (stats.nan_mismatch) flags |= FoundWords::kNanMismatch;
    words.word[FoundWords::kNotFinite] =
        static_cast<uint64_t>(-stats.finite_numbers);
    words.word[FoundWords::kScore] = BitsOf(stats.score);
    if (stats.score > 0) {
      words.word[FoundWords::kWorst] = static_cast<uint64_t>(stats.worst_score);
    }
    words.word[FoundWords::kValueMismatches] =
        static_cast<uint64_t>(stats.value_mismatches);
    words.word[FoundWords::kSpecialMismatches] =
        static_cast<uint64_t>(stats.special_mismatches);
    words.word[FoundWords::kWantNans] = static_cast<uint64_t>(stats.want_nans);
    words.word[FoundWords::kFlushed] = static_cast<uint64_t>(stats.flushed);
    words.word[FoundWords::kMaxAbsDiff] = BitsOf(stats.max_abs_diff);
    words.word[FoundWords::kMaxRelDiff] = BitsOf(stats.max_rel_diff);
    words.word[FoundWords::kFirstSpecial] =
        static_cast<uint64_t>(stats.first_special);
  }
  words.word[FoundWords::kErrorsLow] = internal_words::Low(errors);
  words.word[FoundWords::kErrorsHigh] = internal_words::High(errors);
  words.word[FoundWords::kSquaresLow] = internal_words::Low(squares);
  words.word[FoundWords::kSquaresHigh] = internal_words::High(squares);
  words.word[FoundWords::kFlags] = flags;
  return words;
}

// How words are merged: sums; or the value of the entry with the largest key,
// of equal keys the smallest value, where the key of a maximum is the value,
// that of a minimum always the same, and that of kWorst the entry's score.
class WordMerger {
 public:
  FG_HOST_DEVICE explicit WordMerger(int word)
      : is_sum_(word < FoundWords::kFlags ||
                (word >= FoundWords::kValueMismatches &&
                 word <= FoundWords::kFlushed)),
        is_union_(word == FoundWords::kFlags),
        key_word_(word == FoundWords::kWorst
                      ? static_cast<int>(FoundWords::kScore)
                  : word == FoundWords::kFirstSpecial ? -1
                                                      : word) {}

  struct Entry {
    uint64_t key;
    uint64_t value;
  };
  // The word that keys are; -1: all are 0.
  FG_HOST_DEVICE int key_word() const { return key_word_; }

  FG_HOST_DEVICE Entry operator()(const Entry& a, const Entry& b) const {
    const bool takes_b = b.key > a.key || (b.key == a.key && b.value < a.value);
    Entry merged = takes_b ? b : a;
    if (is_sum_) merged.value = a.value + b.value;
    if (is_union_) merged.value = a.value | b.value;
    return merged;
  }

 private:
  bool is_sum_;
  bool is_union_;
  int key_word_;
};

// As Merge() of comparison.h.
FG_HOST_DEVICE inline FoundWords Merge(const FoundWords& a,
                                       const FoundWords& b) {
  FoundWords merged;
  for (int word = 0; word < FoundWords::kWords; ++word) {
    const WordMerger merger(word);
    const int key = merger.key_word();
    merged.word[word] = merger({key < 0 ? 0 : a.word[key], a.word[word]},
                               {key < 0 ? 0 : b.word[key], b.word[word]})
                            .value;
  }
  return merged;
}

}  // namespace internal_device
}  // namespace flaggems

#endif  // FLAGGEMS_COMPARATOR_CUDA_FOUND_WORDS_H_
