// A seeded study of decision rules: which of them call kernels wrong that have
// a subtle error, and which raise alarms on right ones (docs/tolerance.md).
//
//   tolerance_study [--seeds=N] [--bias_calls=N] [--markdown]
//
// Exit code 1: the rule `budget` misses its goals (no alarm; 99 % in each dtype
// of the wrong results that are more than one step of the output's dtype from
// the right one somewhere), or a case could not be run.

#include <ATen/Parallel.h>

#include <algorithm>
#include <cstdio>
#include <string>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "benchmarks/study/right_kernels.h"
#include "benchmarks/study/rules.h"
#include "benchmarks/study/run_study.h"
#include "benchmarks/study/wrong_kernels.h"
#include "flaggems/registry/check_scope.h"

namespace flaggems::study {
namespace {

constexpr size_t kBudget = 2;  // in Rules()
constexpr double kGoal = 0.99;
// Of right kernels, which must not be reported.
constexpr int kRightBiasCalls = 100;

struct Options {
  int seeds = 10;
  int bias_calls = 5000;
  bool markdown = false;
};

bool Parse(int argc, char** argv, Options* options) {
  for (int i = 1; i < argc; ++i) {
    absl::string_view word = argv[i];
    bool good = true;
    if (absl::ConsumePrefix(&word, "--seeds=")) {
      good = absl::SimpleAtoi(word, &options->seeds) && options->seeds > 0;
    } else if (absl::ConsumePrefix(&word, "--bias_calls=")) {
      good = absl::SimpleAtoi(word, &options->bias_calls) &&
             options->bias_calls >= 0;
    } else if (word == "--markdown") {
      options->markdown = true;
    } else {
      good = false;
    }
    if (!good) {
      std::fprintf(stderr,
                   "tolerance_study: cannot read \"%s\"; it takes --seeds=N, "
                   "--bias_calls=N and --markdown\n",
                   argv[i]);
      return false;
    }
  }
  return true;
}

class Table {
 public:
  explicit Table(std::vector<std::string> header) : rows_{std::move(header)} {}

  void Add(std::vector<std::string> row) { rows_.push_back(std::move(row)); }

  void Print(const char* title, bool markdown) const {
    std::printf("\n%s\n\n", title);
    if (rows_.size() == 1) {
      std::printf("None.\n");
      return;
    }
    std::vector<size_t> widths(rows_[0].size());
    for (const auto& row : rows_) {
      for (size_t i = 0; i < row.size(); ++i) {
        widths[i] = std::max(widths[i], row[i].size());
      }
    }
    for (size_t r = 0; r < rows_.size(); ++r) {
      if (markdown) {
        std::printf("| %s |\n", absl::StrJoin(rows_[r], " | ").c_str());
        if (r == 0) {
          std::vector<std::string> rule(widths.size(), "---");
          std::printf("|%s|\n", absl::StrJoin(rule, "|").c_str());
        }
        continue;
      }
      std::string line;
      for (size_t i = 0; i < rows_[r].size(); ++i) {
        absl::StrAppendFormat(&line, "%-*s  ", static_cast<int>(widths[i]),
                              rows_[r][i]);
      }
      std::printf("%s\n", line.c_str());
    }
  }

