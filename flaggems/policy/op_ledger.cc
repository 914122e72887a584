#include "flaggems/policy/op_ledger.h"

#include <algorithm>

namespace flaggems {

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

void OpLedger::FinishCheck() {
  finished_.fetch_add(1, std::memory_order_release);
}

void OpLedger::ReturnSlot() {
  admitted_.fetch_sub(1, std::memory_order_relaxed);
}

bool OpLedger::exhausted(int64_t max_checks) const {
  return finished_.load(std::memory_order_acquire) >= max_checks;
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
  // Frees the used slots and leaves the held ones. In this order too few slots
  // look free in between, never too many.
  const int64_t finished = finished_.exchange(0, std::memory_order_acq_rel);
  admitted_.fetch_sub(finished, std::memory_order_relaxed);
}

OpLedger* LedgerBook::Get(const OpKey& key) {
  const std::lock_guard<std::mutex> lock(mutex_);
  std::unique_ptr<OpLedger>& ledger = ledgers_[key];
  if (ledger == nullptr) ledger = std::make_unique<OpLedger>(key);
  return ledger.get();
}

std::vector<const OpLedger*> LedgerBook::All() const {
  std::vector<const OpLedger*> all;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    all.reserve(ledgers_.size());
    for (const auto& [key, ledger] : ledgers_) all.push_back(ledger.get());
  }
  std::sort(all.begin(), all.end(), [](const OpLedger* a, const OpLedger* b) {
    return a->key() < b->key();
  });
  return all;
}

void LedgerBook::Reset() {
  const std::lock_guard<std::mutex> lock(mutex_);
  for (const auto& [key, ledger] : ledgers_) ledger->Reset();
}

}  // namespace flaggems
