#include "flaggems/core/env.h"

#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "flaggems/core/status_testutil.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace flaggems {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::IsNan;

constexpr char kName[] = "FLAGGEMS_ENV_TEST_VARIABLE";

TEST(GetEnvTest, TellsUnsetFromEmpty) {
  ASSERT_EQ(unsetenv(kName), 0);
  EXPECT_EQ(GetEnv(kName), std::nullopt);
  ASSERT_EQ(setenv(kName, "", 1), 0);
  EXPECT_EQ(GetEnv(kName), std::optional<std::string>(""));
  ASSERT_EQ(setenv(kName, " a=b ", 1), 0);
  EXPECT_EQ(GetEnv(kName), std::optional<std::string>(" a=b "));
}

auto Refused(const std::string& text, const std::string& expected) {
  return StatusIs(
      absl::StatusCode::kInvalidArgument,
      AllOf(HasSubstr("\"" + text + "\" is not"), HasSubstr(expected)));
}

TEST(ParseDoubleTest, Refuses) {
  for (const char* text : {"", " ", "abc", "1e-4x", "1,5", "1 2"}) {
    EXPECT_THAT(ParseDouble(text), Refused(text, "a number"));
  }
  EXPECT_THAT(ParseDouble("1e999"), Refused("1e999", "at most 1.79"));
  EXPECT_THAT(ParseDouble("-1e999"), Refused("-1e999", "at most 1.79"));
}

TEST(ParseDoubleTest, Accepts) {
  constexpr double kInf = std::numeric_limits<double>::infinity();
  EXPECT_THAT(ParseDouble("nan"), IsOkAndHolds(IsNan()));
  EXPECT_THAT(ParseDouble("inf"), IsOkAndHolds(kInf));
  EXPECT_THAT(ParseDouble("-Infinity"), IsOkAndHolds(-kInf));
  EXPECT_THAT(ParseDouble("1e-4"), IsOkAndHolds(1e-4));
  EXPECT_THAT(ParseDouble("0x1p-10"), IsOkAndHolds(0x1p-10));
  EXPECT_THAT(ParseDouble(" -0.5\n"), IsOkAndHolds(-0.5));
  EXPECT_THAT(ParseDouble("5e-324"), IsOkAndHolds(5e-324));
  EXPECT_THAT(ParseDouble("1.7976931348623157e308"),
              IsOkAndHolds(std::numeric_limits<double>::max()));
}

TEST(ParseInt64Test, Refuses) {
  for (const char* text : {"", "x", "1e6", "1.0", "1,000", "0x10",
                           "9223372036854775808", "-9223372036854775809"}) {
    EXPECT_THAT(ParseInt64(text), Refused(text, "an integer"));
  }
}

TEST(ParseInt64Test, Accepts) {
  EXPECT_THAT(ParseInt64("-9223372036854775808"),
              IsOkAndHolds(std::numeric_limits<int64_t>::min()));
  EXPECT_THAT(ParseInt64("9223372036854775807"),
              IsOkAndHolds(std::numeric_limits<int64_t>::max()));
  EXPECT_THAT(ParseInt64(" 10 "), IsOkAndHolds(10));
  EXPECT_THAT(ParseInt64("0010"), IsOkAndHolds(10));
}

TEST(ParseBoolTest, Refuses) {
  for (const char* text : {"", "2", "on", "off", "tru", "true false"}) {
    EXPECT_THAT(ParseBool(text), Refused(text, "true or false"));
  }
}

TEST(ParseBoolTest, Accepts) {
  for (const char* text : {"true", "T", "Yes", "y", "1", " TRUE "}) {
    EXPECT_THAT(ParseBool(text), IsOkAndHolds(true)) << text;
  }
  for (const char* text : {"false", "F", "No", "n", "0", "\tfalse"}) {
    EXPECT_THAT(ParseBool(text), IsOkAndHolds(false)) << text;
  }
}

TEST(ParseStringListTest, Refuses) {
  for (const char* text : {",", "mm,", ",mm", "mm,,add", "mm, ,add"}) {
    EXPECT_THAT(ParseStringList(text), Refused(text, "empty"));
  }
}

TEST(ParseStringListTest, Accepts) {
  EXPECT_THAT(ParseStringList(""), IsOkAndHolds(IsEmpty()));
  EXPECT_THAT(ParseStringList("  "), IsOkAndHolds(IsEmpty()));
  EXPECT_THAT(ParseStringList("mm"), IsOkAndHolds(ElementsAre("mm")));
  EXPECT_THAT(ParseStringList(" mm ,aten::add.Tensor"),
              IsOkAndHolds(ElementsAre("mm", "aten::add.Tensor")));
}

TEST(FormatStringListTest, ReadsBack) {
  for (const std::vector<std::string>& list :
       {std::vector<std::string>{}, {"mm"}, {"mm", "add.Tensor"}}) {
    EXPECT_THAT(ParseStringList(FormatStringList(list)), IsOkAndHolds(list));
  }
  EXPECT_EQ(FormatStringList({"mm", "add.Tensor"}), "mm,add.Tensor");
}

}  // namespace
}  // namespace flaggems
