#include "flaggems/policy/policy.h"

#include <limits>
#include <utility>

#include "flaggems/policy/tolerance_rules.h"

namespace flaggems {

uint64_t BudgetSignature(const OpLedger& ledger, uint64_t signature) {
  // The multiplier, 2^64 over the golden ratio, sets ledgers apart that are
  // neighbours in memory.
  return signature ^
         (reinterpret_cast<uintptr_t>(&ledger) * 0x9E3779B97F4A7C15u);
}

Policy::Policy(PolicyOptions options) : options_(std::move(options)) {}

std::optional<std::string> Policy::SkipReason(const OpTraits& op) const {
  return flaggems::SkipReason(op, options_.skip_rules, options_.skip,
                              options_.no_skip);
}

std::optional<Verdict> Policy::Admit(OpLedger& ledger, const CallTraits& call,
                                     TimeBudget* budget, bool* no_time) const {
  if (no_time != nullptr) *no_time = false;
  if (call.capturing) return Verdict::kSkipCapture;
  const bool insists = Insists(ledger);
  if (options_.log_once && ledger.reported() && !insists) {
    return Verdict::kSkipReported;
  }
  const bool first = options_.throttle == Throttle::kFirst;
  const int64_t max_checks =
      insists ? std::numeric_limits<int64_t>::max() : options_.max_checks;
  // A look first and the slot last: a call that is skipped for its arguments
  // must not take a slot from another thread even for a moment.
  if (first && !ledger.HasFreeSlot(max_checks)) {
    return Verdict::kSkipThrottle;
  }
  if (const auto too_large = AdmitOutputs(call.max_numel)) return too_large;
  if (call.vast) return Verdict::kSkipSize;
  if (!call.supported) return Verdict::kSkipUnsupported;
  const bool admitted = first
                            ? ledger.TryAdmit(max_checks)
                            : ledger.TryAdmitSpread(call.signature, max_checks);
  if (!admitted) return Verdict::kSkipThrottle;
  // After the throttle, so that calls which it leaves out get no time.
  if (budget != nullptr && !insists &&
      !budget->Admit(BudgetSignature(ledger, call.signature))) {
    ReturnSlot(ledger, call.signature);
    if (no_time != nullptr) *no_time = true;
    return Verdict::kSkipThrottle;
  }
  return std::nullopt;
}

std::optional<Verdict> Policy::AdmitOutputs(int64_t max_output_numel) const {
  if (options_.max_numel > 0 && max_output_numel > options_.max_numel) {
    return Verdict::kSkipSize;
  }
  return std::nullopt;
}

Tolerance Policy::ToleranceFor(const OpTraits& op,
                               const CallTraits& call) const {
  return EffectiveTolerance(op.key, call, OriginalToleranceRules(),
                            options_.tolerance);
}

BudgetRow Policy::BudgetFor(const OpKey& op) const {
  return BudgetFor(op, FindBudget(op));
}

BudgetRow Policy::BudgetFor(const OpKey& op, const BudgetRow& shipped) const {
  return options_.rows.empty() ? shipped : FindBudget(op, options_.rows);
}

bool Policy::Suppressed(const OpKey& op, absl::string_view dtype,
                        Verdict verdict) const {
  return options_.suppressions.Find(op, dtype, verdict) != nullptr;
}

bool Policy::OnVerdict(OpLedger& ledger, Verdict verdict,
                       uint64_t signature) const {
  ledger.Count(verdict);
  const Outcome outcome = OutcomeOf(verdict);
  if (outcome == Outcome::kUntrusted) {
    ReturnSlot(ledger, signature);
    return options_.log_all;
  }
  // Marked before the check counts as finished; see Settled().
  if (outcome == Outcome::kFail) ledger.MarkFailed();
  const bool log = outcome == Outcome::kFail
                       ? !options_.log_once || ledger.MarkReported()
                       : options_.log_all && outcome != Outcome::kPass;
  ledger.FinishCheck();
  return log;
}

bool Policy::OnAbandoned(OpLedger& ledger, Verdict verdict,
                         uint64_t signature) const {
  ledger.Count(verdict);
  ReturnSlot(ledger, signature);
  return options_.log_all;
}

void Policy::ReturnSlot(OpLedger& ledger, uint64_t signature) const {
  if (options_.throttle == Throttle::kSpread) {
    ledger.ReturnSpreadSlot(signature);
  } else {
    ledger.ReturnSlot();
  }
}

std::optional<Verdict> Policy::Settled(const OpLedger& ledger) const {
  if (Insists(ledger)) return std::nullopt;
  // Read in this order: when the last check has finished, its report shows.
  const bool exhausted = options_.throttle == Throttle::kFirst
                             ? ledger.exhausted(options_.max_checks)
                             : options_.max_checks <= 0;
  if (options_.log_once && ledger.reported()) return Verdict::kSkipReported;
  if (exhausted) return Verdict::kSkipThrottle;
  return std::nullopt;
}

}  // namespace flaggems
