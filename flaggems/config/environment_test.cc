#include "flaggems/config/environment.h"

#include <cstdlib>
#include <string>
#include <vector>

#include "absl/flags/reflection.h"
#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "flaggems/core/status_testutil.h"
#include "flaggems/core/throttle.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace flaggems {
namespace {

using ::testing::ElementsAre;
using ::testing::TestParamInfo;
using ::testing::TestWithParam;
using ::testing::ValuesIn;

void Clear() {
  for (const OptionField& field : OptionFields()) {
    unsetenv(field.EnvironmentName().c_str());
  }
}

class EnvironmentTest : public testing::Test {
 protected:
  EnvironmentTest() { Clear(); }
  ~EnvironmentTest() override { Clear(); }
};

TEST_F(EnvironmentTest, NothingSetGivesBase) {
  PrecisionOptions base;
  base.rtol = 0.5;
  const auto options = OptionsFromEnvironment(base);
  ASSERT_THAT(options, IsOk());
  EXPECT_EQ(options->rtol, 0.5);
}

TEST_F(EnvironmentTest, EmptyCountsAsUnset) {
  setenv("FLAGGEMS_PRECISION_RTOL", "", 1);
  setenv("FLAGGEMS_PRECISION_PROFILE", "", 1);
  const auto options = OptionsFromEnvironment();
  ASSERT_THAT(options, IsOk());
  EXPECT_EQ(options->rtol, 1e-4);
}

TEST_F(EnvironmentTest, EveryFieldIsRead) {
  setenv("FLAGGEMS_PRECISION_PROFILE", "original", 1);
  setenv("FLAGGEMS_PRECISION_RTOL", "1e-3", 1);
  setenv("FLAGGEMS_PRECISION_ATOL", "0.5", 1);
  setenv("FLAGGEMS_PRECISION_TOLERANCE", "budget", 1);
  setenv("FLAGGEMS_PRECISION_REFERENCE_DTYPE", "double", 1);
  setenv("FLAGGEMS_PRECISION_REFERENCE", "auto", 1);
  setenv("FLAGGEMS_PRECISION_TIME_FRACTION", "0.25", 1);
  setenv("FLAGGEMS_PRECISION_THROTTLE", " spread ", 1);
  setenv("FLAGGEMS_PRECISION_MAX_CHECKS", "3", 1);
  setenv("FLAGGEMS_PRECISION_MAX_NUMEL", "0", 1);
  setenv("FLAGGEMS_PRECISION_MEMORY_MB", "512", 1);
  setenv("FLAGGEMS_PRECISION_POISON", "yes", 1);
  setenv("FLAGGEMS_PRECISION_LOG_ONCE", "no", 1);
  setenv("FLAGGEMS_PRECISION_PATH", "/tmp/a b.jsonl", 1);
  setenv("FLAGGEMS_PRECISION_FORMAT", "text", 1);
  setenv("FLAGGEMS_PRECISION_LOG_TO_STDERR", "1", 1);
  setenv("FLAGGEMS_PRECISION_SUMMARY_AT_EXIT", "false", 1);
  setenv("FLAGGEMS_PRECISION_SKIP", "mm, add.out", 1);
  setenv("FLAGGEMS_PRECISION_NO_SKIP", "clone", 1);
  setenv("FLAGGEMS_PRECISION_POLICY_FILE", "/tmp/policy.tsv", 1);
  setenv("FLAGGEMS_PRECISION_SUPPRESSIONS", "accepted.txt", 1);
  const auto options = OptionsFromEnvironment();
  ASSERT_THAT(options, IsOk());
  EXPECT_EQ(options->rtol, 1e-3);
  EXPECT_EQ(options->atol, 0.5);
  EXPECT_EQ(options->max_checks, 3);
  EXPECT_EQ(options->max_numel, 0);
  EXPECT_FALSE(options->log_once);
  EXPECT_EQ(options->path, "/tmp/a b.jsonl");
  EXPECT_EQ(options->format, LogFormat::kText);
  EXPECT_TRUE(options->log_to_stderr);
  EXPECT_FALSE(options->summary_at_exit);
  EXPECT_THAT(options->skip, ElementsAre("mm", "add.out"));
  EXPECT_THAT(options->no_skip, ElementsAre("clone"));
  EXPECT_EQ(options->tolerance, ToleranceModel::kBudget);
  EXPECT_EQ(options->reference_dtype, ReferenceDtype::kDouble);
  EXPECT_EQ(options->reference, ReferencePlace::kAuto);
  EXPECT_EQ(options->time_fraction, 0.25);
  EXPECT_EQ(options->throttle, Throttle::kSpread);
  EXPECT_EQ(options->memory_mb, 512);
  EXPECT_TRUE(options->poison);
  EXPECT_EQ(options->policy_file, "/tmp/policy.tsv");
  EXPECT_EQ(options->suppressions, "accepted.txt");
}

struct BadCase {
  std::string field;  // upper case
  std::string text;
  std::string message;  // after "<variable>: "
};

void PrintTo(const BadCase& c, std::ostream* os) {
  *os << c.field << "=" << c.text;
}

class BadEnvironmentTest : public EnvironmentTest,
                           public testing::WithParamInterface<BadCase> {};

TEST_P(BadEnvironmentTest, IsAnErrorThatNamesTheVariable) {
  const std::string variable = "FLAGGEMS_PRECISION_" + GetParam().field;
  setenv(variable.c_str(), GetParam().text.c_str(), 1);
  EXPECT_THAT(OptionsFromEnvironment(),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       variable + ": " + GetParam().message));
}

INSTANTIATE_TEST_SUITE_P(
    Fields, BadEnvironmentTest,
    ValuesIn(std::vector<BadCase>{
        {"RTOL", "nan", "rtol is nan; it must be finite and not negative"},
        {"ATOL", "abc", "\"abc\" is not a number such as 0.01 or 1e-4"},
        {"MAX_CHECKS", "-1", "max_checks is -1; it must be 0 or more"},
        {"MAX_NUMEL", "1e6",
         "\"1e6\" is not an integer of 64 bits, written in decimal digits"},
        {"LOG_ONCE", "maybe",
         "\"maybe\" is not a truth value; write true or false"},
        {"PROFILE", "nosuch",
         "profile is \"nosuch\"; it must be one of \"original\", \"strict\""},
        {"TOLERANCE", "exact",
         "\"exact\" is not a tolerance model; write fixed or budget"},
        {"MEMORY_MB", "4GB",
         "\"4GB\" is not an integer of 64 bits, written in decimal digits"},
        {"TIME_FRACTION", "5", "time_fraction is 5.0; it must be 0 to 1"},
        {"REFERENCE", "gpu",
         "\"gpu\" is not a place of references; write cpu, device or auto"},
        {"FORMAT", "xml", "\"xml\" is not a format; write auto, text or jsonl"},
        {"SKIP", "mm,,add",
         "\"mm,,add\" is not a list separated by commas: one of its entries "
         "is empty"},
    }),
    [](const TestParamInfo<BadCase>& info) { return info.param.field; });

TEST_F(EnvironmentTest, LinkingItRegistersNoFlag) {
  for (const auto& [name, flag] : absl::GetAllFlags()) {
    EXPECT_FALSE(absl::StrContains(name, "precision")) << name;
  }
}

}  // namespace
}  // namespace flaggems
