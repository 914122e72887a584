#ifndef FLAGGEMS_COMPARATOR_CUDA_DEVICE_COMPARISON_H_
#define FLAGGEMS_COMPARATOR_CUDA_DEVICE_COMPARISON_H_

// What a comparison on a device found; needs no CUDA to be read.

#include <cstdint>

#include "flaggems/comparator/comparison.h"
#include "flaggems/comparator/element.h"
#include "flaggems/core/host_device.h"

namespace flaggems {

// Of all elements: Finish(partial) is the verdict then.
struct DeviceComparison {
  PartialComparison partial;
  int64_t got_nonzero = 0;  // 1 if an element of got is not 0 or -0, else 0
};

// The same as a device writes it: words that all merge by the same few
// instructions (found_words.h).
struct FoundWords {
  enum Word : int {
    kNumel,
    kNotFinite,  // numbers
    kErrorsLow,  // 32 bits, so that sums need no carry
    kErrorsHigh,
    kSquaresLow,
    kSquaresHigh,
    kFlags,
    kScore,  // of a number that is not negative the bits, which rise as it does
    kWorst,
    kValueMismatches,
    kSpecialMismatches,
    kWantNans,
    kFlushed,
    kMaxAbsDiff,
    kMaxRelDiff,
    kFirstSpecial,  // -1, none, is the largest word
    kWords
  };
  enum Flag : uint64_t { kGotNonzero = 1, kNanMismatch = 2, kIsReal = 4 };

  uint64_t word[kWords];
};

inline DeviceComparison ComparisonOf(const FoundWords& words) {
  using Words = FoundWords;
  const auto integer = [&](Words::Word word) {
    return static_cast<int64_t>(words.word[word]);
  };
  const auto number = [&](Words::Word word) {
    return internal_element::BitCast<double>(words.word[word]);
  };
  const auto joined = [&](Words::Word low, Words::Word high) {
    return static_cast<Int128>(integer(high)) * (Int128{1} << 32) +
           words.word[low];
  };
  const uint64_t flags = words.word[Words::kFlags];
  DeviceComparison found;
  PartialComparison& partial = found.partial;
  partial.numel = integer(Words::kNumel);
  partial.value_mismatches = integer(Words::kValueMismatches);
  partial.special_mismatches = integer(Words::kSpecialMismatches);
  partial.want_nans = integer(Words::kWantNans);
  partial.nan_mismatch = (flags & Words::kNanMismatch) != 0;
  partial.max_abs_diff = number(Words::kMaxAbsDiff);
  partial.max_rel_diff = number(Words::kMaxRelDiff);
  partial.score = number(Words::kScore);
  partial.worst_score = integer(Words::kWorst);
  partial.first_special = integer(Words::kFirstSpecial);
  partial.flushed = integer(Words::kFlushed);
  if ((flags & Words::kIsReal) != 0) {
    partial.finite_numbers = partial.numel - integer(Words::kNotFinite);
  }
  partial.ulp_errors = joined(Words::kErrorsLow, Words::kErrorsHigh);
  partial.ulp_error_squares = joined(Words::kSquaresLow, Words::kSquaresHigh);
  found.got_nonzero = (flags & Words::kGotNonzero) != 0 ? 1 : 0;
  return found;
}

}  // namespace flaggems

#endif  // FLAGGEMS_COMPARATOR_CUDA_DEVICE_COMPARISON_H_
