#include "flaggems/policy/tolerance_rules.h"

#include <cstddef>
#include <string>
#include <vector>

#include "absl/types/span.h"
#include "flaggems/comparator/tolerance.h"
#include "flaggems/core/op_key.h"
#include "flaggems/policy/op_traits.h"
#include "gtest/gtest.h"

namespace flaggems {
namespace {

using When = ToleranceRule::When;

const OpKey kMm{"aten", "mm", ""};
const OpKey kAdd{"aten", "add", "Tensor"};

CallTraits Half() {
  CallTraits call;
  call.half_precision_input = true;
  return call;
}

Tolerance Effective(const OpKey& op, const CallTraits& call,
                    absl::Span<const ToleranceRule> rules,
                    const Tolerance& configured) {
  return EffectiveTolerance(op, call, rules, configured);
}

TEST(OriginalToleranceRulesTest, LastRowMatchesEverythingAndNoOtherDoes) {
  const absl::Span<const ToleranceRule> rules = OriginalToleranceRules();
  ASSERT_FALSE(rules.empty());
  for (size_t i = 0; i < rules.size(); ++i) {
    const bool catches_all =
        rules[i].op == "*" && rules[i].when == When::kAlways;
    EXPECT_EQ(catches_all, i + 1 == rules.size()) << "row " << i;
    EXPECT_FALSE(rules[i].why.empty()) << "row " << i;
  }
}

// For each row a call that gets its floor and not another row's: the row's
// floor is replaced by a mark.
TEST(OriginalToleranceRulesTest, EveryRowCanBeReached) {
  const absl::Span<const ToleranceRule> rules = OriginalToleranceRules();
  for (size_t i = 0; i < rules.size(); ++i) {
    CallTraits call;
    call.half_precision_input = rules[i].when == When::kHalfPrecisionInput;
    const OpKey op =
        rules[i].op == "*" ? kMm : OpKey{"aten", std::string(rules[i].op), ""};
    std::vector<ToleranceRule> marked(rules.begin(), rules.end());
    marked[i].floor = {1e6, 1e7};
    const Tolerance got = Effective(op, call, marked, {0, 0});
    EXPECT_EQ(got.rtol, 1e6) << "row " << i;
    EXPECT_EQ(got.atol, 1e7) << "row " << i;
  }
}

TEST(OriginalToleranceRulesTest, HalfInputsGetAFloorOfOneHundredth) {
  const auto rules = OriginalToleranceRules();
  const Tolerance raised = Effective(kMm, Half(), rules, {1e-4, 1e-5});
  EXPECT_EQ(raised.rtol, 1e-2);
  EXPECT_EQ(raised.atol, 1e-2);
  // Each on its own, and never lowered.
  const Tolerance mixed = Effective(kMm, Half(), rules, {0.5, 1e-5});
  EXPECT_EQ(mixed.rtol, 0.5);
  EXPECT_EQ(mixed.atol, 1e-2);
}

TEST(OriginalToleranceRulesTest, OtherInputsKeepTheConfiguredTolerance) {
  const Tolerance zero = Effective(kAdd, {}, OriginalToleranceRules(), {0, 0});
  EXPECT_EQ(zero.rtol, 0);
  EXPECT_EQ(zero.atol, 0);
  const Tolerance set =
      Effective(kAdd, {}, OriginalToleranceRules(), {1e-4, 1e-5});
  EXPECT_EQ(set.rtol, 1e-4);
  EXPECT_EQ(set.atol, 1e-5);
}

TEST(EffectiveToleranceTest, FirstMatchWinsAndPatternsSelect) {
  constexpr ToleranceRule kRules[] = {
      {"mm", When::kAlways, {0.25, 0}, "test"},
      {"add.Tensor", When::kHalfPrecisionInput, {0, 0.5}, "test"},
      {"*", When::kAlways, {1, 1}, "test"},
  };
  EXPECT_EQ(Effective(kMm, Half(), kRules, {0, 0}).rtol, 0.25);
  EXPECT_EQ(Effective(kMm, Half(), kRules, {0, 0}).atol, 0);
  EXPECT_EQ(Effective(kAdd, Half(), kRules, {0, 0}).atol, 0.5);
  EXPECT_EQ(Effective(kAdd, {}, kRules, {0, 0}).atol, 1);
}

}  // namespace
}  // namespace flaggems
