#include "flaggems/policy/skip_rules.h"

#include <optional>
#include <ostream>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "flaggems/core/op_key.h"
#include "flaggems/core/status_testutil.h"
#include "flaggems/policy/op_traits.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace flaggems {
namespace {

using On = SkipRule::On;

OpTraits Traits(absl::string_view text) {
  OpTraits op;
  const auto key = OpKey::Parse(text);
  EXPECT_THAT(key, IsOk());
  if (key.ok()) op.key = *key;
  return op;
}

std::optional<std::string> Reason(
    const OpTraits& op, const std::vector<std::string>& skip = {},
    const std::vector<std::string>& no_skip = {}) {
  return SkipReason(op, OriginalSkipRules(), skip, no_skip);
}

class SkipRulesTest
    : public testing::TestWithParam<absl::Span<const SkipRule> (*)()> {};

TEST_P(SkipRulesTest, EveryRowCanBeReachedAndSaysWhy) {
  const absl::Span<const SkipRule> rules = GetParam()();
  ASSERT_GT(rules.size(), 3u);
  for (size_t i = 0; i < rules.size(); ++i) {
    const SkipRule& rule = rules[i];
    OpTraits op = Traits("no_such_operator");
    switch (rule.on) {
      case On::kOutVariant:
        op.is_out_variant = true;
        break;
      case On::kReturnsView:
        op.returns_view = true;
        break;
      case On::kNondeterministicSeeded:
        op.nondeterministic_seeded = true;
        break;
      case On::kName:
        ASSERT_FALSE(rule.pattern.empty()) << "row " << i;
        op = Traits(rule.pattern);
        break;
    }
    SCOPED_TRACE(std::string(rule.pattern));
    EXPECT_FALSE(rule.why.empty());
    // No row before it matches, and this one does.
    EXPECT_EQ(SkipReason(op, rules.subspan(0, i), {}, {}), std::nullopt);
    EXPECT_EQ(SkipReason(op, rules.subspan(i), {}, {}), std::string(rule.why));
  }
}

INSTANTIATE_TEST_SUITE_P(Profiles, SkipRulesTest,
                         testing::Values(&OriginalSkipRules, &StrictSkipRules),
                         [](const auto& info) {
                           return info.index == 0 ? "Original" : "Strict";
                         });

TEST(OriginalSkipRulesTest, SchemaComesBeforeNames) {
  OpTraits op = Traits("normal.Tensor_float_out");
  op.is_out_variant = true;
  op.nondeterministic_seeded = true;
  EXPECT_THAT(*Reason(op), testing::HasSubstr("out variant"));
}

struct Case {
  std::string op;
  bool skipped;
};

void PrintTo(const Case& c, std::ostream* os) { *os << c.op; }

class OriginalSkipRulesByNameTest : public testing::TestWithParam<Case> {};

TEST_P(OriginalSkipRulesByNameTest, DecidesWithoutHelpFromTheSchema) {
  EXPECT_EQ(Reason(Traits(GetParam().op)).has_value(), GetParam().skipped);
}

INSTANTIATE_TEST_SUITE_P(
    Skipped, OriginalSkipRulesByNameTest,
    testing::Values(Case{"clone", true}, Case{"copy_", true},
                    Case{"_to_copy", true}, Case{"to.dtype", true},
                    Case{"view", true}, Case{"view.dtype", true},
                    Case{"_reshape_alias", true}, Case{"as_strided", true},
                    Case{"slice.Tensor", true}, Case{"resize_", true},
                    Case{"set_.source_Storage", true},
                    Case{"empty.memory_format", true}, Case{"empty_like", true},
                    Case{"new_empty_strided", true}, Case{"uniform_", true},
                    Case{"bernoulli_.float", true}, Case{"randint.low", true},
                    Case{"native_dropout", true}),
    [](const auto& info) {
      std::string name = info.param.op;
      for (char& c : name) {
        if (c == '.') c = '_';
      }
      return name;
    });

// Among them what the original skips although it can be checked.
INSTANTIATE_TEST_SUITE_P(
    Checked, OriginalSkipRulesByNameTest,
    testing::Values(Case{"full", false}, Case{"full_like", false},
                    Case{"ones", false}, Case{"ones_like", false},
                    Case{"zeros", false}, Case{"zero_", false},
                    Case{"fill_.Scalar", false}, Case{"sort", false},
                    Case{"sort.stable", false}, Case{"topk", false},
                    Case{"argsort", false}, Case{"masked_fill_.Scalar", false},
                    Case{"arange", false}, Case{"cat", false},
                    Case{"add_.Tensor", false}, Case{"viewer", false},
                    Case{"my::clone", false}, Case{"my::uniform_", false}),
    [](const auto& info) {
      std::string name = info.param.op;
      for (char& c : name) {
        if (c == '.' || c == ':') c = '_';
      }
      return name;
    });

class StrictSkipRulesTest : public testing::TestWithParam<Case> {};

TEST_P(StrictSkipRulesTest, SkipsWhatHasNothingToJudge) {
  OpTraits op = Traits(GetParam().op);
  EXPECT_EQ(SkipReason(op, StrictSkipRules(), {}, {}).has_value(),
            GetParam().skipped);
  // Whatever the schema says.
  op.is_out_variant = true;
  op.is_mutable = true;
  op.returns_view = true;
  op.nondeterministic_seeded = true;
  EXPECT_EQ(SkipReason(op, StrictSkipRules(), {}, {}).has_value(),
            GetParam().skipped);
  const std::vector<std::string> itself = {GetParam().op};
  EXPECT_TRUE(SkipReason(op, StrictSkipRules(), itself, {}).has_value());
  EXPECT_FALSE(SkipReason(op, StrictSkipRules(), itself, itself).has_value());
}

INSTANTIATE_TEST_SUITE_P(
    Operators, StrictSkipRulesTest,
    testing::Values(
        Case{"record_stream", true}, Case{"_pin_memory", true},
        Case{"pin_memory", true}, Case{"_local_scalar_dense", false},
        Case{"set_.source_Tensor", true}, Case{"resize_", false},
        Case{"resize.out", true}, Case{"resize_as_", false},
        Case{"_resize_output_", true},
        // Judged by their meaning.
        Case{"view", false}, Case{"as_strided", false}, Case{"detach", false},
        Case{"clone", false}, Case{"copy_", false}, Case{"_to_copy", false},
        Case{"empty.memory_format", false}, Case{"new_empty_strided", false},
        Case{"uniform_", false}, Case{"randn", false},
        Case{"native_dropout", false}, Case{"add.out", false},
        Case{"mm.out", false}, Case{"normal.Tensor_float_out", false},
        Case{"set", true}, Case{"reset", false}, Case{"my::set_", false}),
    [](const auto& info) {
      std::string name = info.param.op;
      for (char& c : name) {
        if (c == '.' || c == ':') c = '_';
      }
      return name;
    });

TEST(SkipReasonTest, NoSkipBeatsSkipBeatsRules) {
  const OpTraits clone = Traits("clone");
  const OpTraits add = Traits("add.Tensor");
  EXPECT_TRUE(Reason(clone));
  EXPECT_FALSE(Reason(clone, {}, {"clone"}));
  EXPECT_FALSE(Reason(clone, {"clone"}, {"aten::clone"}));
  EXPECT_FALSE(Reason(add));
  EXPECT_EQ(Reason(add, {"mm", "add"}), "option skip has \"add\"");
  EXPECT_EQ(Reason(clone, {"clone"}), "option skip has \"clone\"");
  EXPECT_FALSE(Reason(add, {"add"}, {"add.Tensor"}));
  EXPECT_TRUE(Reason(add, {"add"}, {"add.Scalar"}));
}

TEST(SkipReasonTest, NoSkipBringsBackWhatTheSchemaSkips) {
  OpTraits op = Traits("add.out");
  op.is_out_variant = true;
  EXPECT_TRUE(Reason(op));
  EXPECT_FALSE(Reason(op, {}, {"add.out"}));
}

TEST(PatternMatchesTest, NamesOverloadsAndNamespaces) {
  const OpKey add{"aten", "add", "Tensor"};
  EXPECT_TRUE(PatternMatches("add", add));
  EXPECT_TRUE(PatternMatches("aten::add", add));
  EXPECT_TRUE(PatternMatches("add.Tensor", add));
  EXPECT_TRUE(PatternMatches("aten::add.Tensor", add));
  EXPECT_FALSE(PatternMatches("add.Scalar", add));
  EXPECT_FALSE(PatternMatches("add.Tens", add));
  EXPECT_FALSE(PatternMatches("ad", add));
  EXPECT_FALSE(PatternMatches("add_", add));
  EXPECT_FALSE(PatternMatches("my::add", add));
  EXPECT_FALSE(PatternMatches("", add));
  EXPECT_FALSE(PatternMatches("aten::", add));
  EXPECT_FALSE(PatternMatches("Tensor", add));
  const OpKey mine{"my", "add", ""};
  EXPECT_TRUE(PatternMatches("my::add", mine));
  EXPECT_FALSE(PatternMatches("add", mine));
  EXPECT_TRUE(PatternMatches("my::add.", mine));
  EXPECT_FALSE(PatternMatches("aten::add.", add));
}

}  // namespace
}  // namespace flaggems
