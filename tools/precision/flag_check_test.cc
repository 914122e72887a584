#include "tools/precision/flag_check.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <string>
#include <vector>

#include "absl/flags/flag.h"
#include "flaggems/core/status_testutil.h"

ABSL_FLAG(int32_t, repeat_count, 1, "a number");
ABSL_FLAG(bool, silent, false, "a switch");

namespace flaggems {
namespace {

using testing::HasSubstr;

struct FlagCase {
  std::string name;
  std::vector<std::string> arguments;
  std::string error;  // empty: fine
};

void PrintTo(const FlagCase& c, std::ostream* os) { *os << c.name; }

class CheckFlagsTest : public testing::TestWithParam<FlagCase> {};

TEST_P(CheckFlagsTest, FindsWhatAbslWouldExitFor) {
  const absl::Status status = CheckFlags(GetParam().arguments);
  if (GetParam().error.empty()) {
    EXPECT_THAT(status, IsOk());
  } else {
    EXPECT_THAT(status, StatusIs(absl::StatusCode::kInvalidArgument,
                                 HasSubstr(GetParam().error)));
  }
}

INSTANTIATE_TEST_SUITE_P(
    Arguments, CheckFlagsTest,
    testing::ValuesIn(std::vector<FlagCase>{
        {"Nothing", {}, ""},
        {"Positional", {"run", "model.pt"}, ""},
        {"Good", {"--repeat_count=3", "--silent", "--nosilent"}, ""},
        {"ValueApart", {"--repeat_count", "3"}, ""},
        {"OneDash", {"-repeat_count=3"}, ""},
        {"AfterDoubleDash", {"--", "--what"}, ""},
        {"LoneDash", {"-"}, ""},
        {"Unknown", {"--repeat_cuont=3"}, "did you mean --repeat_count"},
        {"UnknownFar", {"--xyzzyxyzzy"}, "unknown flag --xyzzyxyzzy"},
        {"BadValue", {"--repeat_count=many"}, "--repeat_count=many"},
        {"NoValue", {"--repeat_count"}, "needs a value"},
        {"BadBool", {"--silent=perhaps"}, "--silent=perhaps"},
        {"NotABool", {"--norepeat_count"}, "unknown flag --norepeat_count"},
        {"MissingFlagFile", {"--flagfile=/none"}, "--flagfile=/none"},
    }),
    [](const auto& info) { return info.param.name; });

TEST(CheckFlags, LooksIntoFlagFiles) {
  const std::string path = testing::TempDir() + "/flags";
  std::ofstream(path) << "# comment\n\n--repeat_count=3\n  --silent\n";
  EXPECT_THAT(CheckFlags({"--flagfile=" + path}), IsOk());
  std::ofstream(path) << "--repeat_count=many\n";
  EXPECT_THAT(CheckFlags({"--flagfile=" + path}),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("--repeat_count=many")));
  std::ofstream(path) << "repeat_count\n";
  EXPECT_THAT(
      CheckFlags({"--flagfile=" + path}),
      StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("is no flag")));
  std::ofstream(path) << "--silent\n--\n";
  EXPECT_THAT(
      CheckFlags({"--flagfile=" + path}),
      StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("is no flag")));
  EXPECT_THAT(CheckFlags({"--flagfile=" + testing::TempDir()}),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("cannot be read")));
  std::ofstream(path) << "--flagfile=" << path << "\n";
  EXPECT_THAT(CheckFlags({"--flagfile=" + path}),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("include each other")));
}

}  // namespace
}  // namespace flaggems
