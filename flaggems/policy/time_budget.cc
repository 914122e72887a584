#include "flaggems/policy/time_budget.h"

#include <algorithm>
#include <chrono>
#include <utility>

namespace flaggems {
namespace {

// Run time whose share may be saved in any case.
constexpr double kBurst = 50e6;
// What the costs of one round are multiplied by to get its length. Above 1, so
// that what the round leaves over adds up for a signature that it missed.
constexpr double kSlack = 1.1;
// The weight of the newest cost in an average.
constexpr double kNewest = 0.25;
// Signatures that were not seen for so long (watched_), and for four times as
// long as they stayed away before, are not in use.
constexpr double kForgetAfter = 100e6;
constexpr double kSurveyEvery = 50e6;

}  // namespace

int64_t SteadyNanoseconds() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

TimeBudget::TimeBudget(double fraction, std::function<int64_t()> clock)
    : fraction_(fraction), clock_(std::move(clock)) {
  if (limited()) Reset();
}

void TimeBudget::Reset() {
  if (!limited()) return;
  const MutexLock lock(&mutex_);
  Start();
}

void TimeBudget::Start() {
  start_ = clock_();
  spent_ = 0;
  run_ = 0;
  watched_ = 0;
  saved_ = fraction_ * kBurst;
  states_.clear();
  further_ = State();
  in_use_ = InUse();
  promise_ = Promise();
  next_survey_ = kSurveyEvery;
  any_known_ = false;
  last_cost_ = 0;
  first_under_way_ = false;
  nothing_until_.store(0, std::memory_order_relaxed);
}

TimeBudget::State& TimeBudget::StateOf(uint64_t signature) {
  const auto found = states_.find(signature);
  if (found != states_.end()) return found->second;
  if (states_.size() >= kMaxSignatures) return further_;
  return states_[signature];
}

TimeBudget::State& TimeBudget::KnownStateOf(uint64_t signature) {
  const auto found = states_.find(signature);
  return found != states_.end() ? found->second : further_;
}

double TimeBudget::Mean() const {
  return in_use_.number_known > 0 ? in_use_.sum / in_use_.number_known
                                  : last_cost_;
}

double TimeBudget::Predicted(const State& state) const {
  return state.known ? state.cost + state.later_cost : Mean();
}

double TimeBudget::Period() const {
  return kSlack * in_use_.number * Mean() / fraction_;
}

double TimeBudget::MostSaved() const {
  // Enough for a promise and the dearest check beside it.
  return std::max(fraction_ * kBurst, 2 * std::max(in_use_.most, last_cost_));
}

void TimeBudget::Earn(int64_t now) {
  // Below run_ while what was just spent is not made up for: a check's own time
  // earns nothing.
  const double run = static_cast<double>(now - start_) - spent_;
  if (run <= run_) return;
  const double earned = fraction_ * (run - run_);
  // While nothing can be admitted, or nothing is called, nobody is seen.
  watched_ += std::min(run - run_, kForgetAfter / 4);
  run_ = run;
  saved_ = std::min(saved_ + earned, std::max(saved_, MostSaved()));
}

void TimeBudget::CountIn(State& state) {
  state.in_use = true;
  ++in_use_.number;
  if (!state.known) return;
  const double cost = Predicted(state);
  in_use_.sum += cost;
  const bool first = in_use_.number_known++ == 0;
  in_use_.least = first ? cost : std::min(in_use_.least, cost);
  in_use_.most = std::max(in_use_.most, cost);
}

void TimeBudget::See(State& state) {
  if (state.seen) state.gap = watched_ - state.seen_at;
  state.seen = true;
  state.seen_at = watched_;
  if (!state.in_use) CountIn(state);
}

void TimeBudget::Survey() {
  if (run_ < next_survey_) return;
  const bool full = states_.size() > kMaxSignatures / 2;
  in_use_ = InUse();
  const auto keep = [&](State& state) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    state.in_use = false;
    const bool recent =
        watched_ - state.seen_at <= std::max(kForgetAfter, 4 * state.gap);
    if (state.seen && recent) CountIn(state);
    return state.in_use || state.under_way > 0 || !full;
  };
  for (auto it = states_.begin(); it != states_.end();) {
    const auto here = it++;
    if (!keep(here->second)) states_.erase(here);
  }
  keep(further_);
  next_survey_ = run_ + kSurveyEvery;
}

