#ifndef FLAGGEMS_POLICY_SKIP_RULES_H_
#define FLAGGEMS_POLICY_SKIP_RULES_H_

// Which operators are never checked, and why. A table for each profile; the
// first row that matches decides.

#include <optional>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "flaggems/core/op_key.h"
#include "flaggems/policy/op_traits.h"

namespace flaggems {

struct SkipRule {
  enum class On {
    kOutVariant,              // OpTraits::is_out_variant
    kReturnsView,             // OpTraits::returns_view
    kNondeterministicSeeded,  // OpTraits::nondeterministic_seeded
    kName,                    // PatternMatches(pattern, key)
  };
  On on;
  absl::string_view pattern;  // kName only
  absl::string_view why;
};

// The table of profile `original`: results without numbers of their own (views,
// copies, uninitialised memory), results that no second run repeats (random),
// and out variants, as in the original. Operators with several right results
// that can be judged all the same are not in it; sort, topk and argsort are
// compared with the native CPU kernel exactly, values and indices, and where an
// unstable kernel may order ties otherwise, the option `skip` leaves them out.
// Rules on the schema come before rules on names.
absl::Span<const SkipRule> OriginalSkipRules();

// The table of profile `strict`: operators that have no result to judge, by
// name alone. Views, copies, random, uninitialised and out variants are not in
// it: each is judged by what it promises (OpClass).
absl::Span<const SkipRule> StrictSkipRules();

// True if `pattern` ("mm", "add.Tensor", "aten::mm", "aten::add.out") names
// this operator: all its overloads when the pattern has none. Without "ns::"
// the namespace is aten: another library's op of the same name is another op.
bool PatternMatches(absl::string_view pattern, const OpKey& key);

// Why the operator is skipped, or nullopt if it is checked. `no_skip` patterns
// win over `skip` patterns, which win over the rules.
std::optional<std::string> SkipReason(const OpTraits& op,
                                      absl::Span<const SkipRule> rules,
                                      absl::Span<const std::string> skip,
                                      absl::Span<const std::string> no_skip);

}  // namespace flaggems

#endif  // FLAGGEMS_POLICY_SKIP_RULES_H_
