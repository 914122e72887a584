#include "flaggems/core/verdict.h"

#include <set>
#include <string>
#include <utility>

#include "gtest/gtest.h"

namespace flaggems {
namespace {

using ::testing::TestParamInfo;
using ::testing::TestWithParam;
using ::testing::ValuesIn;

struct Case {
  std::string name;  // OUTCOME_reason
  Verdict verdict;
};

void PrintTo(const Case& c, std::ostream* os) { *os << c.name; }

const Case kCases[] = {
    {"PASS_", Verdict::kPass},
    {"FAIL_value", Verdict::kFailValue},
    {"FAIL_special", Verdict::kFailSpecial},
    {"FAIL_shape", Verdict::kFailShape},
    {"FAIL_dtype", Verdict::kFailDtype},
    {"FAIL_count", Verdict::kFailCount},
    {"FAIL_layout", Verdict::kFailLayout},
    {"FAIL_argument", Verdict::kFailArgument},
    {"FAIL_alias", Verdict::kFailAlias},
    {"FAIL_random", Verdict::kFailRandom},
    {"FAIL_throw", Verdict::kFailThrow},
    {"SKIP_policy", Verdict::kSkipPolicy},
    {"SKIP_throttle", Verdict::kSkipThrottle},
    {"SKIP_size", Verdict::kSkipSize},
    {"SKIP_reported", Verdict::kSkipReported},
    {"SKIP_reentrant", Verdict::kSkipReentrant},
    {"SKIP_disabled", Verdict::kSkipDisabled},
    {"SKIP_unsupported", Verdict::kSkipUnsupported},
    {"SKIP_capture", Verdict::kSkipCapture},
    {"SKIP_suppressed", Verdict::kSkipSuppressed},
    {"ERROR_reference", Verdict::kErrorReference},
    {"ERROR_out_of_memory", Verdict::kErrorOutOfMemory},
    {"ERROR_comparison", Verdict::kErrorComparison},
    {"UNTRUSTED_empty", Verdict::kUntrustedEmpty},
    {"UNTRUSTED_all_nan", Verdict::kUntrustedAllNan},
    {"UNTRUSTED_all_zero", Verdict::kUntrustedAllZero},
    {"UNTRUSTED_reference", Verdict::kUntrustedReference},
    {"UNTRUSTED_allowance", Verdict::kUntrustedAllowance},
};

class VerdictTest : public TestWithParam<Case> {};

TEST_P(VerdictTest, HasOutcomeReasonAndExplanation) {
  const Verdict verdict = GetParam().verdict;
  EXPECT_EQ(std::string(OutcomeName(OutcomeOf(verdict))) + "_" +
                std::string(ReasonName(verdict)),
            GetParam().name);
  const std::string explanation(Explanation(verdict));
  ASSERT_FALSE(explanation.empty());
  EXPECT_EQ(explanation.back(), '.') << explanation;
}

INSTANTIATE_TEST_SUITE_P(All, VerdictTest, ValuesIn(kCases),
                         [](const TestParamInfo<Case>& info) {
                           return info.param.name;
                         });

TEST(VerdictTableTest, CasesAboveCoverTheEnum) {
  ASSERT_EQ(std::size(kCases), static_cast<size_t>(kNumVerdicts));
  for (int i = 0; i < kNumVerdicts; ++i) {
    EXPECT_EQ(kCases[i].verdict, static_cast<Verdict>(i)) << kCases[i].name;
  }
}

TEST(VerdictTableTest, OutcomeAndReasonIdentifyTheVerdict) {
  // Logs hold these two texts only.
  std::set<std::pair<std::string, std::string>> names;
  for (int i = 0; i < kNumVerdicts; ++i) {
    const auto verdict = static_cast<Verdict>(i);
    names.emplace(OutcomeName(OutcomeOf(verdict)), ReasonName(verdict));
  }
  EXPECT_EQ(names.size(), static_cast<size_t>(kNumVerdicts));
}

}  // namespace
}  // namespace flaggems
