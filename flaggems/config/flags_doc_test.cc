// docs/flags.md has the flags, environment names and defaults of the code.

#include <algorithm>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "absl/flags/commandlineflag.h"
#include "absl/flags/reflection.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "flaggems/config/flags.h"
#include "flaggems/config/options_table.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace flaggems {
namespace {

using ::testing::ElementsAreArray;
using ::testing::UnorderedElementsAreArray;

std::string Code(absl::string_view text) {
  return text.empty() ? "empty" : absl::StrCat("`", text, "`");
}

// The row of the page's table.
std::string RowOf(const OptionField& field) {
  std::string help(field.help);
  // The only characters in our help texts that mean something in a table.
  for (size_t at = 0; (at = help.find('|', at)) != help.npos; at += 2) {
    help.insert(at, 1, '\\');
  }
  for (size_t at = 0; (at = help.find('*', at)) != help.npos; at += 2) {
    help.insert(at, 1, '\\');
  }
  for (size_t at = 0; (at = help.find('<', at)) != help.npos; at += 2) {
    help.insert(at, 1, '\\');
  }
  return absl::StrCat(
      "| `--", field.FlagName(), "` | `", field.EnvironmentName(), "` | ",
      field.type, field.unit.empty() ? "" : ", ", field.unit, " | ",
      Code(field.default_text), " | ", field.allowed, " | ", help, " |");
}

std::vector<std::string> RowsOfPage() {
  std::ifstream file("docs/flags.md");
  std::vector<std::string> rows;
  for (std::string line; std::getline(file, line);) {
    if (absl::StartsWith(line, "| `--precision_")) rows.push_back(line);
  }
  return rows;
}

TEST(FlagsDocTest, PageHasTheTableInOrder) {
  std::vector<std::string> want = {
      "| `--precision_check` | `FLAGGEMS_PRECISION_CHECK` | bool | `false` | "
      "true or false | Check the precision of operators. |"};
  for (const OptionField& field : OptionFields()) want.push_back(RowOf(field));
  EXPECT_THAT(RowsOfPage(), ElementsAreArray(want))
      << "docs/flags.md must have these lines:\n"
      << absl::StrJoin(want, "\n");
}

// A row for each field that some profile sets otherwise than the first.
TEST(FlagsDocTest, PageSaysWhatEachProfileSets) {
  std::vector<PrecisionOptions> profiles;
  for (const std::string& name : ProfileNames()) {
    const auto options = OptionsOfProfile(name);
    ASSERT_TRUE(options.ok());
    profiles.push_back(*options);
  }
  std::string header = "| field |";
  for (const std::string& name : ProfileNames()) {
    absl::StrAppend(&header, " `", name, "` |");
  }
  std::vector<std::string> want;
  for (const OptionField& field : OptionFields()) {
    if (field.name == "profile") continue;
    std::string row = absl::StrCat("| `", field.name, "` |");
    bool differs = false;
    for (const PrecisionOptions& options : profiles) {
      const std::string text = field.get(options);
      differs = differs || text != field.get(profiles.front());
      absl::StrAppend(&row, " ", Code(text), " |");
    }
    if (differs) want.push_back(row);
  }

  std::ifstream file("docs/flags.md");
  std::vector<std::string> got;
  std::string line;
  while (std::getline(file, line) && line != header) {
  }
  EXPECT_EQ(line, header);
  std::getline(file, line);  // the rule under the header
  while (std::getline(file, line) && absl::StartsWith(line, "| `")) {
    got.push_back(line);
  }
  EXPECT_THAT(got, ElementsAreArray(want))
      << "docs/flags.md must have these lines:\n"
      << header << "\n"
      << absl::StrJoin(want, "\n");
}

TEST(FlagsDocTest, FlagsOfTheBinaryAreThoseOfTheTable) {
  std::vector<std::string> want = {"precision_check"};
  for (const OptionField& field : OptionFields()) {
    want.push_back(field.FlagName());
  }
  std::vector<std::string> got;
  for (const auto& [name, flag] : absl::GetAllFlags()) {
    if (absl::StartsWith(name, "precision")) got.emplace_back(name);
  }
  EXPECT_THAT(got, UnorderedElementsAreArray(want));
}

TEST(FlagsDocTest, HelpOfEachFlagNamesItsEnvironmentAndDefault) {
  for (const OptionField& field : OptionFields()) {
    const absl::CommandLineFlag* flag =
        absl::FindCommandLineFlag(field.FlagName());
    ASSERT_NE(flag, nullptr) << field.name;
    const std::string help = flag->Help();
    EXPECT_TRUE(absl::StartsWith(help, field.help)) << help;
    EXPECT_TRUE(absl::StrContains(help, field.EnvironmentName())) << help;
    const std::string fallback =
        field.default_text.empty() ? "empty" : std::string(field.default_text);
    EXPECT_TRUE(absl::StrContains(help, "default " + fallback)) << help;
    // A bool flag shows a default of its own.
    if (field.type == "bool") {
      EXPECT_EQ(flag->DefaultValue(), std::string(field.default_text));
    } else {
      EXPECT_EQ(flag->DefaultValue(), "") << field.name;
    }
  }
}

}  // namespace
}  // namespace flaggems
