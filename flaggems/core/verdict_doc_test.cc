// docs/record_format.md has the verdicts and reasons of the code.

#include <fstream>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/string_view.h"
#include "flaggems/core/verdict.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace flaggems {
namespace {

using ::testing::ElementsAreArray;

// The row of the page's table.
std::string RowOf(Verdict verdict) {
  const absl::string_view reason = ReasonName(verdict);
  return absl::StrCat("| `", OutcomeName(OutcomeOf(verdict)), "` | ",
                      reason.empty() ? "none" : absl::StrCat("`", reason, "`"),
                      " | ", Explanation(verdict), " |");
}

bool StartsWithAnOutcome(absl::string_view line) {
  for (int i = 0; i < kNumVerdicts; ++i) {
    const Outcome outcome = OutcomeOf(static_cast<Verdict>(i));
    if (absl::StartsWith(line,
                         absl::StrCat("| `", OutcomeName(outcome), "` |"))) {
      return true;
    }
  }
  return false;
}

TEST(VerdictDocTest, PageHasTheTableInOrder) {
  std::ifstream file("docs/record_format.md");
  ASSERT_TRUE(file.is_open());
  std::vector<std::string> got;
  for (std::string line; std::getline(file, line);) {
    if (StartsWithAnOutcome(line)) got.push_back(line);
  }
  std::vector<std::string> want;
  for (int i = 0; i < kNumVerdicts; ++i) {
    want.push_back(RowOf(static_cast<Verdict>(i)));
  }
  EXPECT_THAT(got, ElementsAreArray(want))
      << "docs/record_format.md must have these lines:\n"
      << absl::StrJoin(want, "\n");
}

}  // namespace
}  // namespace flaggems
