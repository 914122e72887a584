#ifndef FLAGGEMS_POLICY_POLICY_H_
#define FLAGGEMS_POLICY_POLICY_H_

// Which calls are checked, by which tolerance, and what is reported.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "flaggems/comparator/tolerance.h"
#include "flaggems/core/op_key.h"
#include "flaggems/core/throttle.h"
#include "flaggems/core/verdict.h"
#include "flaggems/policy/budget_table.h"
#include "flaggems/policy/op_ledger.h"
#include "flaggems/policy/op_traits.h"
#include "flaggems/policy/policy_file.h"
#include "flaggems/policy/skip_rules.h"
#include "flaggems/policy/suppressions.h"
#include "flaggems/policy/time_budget.h"

namespace flaggems {

// The fields of PrecisionOptions that policies need; the same meanings.
struct PolicyOptions {
  Tolerance tolerance;
  Throttle throttle = Throttle::kFirst;
  int64_t max_checks = 10;
  int64_t max_numel = 1'000'000;
  bool log_once = true;
  bool log_all = false;
  // An operator that failed is checked on every later call, whatever the
  // throttle says and whether it is reported or not.
  bool insist_after_failure = false;
  std::vector<std::string> skip;
  std::vector<std::string> no_skip;
  // What skip and no_skip change; outlives the policy.
  absl::Span<const SkipRule> skip_rules = OriginalSkipRules();
  // The contents of policy_file and suppressions.
  std::vector<PolicyRow> rows;
  Suppressions suppressions;
};

// What calls are alike by for a TimeBudget: the operator and
// CallTraits::signature. The same while the ledger lives.
uint64_t BudgetSignature(const OpLedger& ledger, uint64_t signature);

// Immutable and thread-safe; what changes is in the ledger.
class Policy {
 public:
  explicit Policy(PolicyOptions options);

  // Why no call of this operator is ever checked; nullopt: calls are checked.
  std::optional<std::string> SkipReason(const OpTraits& op) const;

  // Decides on one call before it runs: nullopt admits it, and the caller must
  // then call exactly one of OnVerdict() and OnAbandoned(). A verdict is the
  // reason for the skip; it is not counted yet. Order: capture, reported,
  // throttle, size, unsupported, the time; a skip takes no slot. With
  // Throttle::kSpread throttle comes after unsupported, so that calls that are
  // never checked do not count as calls of their signature. With
  // insist_after_failure neither reported nor throttle nor the time counts once
  // a call has failed.
  //
  // The time is that of `budget`, null for none, which the caller must Charge()
  // for each admitted call under BudgetSignature(); no time is kSkipThrottle,
  // and sets `no_time`, if given.
  std::optional<Verdict> Admit(OpLedger& ledger, const CallTraits& call,
                               TimeBudget* budget = nullptr,
                               bool* no_time = nullptr) const;

  // The outputs are known too: kSkipSize if one has too many elements.
  std::optional<Verdict> AdmitOutputs(int64_t max_output_numel) const;

  // The tolerance of an admitted call.
  Tolerance ToleranceFor(const OpTraits& op, const CallTraits& call) const;

  // How an operator is judged by the tolerance model `budget`: the row of
  // PolicyOptions::rows, else that of the table (policy_file.h). Its texts live
  // as long as the policy. Costs a look-up by name, so keep it for an operator
  // that is called often.
  BudgetRow BudgetFor(const OpKey& op) const;
  // The same without a look-up, where the policy has no rows of its own;
  // `shipped` is FindBudget(op).
  BudgetRow BudgetFor(const OpKey& op, const BudgetRow& shipped) const;

  // Whether a FAIL is an accepted one (Suppressions::Find()): the call then
  // ends in kSkipSuppressed.
  bool Suppressed(const OpKey& op, absl::string_view dtype,
                  Verdict verdict) const;

  // Counts the verdict of an admitted call and ends its check. UNTRUSTED gives
  // the slot back: the call proved nothing. kSkipSuppressed does not: the call
  // was judged. `signature` is CallTraits::signature. Returns whether to log
  // the call: FAIL, and with log_once the first of this operator only (a
  // failure found by a second thread in the meantime counts as FAIL, but is not
  // logged); with log_all also every ERROR, UNTRUSTED and SKIP.
  bool OnVerdict(OpLedger& ledger, Verdict verdict,
                 uint64_t signature = 0) const;

  // An admitted call was not judged after all (its verdict is a SKIP): counts
  // it and gives the slot back. Returns whether to log the call (log_all).
  bool OnAbandoned(OpLedger& ledger, Verdict verdict,
                   uint64_t signature = 0) const;

  // The verdict in which every later call of the operator ends whatever its
  // arguments: kSkipReported, kSkipThrottle, or nullopt. Throttle::kSpread is
  // never done with an operator: kSkipThrottle only if max_checks is 0.
  std::optional<Verdict> Settled(const OpLedger& ledger) const;

 private:
  void ReturnSlot(OpLedger& ledger, uint64_t signature) const;
  bool Insists(const OpLedger& ledger) const {
    return options_.insist_after_failure && ledger.failed();
  }

  const PolicyOptions options_;
};

}  // namespace flaggems

#endif  // FLAGGEMS_POLICY_POLICY_H_
