#ifndef FLAGGEMS_POLICY_TOLERANCE_RULES_H_
#define FLAGGEMS_POLICY_TOLERANCE_RULES_H_

// Floors under the configured tolerances: effective = max(row, option).

#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "flaggems/comparator/tolerance.h"
#include "flaggems/core/op_key.h"
#include "flaggems/policy/op_traits.h"

namespace flaggems {

struct ToleranceRule {
  enum class When { kHalfPrecisionInput, kAlways };
  absl::string_view op;  // a pattern as in skip_rules.h, or "*"
  When when;
  Tolerance floor;
  absl::string_view why;
};

// First match wins; the last row matches everything.
absl::Span<const ToleranceRule> OriginalToleranceRules();

// The tolerance of one call.
Tolerance EffectiveTolerance(const OpKey& op, const CallTraits& call,
                             absl::Span<const ToleranceRule> rules,
                             const Tolerance& configured);

}  // namespace flaggems

#endif  // FLAGGEMS_POLICY_TOLERANCE_RULES_H_
