#ifndef FLAGGEMS_POLICY_LOOK_PACE_H_
#define FLAGGEMS_POLICY_LOOK_PACE_H_

// How often to look at the calls of one operator while there is no time for
// checks: to look at a call costs a hundred times what to forward it does.

#include <cstdint>

#include "absl/base/thread_annotations.h"
#include "flaggems/core/mutex.h"

namespace flaggems {

// After each look that finds no time, says how many calls to pass over so that
// the next look comes about a period later. The rate of calls is that of the
// last few looks, the later the more. The number is drawn from the quarter on
// both sides of what follows from it, so that looks do not stay at one position
// of a loop. From one look to the next it grows at most eightfold, and the
// first look passes over none.
//
// A program that calls the operator less often than before is looked at late by
// as much: at most kMostCalls calls go by.
//
// Thread-safe. Cost: one lock.
class LookPace {
 public:
  static constexpr int64_t kMostCalls = 1'000'000;

  // The numbers follow from `seed`; give every operator its own.
  explicit LookPace(uint64_t seed) : seed_(seed), random_(seed) {}

  // Call number `call` of the operator was looked at, and there was no time.
  // Returns how many calls after it to pass over. Numbers count the calls that
  // were passed over. `now` is in ns since any moment, `period` in ns.
  int64_t CallsToPassOver(int64_t call, int64_t now, int64_t period)
      ABSL_LOCKS_EXCLUDED(mutex_);

  // Everything as new.
  void Reset() ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  const uint64_t seed_;
  Mutex mutex_;
  uint64_t random_ ABSL_GUARDED_BY(mutex_);  // of the generator SplitMix64
  bool looked_ ABSL_GUARDED_BY(mutex_) = false;
  int64_t call_ ABSL_GUARDED_BY(mutex_) = 0;  // of the last look
  int64_t time_ ABSL_GUARDED_BY(mutex_) = 0;  // of the last look
  // Between looks; halved with each.
  double calls_ ABSL_GUARDED_BY(mutex_) = 0;
  double elapsed_ ABSL_GUARDED_BY(mutex_) = 0;
  double last_ ABSL_GUARDED_BY(mutex_) = 0;  // before the draw
};

}  // namespace flaggems

#endif  // FLAGGEMS_POLICY_LOOK_PACE_H_
