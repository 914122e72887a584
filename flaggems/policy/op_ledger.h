#ifndef FLAGGEMS_POLICY_OP_LEDGER_H_
#define FLAGGEMS_POLICY_OP_LEDGER_H_

// What happened to the calls of one operator: counts by verdict, checks
// admitted and finished, whether a failure was reported.

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "flaggems/core/mutex.h"
#include "flaggems/core/op_key.h"
#include "flaggems/core/verdict.h"
#include "flaggems/policy/look_pace.h"
#include "flaggems/policy/spread_schedule.h"

namespace flaggems {

// All members are thread-safe; those that do not take a signature are lock-free
// but for CallsToPassOver() and Reset().
class OpLedger {
 public:
  explicit OpLedger(OpKey key);

  const OpKey& key() const { return key_; }

  // Counts a call that ended in `verdict`.
  void Count(Verdict verdict) {
    counts_[static_cast<int>(verdict)].fetch_add(1, std::memory_order_relaxed);
  }
  int64_t count(Verdict verdict) const {
    return counts_[static_cast<int>(verdict)].load(std::memory_order_relaxed);
  }
  // The counter itself, for a gate that counts and forwards. Lives as long as
  // the ledger.
  std::atomic<int64_t>* counter(Verdict verdict) {
    return &counts_[static_cast<int>(verdict)];
  }
  int64_t calls() const;  // the sum over all verdicts

  // The number of the next call that is looked at, from 1.
  int64_t NextCall() {
    return 1 + call_.fetch_add(1, std::memory_order_relaxed);
  }
  // So many calls are forwarded without a look, and have numbers all the same.
  // Negative: they are looked at after all.
  void PassOver(int64_t calls) {
    call_.fetch_add(calls, std::memory_order_relaxed);
  }
  // How many to pass over after call number `call`; see LookPace.
  int64_t CallsToPassOver(int64_t call, int64_t now, int64_t period) {
    return look_pace_.CallsToPassOver(call, now, period);
  }

  // Takes one of `max_checks` check slots; false if all are taken. Over all
  // threads at most max_checks slots are ever held or used.
  bool TryAdmit(int64_t max_checks);
  // Whether a slot is free at this moment; takes none.
  bool HasFreeSlot(int64_t max_checks) const;
  // The same for Throttle::kSpread: takes a slot, of which there is no limit,
  // if the call is due by the schedule of its signature (CallTraits).
  bool TryAdmitSpread(uint64_t signature, int64_t max_checks);
  // The admitted check ended in a verdict: its slot is used up.
  void FinishCheck();
  // The admitted check turned out to be none (its output is too large, or
  // proves nothing): its slot is free again.
  void ReturnSlot();
  // The same of a slot that TryAdmitSpread() took: the next call of the
  // signature is due in its place.
  void ReturnSpreadSlot(uint64_t signature);
  // Every slot is used up: no later call can be admitted. What the thread that
  // finished the last check did before is visible to the caller.
  bool exhausted(int64_t max_checks) const;

  // Keeps the highest score of a judged call; 0 before the first.
  void NoteScore(double score);
  double worst_score() const {
    return worst_score_.load(std::memory_order_relaxed);
  }

  // True for exactly one caller: the one that reports this operator.
  bool MarkReported();
  bool reported() const { return reported_.load(std::memory_order_acquire); }

  // A call has failed, reported or not.
  void MarkFailed() { failed_.store(true, std::memory_order_release); }
  bool failed() const { return failed_.load(std::memory_order_acquire); }

  // Everything as new, but for calls that are under way: they may still count
  // afterwards, and their slots stay taken until they end.
  void Reset();

 private:
  const OpKey key_;
  std::array<std::atomic<int64_t>, kNumVerdicts> counts_{};
  std::atomic<int64_t> call_{0};
  std::atomic<int64_t> admitted_{0};  // slots held or used
  std::atomic<int64_t> finished_{0};  // slots used; never more than admitted_
  std::atomic<bool> reported_{false};
  std::atomic<bool> failed_{false};
  std::atomic<double> worst_score_{0};
  SpreadSchedule spread_;
  LookPace look_pace_;
};

// The ledgers of all operators. Thread-safe; a ledger is never freed before
// its LedgerBook.
class LedgerBook {
 public:
  // The ledger of `key`, made on first use.
  OpLedger* Get(const OpKey& key);
  // All ledgers, sorted by key.
  std::vector<const OpLedger*> All() const;
  void Reset();

 private:
  mutable Mutex mutex_;
  absl::flat_hash_map<OpKey, std::unique_ptr<OpLedger>> ledgers_
      ABSL_GUARDED_BY(mutex_);
};

}  // namespace flaggems

#endif  // FLAGGEMS_POLICY_OP_LEDGER_H_
