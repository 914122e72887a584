#ifndef FLAGGEMS_CHECK_CHECKED_OP_H_
#define FLAGGEMS_CHECK_CHECKED_OP_H_

// One operator whose calls are checked, and the runtime that they share.

#include <ATen/core/boxing/KernelFunction.h>
#include <ATen/core/dispatch/Dispatcher.h>

#include <cstdint>
#include <memory>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "flaggems/check/check_session.h"
#include "flaggems/core/mutex.h"
#include "flaggems/judge/kernel_call.h"
#include "flaggems/policy/budget_table.h"
#include "flaggems/policy/op_ledger.h"
#include "flaggems/policy/op_traits.h"
#include "flaggems/policy/pending_queue.h"
#include "flaggems/policy/sheddable_queues.h"
#include "flaggems/policy/worker_pool.h"
#include "flaggems/registry/gate.h"
#include "flaggems/screen/screen.h"
#include "flaggems/statistics/rounding_bias.h"

namespace flaggems {

// Immutable once it was added to a CheckRuntime; shared by the installed
// kernel and the registration that made it.
struct CheckedOp {
  explicit CheckedOp(const c10::OperatorHandle& op) : judged(op) {}

  OpLedger* ledger = nullptr;  // of the runtime, outlives the operator
  // Every call goes through it.
  std::shared_ptr<Gate> gate;
  // The kernel under test.
  c10::KernelFunction kernel;
  // What the kernel replaced; for calls of the checker itself. May be null.
  std::shared_ptr<const c10::SafeKernelFunction> native;
  // The operator as it is judged. Its reference is null if nothing can compute
  // calls again: they are SKIP(unsupported).
  JudgedOp judged;
  // Of the table, without the rows of a session's own.
  const BudgetRow& budget = FindBudget(judged.traits.key);
  // Of the results of all calls; its counts are those of the open session.
  std::unique_ptr<RoundingBias> bias = std::make_unique<RoundingBias>();
  std::unique_ptr<ScreenHints> screen_hints = std::make_unique<ScreenHints>();
};

// The checked operators and the session that is open, if one is. Thread-safe.
// No lock is held while a kernel or a reference runs.
class CheckRuntime {
 public:
  // Opens `session`: counters start anew, gates open or forward by policy. A
  // session that is open already is replaced.
  void Start(std::shared_ptr<CheckSession> session);
  // Wrapped kernels forward from now on; counts stay. Returns the session that
  // was open, or null.
  std::shared_ptr<CheckSession> Stop();
  // The open session, or null.
  std::shared_ptr<CheckSession> session() const;

  // Makes `op` part of the runtime; its gate is set by the open session.
  void Add(std::shared_ptr<const CheckedOp> op);
  // Its gate forwards from now on, whatever session is opened.
  void Remove(const CheckedOp* op);

  // Another one for each runtime of the process.
  uint64_t id() const { return id_; }

  // An admitted call of `session` ended in `verdict`, or was not judged after
  // all. Counts it, and lets the gate forward if every later call would end in
  // the same verdict. Returns whether to log the call. If another
  // session was opened meanwhile the call is none of its calls: only its slot
  // is given back, and a failure is still logged to the session's own log.
  bool Conclude(const CheckSession* session, const CheckedOp& op,
                Verdict verdict, uint64_t signature = 0);
  bool Abandon(const CheckSession* session, const CheckedOp& op,
               Verdict verdict, uint64_t signature = 0);

  // Lets the gate of `op` forward if every later call would end in the same
  // verdict, unless `session` is not the open one any more.
  void CloseIfSettled(const CheckSession* session, const CheckedOp& op);

  // Lets the gate of `op` forward the next `calls` calls, as SKIP(throttle),
  // unless it forwards already or `session` is not the open one any more. A
  // failure of the operator ends that.
  void PassOver(const CheckSession* session, const CheckedOp& op,
                int64_t calls);

  // Calls whose verdict comes later; of all sessions.
  PendingQueue& pending() { return pending_; }
  // Where they are judged if only the host can.
  WorkerPool& judges() { return judges_; }

  LedgerBook& ledgers() { return ledgers_; }
  const LedgerBook& ledgers() const { return ledgers_; }

 private:
  static uint64_t NextId();

  // Whether the counts in the ledgers are those of `session`: it is open, or
  // was the last that was.
  bool IsLatest(const CheckSession* session) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    return latest_ == session;
  }
  void CloseGateIfSettled(const CheckSession* session, const CheckedOp& op)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void SetGate(const CheckedOp& op) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const uint64_t id_ = NextId();
  LedgerBook ledgers_;
  // Held by pending calls where no option says how much, in bytes.
  static constexpr int64_t kMaxPendingBytes = int64_t{1} << 30;
  PendingQueue pending_{{/*max_pending=*/1024, kMaxPendingBytes}};
  const SheddableQueue sheddable_{&pending_};
  mutable Mutex mutex_;
  std::shared_ptr<CheckSession> session_ ABSL_GUARDED_BY(mutex_);
  // The session that was started last; only compared, never followed.
  const CheckSession* latest_ ABSL_GUARDED_BY(mutex_) = nullptr;
  std::vector<std::shared_ptr<const CheckedOp>> ops_ ABSL_GUARDED_BY(mutex_);
  // The last member: what it runs is of calls in pending_. References have
  // parallel loops of their own, so that more threads would not do more.
  WorkerPool judges_{{/*threads=*/2, /*backlog=*/256}};
};

}  // namespace flaggems

#endif  // FLAGGEMS_CHECK_CHECKED_OP_H_