bool TimeBudget::TryTake(uint64_t signature, State& state) {
  if (!any_known_) {
    if (first_under_way_) return false;
    first_under_way_ = true;
    state.checked = true;
    state.checked_at = run_;
    return true;
  }
  const bool due = !state.checked || run_ - state.checked_at >= Period();
  if (!due && saved_ < MostSaved()) return false;
  if (promise_.made && run_ > promise_.expires_at) promise_.made = false;
  const bool promised = promise_.made && promise_.signature == signature;
  const double cost = Predicted(state);
  const double kept = promise_.made && !promised ? promise_.cost : 0;
  if (saved_ < cost + kept) {
    if (due && (promised || !promise_.made)) {
      promise_ = {true, signature, cost,
                  run_ + std::max(Period(), 2 * state.gap)};
    }
    return false;
  }
  if (promised) promise_.made = false;
  saved_ -= cost;
  state.reserved += cost;
  ++state.under_way;
  state.checked = true;
  state.checked_at = run_;
  return true;
}

bool TimeBudget::Admit(uint64_t signature) {
  if (!limited()) return true;
  const int64_t now = clock_();
  if (now < nothing_until_.load(std::memory_order_relaxed)) return false;
  const MutexLock lock(&mutex_);
  Earn(now);
  Survey();
  State& state = StateOf(signature);
  See(state);
  if (TryTake(signature, state)) return true;
  // Only with a promise: a due call that finds none made must leave one, or
  // could be passed over for ever.
  if (promise_.made && saved_ < in_use_.least) {
    nothing_until_.store(
        now + static_cast<int64_t>((in_use_.least - saved_) / fraction_),
        std::memory_order_relaxed);
  }
  return false;
}

void TimeBudget::Spend(State& state, int64_t ns, double& average) {
  const double cost = static_cast<double>(std::max<int64_t>(ns, 0));
  spent_ += cost;
  saved_ -= cost;
  const bool counted = state.in_use && state.known;
  const double before = Predicted(state);
  // Of ChargeLater() the first may come after many of Charge(), or never.
  average = average == 0 ? cost : average + kNewest * (cost - average);
  if (counted) {
    in_use_.sum += Predicted(state) - before;
    in_use_.least = std::min(in_use_.least, Predicted(state));
    in_use_.most = std::max(in_use_.most, Predicted(state));
  }
  // What was reserved may have been too much.
  nothing_until_.store(0, std::memory_order_relaxed);
}

void TimeBudget::Charge(uint64_t signature, int64_t ns) {
  if (!limited()) return;
  const MutexLock lock(&mutex_);
  State& state = KnownStateOf(signature);
  if (state.under_way > 0) {
    const double share = state.reserved / state.under_way;
    saved_ += share;
    state.reserved -= share;
    --state.under_way;
  }
  Spend(state, ns, state.cost);
  any_known_ = true;
  last_cost_ = state.cost + state.later_cost;
  if (state.known) return;
  state.known = true;
  if (!state.in_use) return;
  --in_use_.number;
  CountIn(state);
}

void TimeBudget::ChargeLater(uint64_t signature, int64_t ns) {
  if (!limited()) return;
  const MutexLock lock(&mutex_);
  State& state = KnownStateOf(signature);
  Spend(state, ns, state.later_cost);
}

void TimeBudget::ChargeLook(int64_t ns) {
  if (!limited()) return;
  const MutexLock lock(&mutex_);
  const double cost = static_cast<double>(std::max<int64_t>(ns, 0));
  spent_ += cost;
  saved_ -= cost;
}

}  // namespace flaggems
