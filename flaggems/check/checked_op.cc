#include "flaggems/check/checked_op.h"

#include <algorithm>
#include <atomic>
#include <optional>
#include <utility>

namespace flaggems {

void CheckRuntime::SetGate(const CheckedOp& op) {
  if (session_ == nullptr) {
    op.gate->Forward(op.ledger->counter(Verdict::kSkipDisabled));
  } else if (session_->policy().SkipReason(op.judged.traits)) {
    op.gate->Forward(op.ledger->counter(Verdict::kSkipPolicy));
  } else if (const auto settled = session_->policy().Settled(*op.ledger)) {
    op.gate->Forward(op.ledger->counter(*settled));
  } else {
    op.gate->Check();
  }
}

uint64_t CheckRuntime::NextId() {
  static std::atomic<uint64_t> last_id{0};
  return 1 + last_id.fetch_add(1, std::memory_order_relaxed);
}

void CheckRuntime::Start(std::shared_ptr<CheckSession> session) {
  const MutexLock lock(&mutex_);
  session_ = std::move(session);
  latest_ = session_.get();
  const int64_t limit = session_ == nullptr ? 0 : session_->memory_limit();
  pending_.SetMaxBytes(limit > 0 ? limit : kMaxPendingBytes);
  ledgers_.Reset();
  for (const auto& op : ops_) {
    op->bias->Reset();
    SetGate(*op);
  }
}

std::shared_ptr<CheckSession> CheckRuntime::Stop() {
  const MutexLock lock(&mutex_);
  std::shared_ptr<CheckSession> stopped = std::move(session_);
  session_ = nullptr;
  for (const auto& op : ops_) SetGate(*op);
  return stopped;
}

std::shared_ptr<CheckSession> CheckRuntime::session() const {
  const MutexLock lock(&mutex_);
  return session_;
}

void CheckRuntime::Add(std::shared_ptr<const CheckedOp> op) {
  const MutexLock lock(&mutex_);
  SetGate(*op);
  ops_.push_back(std::move(op));
}

void CheckRuntime::Remove(const CheckedOp* op) {
  const MutexLock lock(&mutex_);
  op->gate->Forward(op->ledger->counter(Verdict::kSkipDisabled));
  ops_.erase(
      std::remove_if(ops_.begin(), ops_.end(),
                     [&](const auto& other) { return other.get() == op; }),
      ops_.end());
}

void CheckRuntime::CloseIfSettled(const CheckSession* session,
                                  const CheckedOp& op) {
  const MutexLock lock(&mutex_);
  CloseGateIfSettled(session, op);
}

void CheckRuntime::CloseGateIfSettled(const CheckSession* session,
                                      const CheckedOp& op) {
  if (session_.get() != session || session == nullptr) return;
  const std::optional<Verdict> settled = session->policy().Settled(*op.ledger);
  if (settled) op.gate->Forward(op.ledger->counter(*settled));
}

void CheckRuntime::PassOver(const CheckSession* session, const CheckedOp& op,
                            int64_t calls) {
  const MutexLock lock(&mutex_);
  if (session_.get() != session || session == nullptr) return;
  if (op.gate->ForwardSome(op.ledger->counter(Verdict::kSkipThrottle), calls)) {
    op.ledger->PassOver(calls);
  }
}

bool CheckRuntime::Conclude(const CheckSession* session, const CheckedOp& op,
                            Verdict verdict, uint64_t signature) {
  const MutexLock lock(&mutex_);
  if (!IsLatest(session)) {
    op.ledger->ReturnSlot();
    return OutcomeOf(verdict) == Outcome::kFail;
  }
  const bool log = session->policy().OnVerdict(*op.ledger, verdict, signature);
  CloseGateIfSettled(session, op);
  // A policy may insist on all its calls from now on.
  if (OutcomeOf(verdict) == Outcome::kFail) {
    op.ledger->PassOver(-op.gate->EndForwardSome());
  }
  return log;
}

bool CheckRuntime::Abandon(const CheckSession* session, const CheckedOp& op,
                           Verdict verdict, uint64_t signature) {
  const MutexLock lock(&mutex_);
  if (!IsLatest(session)) {
    op.ledger->ReturnSlot();
    return false;
  }
  return session->policy().OnAbandoned(*op.ledger, verdict, signature);
}

}  // namespace flaggems
