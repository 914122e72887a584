// The files that docs/flags.md shows can be read.

#include <fstream>
#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/time/civil_time.h"
#include "flaggems/core/status_testutil.h"
#include "flaggems/policy/policy_file.h"
#include "flaggems/policy/suppressions.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace flaggems {
namespace {

using ::testing::SizeIs;

// The first indented block after a heading.
std::string ExampleAfter(absl::string_view heading) {
  std::ifstream file("docs/flags.md");
  std::string example;
  bool found = false;
  for (std::string line; std::getline(file, line);) {
    found = found || line == heading;
    if (found && absl::StartsWith(line, "    ")) {
      absl::StrAppend(&example, line.substr(4), "\n");
    } else if (!example.empty()) {
      break;
    }
  }
  return example;
}

TEST(PolicyDocsTest, PolicyFileCanBeRead) {
  EXPECT_THAT(
      ParsePolicyRows(ExampleAfter("## The policy file"), "flags.md", nullptr),
      IsOkAndHolds(SizeIs(3)));
}

TEST(PolicyDocsTest, SuppressionFileCanBeRead) {
  const auto suppressions =
      Suppressions::Parse(ExampleAfter("## The suppression file"), "flags.md",
                          absl::CivilDay(2026, 12, 1), nullptr);
  ASSERT_THAT(suppressions, IsOk());
  EXPECT_THAT(suppressions->all(), SizeIs(2));
}

}  // namespace
}  // namespace flaggems