 private:
  std::vector<std::vector<std::string>> rows_;
};

std::string Of(const Share& share) {
  return share.total == 0 ? "-" : absl::StrCat(share.wrong, "/", share.total);
}

std::string Scores(const Share& share) {
  return share.total == 1 || share.lowest == share.highest
             ? absl::StrFormat("%.3g", share.highest)
             : absl::StrFormat("%.3g to %.3g", share.lowest, share.highest);
}

void PrintRules(const std::vector<CaseOutcome>& outcomes, bool markdown) {
  Table table({"rule", "dtype", "caught", "share", "of those within one step",
               "alarms on right ones"});
  for (size_t rule = 0; rule < Rules().size(); ++rule) {
    for (const c10::ScalarType dtype : kDtypes) {
      Share beyond, within, alarms;
      for (const CaseOutcome& outcome : outcomes) {
        if (outcome.dtype != dtype) continue;
        beyond.Add(outcome.beyond[rule]);
        within.Add(outcome.within[rule]);
        alarms.Add(outcome.right[rule]);
      }
      table.Add({std::string(Rules()[rule].name), NameOf(dtype), Of(beyond),
                 absl::StrFormat("%.1f %%", 100.0 * beyond.wrong /
                                                std::max(1, beyond.total)),
                 Of(within), Of(alarms)});
    }
  }
  table.Print("Wrong results that count, by one call each:", markdown);
}

void PrintKinds(const std::vector<CaseOutcome>& outcomes, bool markdown) {
  Table table({"wrong kernel", "float32", "float16", "bfloat16"});
  for (const StudyCase& study_case : WrongKernels()) {
    std::vector<std::string> row = {study_case.kind};
    for (const CaseOutcome& outcome : outcomes) {
      if (outcome.study_case != &study_case) continue;
      const Share& within = outcome.within[kBudget];
      const int right = outcome.right[kBudget].total;
      std::vector<std::string> cell;
      if (outcome.beyond[kBudget].total > 0) {
        cell.push_back(Of(outcome.beyond[kBudget]));
      }
      if (within.total > 0) cell.push_back(absl::StrCat("(", Of(within), ")"));
      if (right > 0) cell.push_back(absl::StrCat("[", right, "]"));
      row.push_back(absl::StrJoin(cell, " "));
    }
    row.resize(4, "-");
    table.Add(std::move(row));
  }
  table.Print("Caught by budget; (within one step); [right in this dtype]:",
              markdown);
}

void PrintMistakes(const std::vector<CaseOutcome>& outcomes, bool markdown) {
  Table misses(
      {"missed by budget", "dtype", "operator", "calls", "score", "the first"});
  Table alarms({"alarm on", "dtype", "rule", "calls", "score", "the first"});
  for (const CaseOutcome& outcome : outcomes) {
    for (size_t rule = 0; rule < Rules().size(); ++rule) {
      const char* const kind = outcome.study_case->kind;
      const Share& beyond = outcome.beyond[rule];
      const Share& right = outcome.right[rule];
      if (rule == kBudget && beyond.wrong < beyond.total) {
        misses.Add(
            {kind, NameOf(outcome.dtype), outcome.study_case->op,
             absl::StrCat(beyond.total - beyond.wrong, "/", beyond.total),
             Scores(beyond), beyond.sample});
      }
      if (right.wrong > 0) {
        alarms.Add({kind, NameOf(outcome.dtype),
                    std::string(Rules()[rule].name), Of(right), Scores(right),
                    right.sample});
      }
    }
  }
  misses.Print("Misses of wrong results that count:", markdown);
  alarms.Print("Alarms:", markdown);
}

// Returns false where a case could not be run, or a right kernel is reported.
bool PrintBias(const std::vector<CaseOutcome>& outcomes,
               const Options& options) {
  Table wrong({"wrong kernel", "dtype", "caught", "bias reported after",
               "elements", "flips to one side", "expected at most"});
  Table right({"right kernel that the bias reports", "dtype", "calls", "flips",
               "expected at most"});
  bool good = true;
  int right_cases = 0;
  for (const CaseOutcome& outcome : outcomes) {
    const Share& within = outcome.within[kBudget];
    if (outcome.dtype == at::kFloat) continue;
    // Of a wrong kernel: the calls that show nothing, if there are others.
    Share caught = outcome.beyond[kBudget];
    caught.Add(within);
    caught.total += outcome.right[kBudget].total;
    if (outcome.is_wrong &&
        (within.total == 0 || caught.wrong == caught.total)) {
      continue;
    }
    const auto bias = FindBias(
        *outcome.study_case, outcome.dtype,
        outcome.is_wrong ? options.bias_calls
                         : std::min(options.bias_calls, kRightBiasCalls));
    if (!bias.ok()) {
      std::fprintf(stderr, "%s\n", bias.status().ToString().c_str());
      return false;
    }
    const std::string expected = absl::StrFormat("%.1f", bias->expected);
    if (outcome.is_wrong) {
      wrong.Add(
          {outcome.study_case->kind, NameOf(outcome.dtype), Of(caught),
           bias->reported ? absl::StrCat(bias->calls, " calls")
                          : absl::StrCat("not in ", bias->calls, " calls"),
           absl::StrCat(bias->counted), absl::StrCat(bias->flips), expected});
      continue;
    }
    ++right_cases;
    if (!bias->reported) continue;
    good = false;
    right.Add({outcome.study_case->kind, NameOf(outcome.dtype),
               absl::StrCat(bias->calls), absl::StrCat(bias->flips), expected});
  }
  wrong.Print("Within one step, and not caught by every call:",
              options.markdown);
  right.Print(absl::StrCat("Of ", right_cases, " right kernels, ",
                           std::min(options.bias_calls, kRightBiasCalls),
                           " calls each, the bias reports:")
                  .c_str(),
              options.markdown);
  return good;
}

bool GoalsHold(const std::vector<CaseOutcome>& outcomes) {
  bool good = true;
  for (const c10::ScalarType dtype : kDtypes) {
    Share beyond;
    for (const CaseOutcome& outcome : outcomes) {
      if (outcome.dtype != dtype) continue;
      beyond.Add(outcome.beyond[kBudget]);
      if (outcome.right[kBudget].wrong > 0) good = false;
    }
    if (beyond.wrong < kGoal * beyond.total) good = false;
  }
  return good;
}

int Main(int argc, char** argv) {
  Options options;
  if (!Parse(argc, argv, &options)) return 2;
  at::set_num_threads(1);
  const CheckScope scope;
  std::vector<CaseOutcome> outcomes;
  for (const bool is_wrong : {true, false}) {
    for (const StudyCase& study_case :
         is_wrong ? WrongKernels() : RightKernels()) {
      for (const c10::ScalarType dtype : kDtypes) {
        if (study_case.float32_only && dtype != at::kFloat) continue;
        auto outcome = JudgeCase(study_case, is_wrong, dtype, options.seeds);
        if (!outcome.ok()) {
          std::fprintf(stderr, "tolerance_study: %s\n",
                       outcome.status().ToString().c_str());
          return 1;
        }
        outcomes.push_back(*std::move(outcome));
      }
    }
  }
  std::printf("%zu wrong kernels, %zu right ones, %d seeds.\n",
              WrongKernels().size(), RightKernels().size(), options.seeds);
  PrintRules(outcomes, options.markdown);
  PrintKinds(outcomes, options.markdown);
  PrintMistakes(outcomes, options.markdown);
  const bool unbiased = options.bias_calls == 0 || PrintBias(outcomes, options);
  if (GoalsHold(outcomes) && unbiased) return 0;
  std::printf("\nThe goals do not hold.\n");
  return 1;
}

}  // namespace
}  // namespace flaggems::study

int main(int argc, char** argv) { return flaggems::study::Main(argc, argv); }
