#ifndef FLAGGEMS_POLICY_TIME_BUDGET_H_
#define FLAGGEMS_POLICY_TIME_BUDGET_H_

// Which calls are checked, where checks may add only a share to the run time.

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "flaggems/core/mutex.h"

namespace flaggems {

// The steady clock of programs; costs some 25 ns.
int64_t SteadyNanoseconds();

// The run time is the time since the start less what checks have cost. It earns
// `fraction` of itself, and a check is admitted when its predicted cost has
// been earned. So at every moment
//   cost of all checks <= fraction * run time + burst + errors of prediction,
// where the burst is what may be saved: 50 ms * fraction, or twice the dearest
// check if that is more. The prediction for a signature is a moving average of
// its own checks, before its first check the mean of the others. Until one cost
// is known at all, one check is admitted.
//
// Fair to signatures, in whatever order their calls come: a signature that was
// checked is due again after the time in which each of those that are in use
// can be checked once (sum of their costs / fraction, and a tenth more), and
// what a due call did not find is kept for the next call of its signature. So
// each is checked about once in that time, or whenever it comes if it comes
// less often. Only what would be lost, because no more can be saved, goes to
// calls that are not due.
//
// Times are nanoseconds. What several threads spend at the same time adds up.
// Thread-safe. Cost of a refused call: the clock's, and a lock and a look-up
// unless nothing at all can be admitted yet. What looking at the call costs
// besides is paid by ChargeLook(), and kept small by looking at each operator
// once in look_period() only (LookPace): signatures then have their turn among
// the calls that are looked at. Memory: kMaxSignatures states; further
// signatures share one.
class TimeBudget {
 public:
  static constexpr size_t kMaxSignatures = 4096;

  // `fraction` in (0, 1]; 0: no limit, and the clock is never asked. `clock`
  // must not go back.
  TimeBudget(double fraction, std::function<int64_t()> clock);

  bool limited() const { return fraction_ > 0; }
  // The clock's time.
  int64_t Now() const { return clock_(); }
  // ns between two looks at an operator that is refused: 20 ms for a fraction
  // of 0.05. So looks take a part of the fraction whatever it is.
  int64_t look_period() const { return static_cast<int64_t>(1e6 / fraction_); }

  // Whether to check a call of this signature now; the caller must then call
  // Charge().
  bool Admit(uint64_t signature) ABSL_LOCKS_EXCLUDED(mutex_);

  // What a check has cost the calling thread. Also for checks that were made
  // without asking.
  void Charge(uint64_t signature, int64_t ns) ABSL_LOCKS_EXCLUDED(mutex_);

  // What the same check cost afterwards: its time on a device, a verdict that
  // came later. At most once for each check, whenever it is known.
  void ChargeLater(uint64_t signature, int64_t ns) ABSL_LOCKS_EXCLUDED(mutex_);

  // What a call has cost that was refused.
  void ChargeLook(int64_t ns) ABSL_LOCKS_EXCLUDED(mutex_);

  // Everything as new: the run starts now. For the child of a fork(), where the
  // checks under way are the parent's.
  void Reset() ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  // Costs and times in ns; times are those of run_ unless said otherwise.
  struct State {
    double cost = 0;        // average of Charge()
    double later_cost = 0;  // average of ChargeLater()
    bool known = false;     // its cost is
    double reserved = 0;    // predicted for its checks under way
    int under_way = 0;
    bool checked = false;  // ever
    double checked_at = 0;
    bool seen = false;    // ever
    double seen_at = 0;   // of watched_
    double gap = 0;       // of watched_, between its last two calls
    bool in_use = false;  // counted in in_use_
  };
  // Of the signatures that have had calls of late.
  struct InUse {
    int number = 0;
    int number_known = 0;  // those whose cost is known, which the rest is of
    double sum = 0;
    double least = 0;
    double most = 0;
  };
  // What was not there when a due call came, and is kept for the next one.
  struct Promise {
    bool made = false;
    uint64_t signature = 0;
    double cost = 0;
    double expires_at = 0;
  };

  void Start() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  State& StateOf(uint64_t signature) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Makes none, and so never throws.
  State& KnownStateOf(uint64_t signature) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Brings run_ and saved_ up to date.
  void Earn(int64_t now) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Notes a call.
  void See(State& state) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void CountIn(State& state) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Counts in_use_ anew.
  void Survey() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  bool TryTake(uint64_t signature, State& state)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Spend(State& state, int64_t ns, double& average)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  double Mean() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  double Predicted(const State& state) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // After a check, until its signature is due again.
  double Period() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  double MostSaved() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const double fraction_;
  const std::function<int64_t()> clock_;
  // No call can be admitted before.
  std::atomic<int64_t> nothing_until_{0};

  Mutex mutex_;
  int64_t start_ ABSL_GUARDED_BY(mutex_) = 0;
  double spent_ ABSL_GUARDED_BY(mutex_) = 0;  // by all checks
  double run_ ABSL_GUARDED_BY(mutex_) = 0;    // the run time that has earned
  // run_ without most of the time in which calls were not looked at.
  double watched_ ABSL_GUARDED_BY(mutex_) = 0;
  // Earned, and neither spent nor reserved.
  double saved_ ABSL_GUARDED_BY(mutex_) = 0;
  absl::flat_hash_map<uint64_t, State> states_ ABSL_GUARDED_BY(mutex_);
  // Of all signatures that have no place in states_.
  State further_ ABSL_GUARDED_BY(mutex_);
  InUse in_use_ ABSL_GUARDED_BY(mutex_);
  Promise promise_ ABSL_GUARDED_BY(mutex_);
  double next_survey_ ABSL_GUARDED_BY(mutex_) = 0;
  bool any_known_ ABSL_GUARDED_BY(mutex_) = false;
  double last_cost_ ABSL_GUARDED_BY(mutex_) = 0;  // the last that was measured
  bool first_under_way_ ABSL_GUARDED_BY(mutex_) = false;
};

}  // namespace flaggems

#endif  // FLAGGEMS_POLICY_TIME_BUDGET_H_
