#include "flaggems/policy/spread_schedule.h"

#include <algorithm>

#include "flaggems/core/split_mix.h"

namespace flaggems {

SpreadSchedule::State& SpreadSchedule::StateOf(uint64_t signature) {
  const auto found = states_.find(signature);
  if (found != states_.end()) return found->second;
  if (states_.size() >= kMaxSignatures) return further_;
  return states_[signature];
}

int64_t SpreadSchedule::Gap(int64_t call) {
  const int64_t mean = std::max<int64_t>(1, call / 8);
  const int64_t least = (mean + 1) / 2;
  const uint64_t width = static_cast<uint64_t>(2 * (mean - least) + 1);
  // The remainder's bias is width / 2^64.
  return least + static_cast<int64_t>(NextSplitMix(random_) % width);
}

bool SpreadSchedule::TryAdmit(uint64_t signature, int64_t max_checks) {
  if (max_checks <= 0) return false;
  const MutexLock lock(&mutex_);
  State& state = StateOf(signature);
  ++state.calls;
  if (state.returned > 0) {
    --state.returned;
  } else if (state.checks < max_checks) {
    ++state.checks;
  } else if (state.calls < state.next_due) {
    return false;
  }
  state.next_due = state.calls + Gap(state.calls);
  return true;
}

void SpreadSchedule::Return(uint64_t signature) {
  const MutexLock lock(&mutex_);
  ++StateOf(signature).returned;
}

void SpreadSchedule::Reset() {
  const MutexLock lock(&mutex_);
  random_ = seed_;
  states_.clear();
  further_ = State();
}

}  // namespace flaggems
