#ifndef FLAGGEMS_POLICY_SPREAD_SCHEDULE_H_
#define FLAGGEMS_POLICY_SPREAD_SCHEDULE_H_

// Which calls of one operator are checked by Throttle::kSpread.

#include <cstddef>
#include <cstdint>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "flaggems/core/mutex.h"

namespace flaggems {

// The calls of each signature are numbered from 1. The first max_checks are
// due; after the check of call n the next is due a gap later, drawn uniformly
// from [g/2, 3g/2] with g = max(1, n/8). So of n calls about m + 8 ln(n/m) are
// checked, m = max(max_checks, 16), and a kernel that turns wrong at call N is
// found by call N + 3N/16. The gaps are random so that what recurs in a fixed
// rhythm is not missed for ever.
//
// A call that proves nothing is returned: the next call of its signature is due
// in its place.
//
// Cost: one lock and one look-up a call. Memory: kMaxSignatures states; further
// signatures share one. Thread-safe.
class SpreadSchedule {
 public:
  static constexpr size_t kMaxSignatures = 4096;

  // The gaps follow from `seed`; give every operator its own.
  explicit SpreadSchedule(uint64_t seed) : seed_(seed), random_(seed) {}

  // Counts a call of `signature`; true if it is due. With max_checks 0 none is.
  bool TryAdmit(uint64_t signature, int64_t max_checks);

  // A call of `signature` that was admitted has proved nothing.
  void Return(uint64_t signature);

  // Everything as new.
  void Reset();

 private:
  struct State {
    int64_t calls = 0;
    int64_t checks = 0;    // of the first max_checks
    int64_t returned = 0;  // admitted calls that later ones have to replace
    int64_t next_due = 0;  // the number of a call, once the first are checked
  };

  State& StateOf(uint64_t signature) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  int64_t Gap(int64_t call) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const uint64_t seed_;
  Mutex mutex_;
  uint64_t random_ ABSL_GUARDED_BY(mutex_);  // of the generator SplitMix64
  absl::flat_hash_map<uint64_t, State> states_ ABSL_GUARDED_BY(mutex_);
  // Of all signatures that have no place in states_.
  State further_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace flaggems

#endif  // FLAGGEMS_POLICY_SPREAD_SCHEDULE_H_
