#include "flaggems/session_options.h"

#include <utility>

#include "absl/algorithm/container.h"
#include "absl/strings/string_view.h"
#include "absl/time/civil_time.h"
#include "absl/time/time.h"
#include "flaggems/aten/op_traits_of.h"
#include "flaggems/core/clock.h"
#include "flaggems/core/status_macros.h"
#include "flaggems/policy/policy_file.h"
#include "flaggems/policy/skip_rules.h"
#include "flaggems/policy/suppressions.h"

namespace flaggems {
namespace {

// Whether torch has an operator that a pattern of a policy file names.
KnownOperator KnowsOperator() {
  return [known = KnownOperators()](absl::string_view pattern) {
    return absl::c_any_of(
        known, [&](const OpKey& key) { return PatternMatches(pattern, key); });
  };
}

absl::StatusOr<PolicyOptions> PolicyOptionsOf(const PrecisionOptions& options) {
  PolicyOptions policy;
  policy.throttle = options.throttle;
  if (options.tolerance == ToleranceModel::kBudget) {
    policy.skip_rules = StrictSkipRules();
  }
  if (!options.policy_file.empty()) {
    FG_ASSIGN_OR_RETURN(policy.rows,
                        ReadPolicyFile(options.policy_file, KnowsOperator()));
  }
  if (!options.suppressions.empty()) {
    FG_ASSIGN_OR_RETURN(
        policy.suppressions,
        Suppressions::Read(
            options.suppressions,
            absl::ToCivilDay(Clock::System().Now(), absl::LocalTimeZone()),
            KnowsOperator()));
  }
  policy.tolerance = {options.rtol, options.atol};
  policy.max_checks = options.max_checks;
  policy.max_numel = options.max_numel;
  policy.log_once = options.log_once;
  policy.log_all = options.log_all;
  policy.insist_after_failure = options.on_failure == OnFailure::kSubstitute;
  policy.skip = options.skip;
  policy.no_skip = options.no_skip;
  return policy;
}

// The part of time_fraction that measured costs may take. What no clock of ours
// sees - caches that a check leaves cold, the gates of calls that are not
// checked, a device that checks share with the program - was 0.7 to 1.8 times
// as much again in a program of small calls (docs/performance.md,
// time_fraction).
constexpr double kMeasuredPart = 0.36;

}  // namespace

absl::StatusOr<CheckSessionOptions> SessionOptionsOf(
    const PrecisionOptions& options) {
  CheckSessionOptions session;
  FG_ASSIGN_OR_RETURN(session.policy, PolicyOptionsOf(options));
  session.profile = options.profile;
  session.tolerance_model = options.tolerance;
  session.memory_limit = options.memory_mb << 20;
  session.poison = options.poison;
  session.on_failure = options.on_failure;
  session.reference = options.reference;
  session.time_fraction = kMeasuredPart * options.time_fraction;
  return session;
}

}  // namespace flaggems
