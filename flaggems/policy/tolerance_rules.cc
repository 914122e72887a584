#include "flaggems/policy/tolerance_rules.h"

#include <algorithm>

#include "flaggems/policy/skip_rules.h"

namespace flaggems {
namespace {

using When = ToleranceRule::When;

constexpr ToleranceRule kOriginalToleranceRules[] = {
    {"*",
     When::kHalfPrecisionInput,
     {1e-2, 1e-2},
     "float16 and bfloat16 have 11 and 8 significant bits"},
    {"*", When::kAlways, {0, 0}, "the configured tolerance alone"},
};

bool Matches(const ToleranceRule& rule, const OpKey& op,
             const CallTraits& call) {
  if (rule.when == When::kHalfPrecisionInput && !call.half_precision_input) {
    return false;
  }
  return rule.op == "*" || PatternMatches(rule.op, op);
}

}  // namespace

absl::Span<const ToleranceRule> OriginalToleranceRules() {
  return kOriginalToleranceRules;
}

Tolerance EffectiveTolerance(const OpKey& op, const CallTraits& call,
                             absl::Span<const ToleranceRule> rules,
                             const Tolerance& configured) {
  for (const ToleranceRule& rule : rules) {
    if (Matches(rule, op, call)) {
      return {std::max(rule.floor.rtol, configured.rtol),
              std::max(rule.floor.atol, configured.atol)};
    }
  }
  return configured;
}

}  // namespace flaggems
