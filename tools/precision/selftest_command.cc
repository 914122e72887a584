// precision selftest

#include <algorithm>
#include <cstdio>
#include <string>
#include <vector>

#include "absl/flags/declare.h"
#include "absl/flags/flag.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "tools/precision/command.h"
#include "tools/precision/progress.h"
#include "tools/precision/selftest/run_case.h"
#include "tools/precision/selftest/selftest_cases.h"

ABSL_DECLARE_FLAG(bool, quiet);

namespace flaggems {
namespace {

using selftest::CaseResult;
using selftest::SelftestCase;

std::string VerdictText(Verdict verdict) {
  const absl::string_view reason = ReasonName(verdict);
  return absl::StrCat(OutcomeName(OutcomeOf(verdict)),
                      reason.empty() ? "" : " ", reason);
}

// `arguments`: ids or groups; none: every case.
std::vector<const SelftestCase*> Select(
    const std::vector<std::string>& arguments) {
  std::vector<const SelftestCase*> selected;
  for (const SelftestCase* one : selftest::AllSelftestCases()) {
    if (arguments.empty() || std::any_of(arguments.begin(), arguments.end(),
                                         [&](const std::string& word) {
                                           return word == one->id ||
                                                  word == one->group;
                                         })) {
      selected.push_back(one);
    }
  }
  return selected;
}

int Selftest(const std::vector<std::string>& arguments) {
  const std::vector<const SelftestCase*> cases = Select(arguments);
  if (cases.empty()) {
    std::fprintf(stderr,
                 "precision selftest: no case or group \"%s\"; without "
                 "arguments every case is run\n",
                 arguments[0].c_str());
    return kExitUsage;
  }
  Progress progress("selftest", static_cast<int>(cases.size()),
                    absl::GetFlag(FLAGS_quiet));
  std::string table;
  int wrong = 0;
  int right = 0;
  int unexpected = 0;
  for (size_t i = 0; i < cases.size(); ++i) {
    const SelftestCase& one = *cases[i];
    progress.Update(static_cast<int>(i), one.id);
    ++(one.expected == Verdict::kPass ? right : wrong);
    const absl::StatusOr<CaseResult> result = selftest::RunCase(one);
    const bool good = result.ok() && result->as_expected;
    if (!good) ++unexpected;
    const std::string said =
        result.ok() ? VerdictText(result->said)
                    : absl::StrCat("not run: ", result.status().message());
    char line[1024];
    std::snprintf(line, sizeof(line),
                  "%-3s %-6s %-12s %-34s %-14s %-14s %9.3g  %s\n",
                  good ? "" : "!!", one.id, one.group, one.op,
                  VerdictText(one.expected).c_str(), said.c_str(),
                  result.ok() ? result->score : 0.0, one.what);
    table += line;
    if (!good && result.ok()) {
      absl::StrAppend(&table, "           ", result->why_not,
                      result->message.empty() ? "" : ": ", result->message,
                      "\n");
    }
  }
  progress.Update(static_cast<int>(cases.size()), "");
  if (!absl::GetFlag(FLAGS_quiet)) {
    std::printf("%-3s %-6s %-12s %-34s %-14s %-14s %9s\n%s", "", "case",
                "group", "operator", "expected", "said", "score",
                table.c_str());
  }
  std::printf("%d wrong and %d right kernels; %d as expected, %d not\n", wrong,
              right, wrong + right - unexpected, unexpected);
  return unexpected == 0 ? kExitClean : kExitFailures;
}

}  // namespace

const Command& SelftestCommand() {
  static const Command& command = *new Command{
      "selftest",
      "[CASE...]",
      "plant wrong and right kernels and show what the check says",
      "Installs kernels that are known to be wrong, and others that are known "
      "to be right,\nover torch's own, and checks their calls in profile "
      "strict. CASE is an id (W04) or a\ngroup (softmax); without it every "
      "case is run. Score is the largest error of a call\ndivided by what "
      "rounding explains: above 1 is wrong.\n\nExit code: 0 if every verdict "
      "is as expected, 1 if not.",
      {"quiet"},
      &Selftest};
  return command;
}

}  // namespace flaggems
