#include "flaggems/policy/op_ledger.h"

#include <algorithm>
#include <cstdint>
#include <string>

namespace flaggems {
namespace {

// FNV-1a of the operator's name: no two operators are checked in lockstep, and
// a second run of a program checks the same calls.
uint64_t SeedOf(const OpKey& key) {
  uint64_t hash = 0xcbf29ce484222325;
  for (const char c : key.ToString()) {
    hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3;
  }
  return hash;
}

}  // namespace

OpLedger::OpLedger(OpKey key)
    : key_(std::move(key)), spread_(SeedOf(key_)), look_pace_(SeedOf(key_)) {}

int64_t OpLedger::calls() const {
  int64_t sum = 0;
  for (const std::atomic<int64_t>& count : counts_) {
    sum += count.load(std::memory_order_relaxed);
  }
  return sum;
}

bool OpLedger::TryAdmit(int64_t max_checks) {
  int64_t admitted = admitted_.load(std::memory_order_relaxed);
  while (admitted < max_checks) {
    if (admitted_.compare_exchange_weak(admitted, admitted + 1,
                                        std::memory_order_relaxed)) {
      return true;
    }
  }
  return false;
}

bool OpLedger::HasFreeSlot(int64_t max_checks) const {
  return admitted_.load(std::memory_order_relaxed) < max_checks;
}

bool OpLedger::TryAdmitSpread(uint64_t signature, int64_t max_checks) {
  if (!spread_.TryAdmit(signature, max_checks)) return false;
  // Counted like a slot of TryAdmit(), so that Reset() and whatever ends the
  // check need not know which of them took it.
  admitted_.fetch_add(1, std::memory_order_relaxed);
  return true;
}

void OpLedger::FinishCheck() {
  finished_.fetch_add(1, std::memory_order_release);
}

void OpLedger::ReturnSlot() {
  admitted_.fetch_sub(1, std::memory_order_relaxed);
}

void OpLedger::ReturnSpreadSlot(uint64_t signature) {
  ReturnSlot();
  spread_.Return(signature);
}

bool OpLedger::exhausted(int64_t max_checks) const {
  return finished_.load(std::memory_order_acquire) >= max_checks;
}

void OpLedger::NoteScore(double score) {
  double worst = worst_score_.load(std::memory_order_relaxed);
  while (score > worst && !worst_score_.compare_exchange_weak(
                              worst, score, std::memory_order_relaxed)) {
  }
}

bool OpLedger::MarkReported() {
  return !reported_.exchange(true, std::memory_order_acq_rel);
}

void OpLedger::Reset() {
  for (std::atomic<int64_t>& count : counts_) {
    count.store(0, std::memory_order_relaxed);
  }
  call_.store(0, std::memory_order_relaxed);
  reported_.store(false, std::memory_order_release);
  failed_.store(false, std::memory_order_release);
  worst_score_.store(0, std::memory_order_relaxed);
  spread_.Reset();
  look_pace_.Reset();
  // Frees the used slots and leaves the held ones. In this order too few slots
  // look free in between, never too many.
  const int64_t finished = finished_.exchange(0, std::memory_order_acq_rel);
  admitted_.fetch_sub(finished, std::memory_order_relaxed);
}

OpLedger* LedgerBook::Get(const OpKey& key) {
  const MutexLock lock(&mutex_);
  std::unique_ptr<OpLedger>& ledger = ledgers_[key];
  if (ledger == nullptr) ledger = std::make_unique<OpLedger>(key);
  return ledger.get();
}

std::vector<const OpLedger*> LedgerBook::All() const {
  std::vector<const OpLedger*> all;
  {
    const MutexLock lock(&mutex_);
    all.reserve(ledgers_.size());
    for (const auto& [key, ledger] : ledgers_) all.push_back(ledger.get());
  }
  std::sort(all.begin(), all.end(), [](const OpLedger* a, const OpLedger* b) {
    return a->key() < b->key();
  });
  return all;
}

void LedgerBook::Reset() {
  const MutexLock lock(&mutex_);
  for (const auto& [key, ledger] : ledgers_) ledger->Reset();
}

}  // namespace flaggems
