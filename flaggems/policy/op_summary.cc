#include "flaggems/policy/op_summary.h"

#include <algorithm>
#include <array>
#include <cstddef>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/string_view.h"
#include "flaggems/core/verdict.h"

namespace flaggems {
namespace {

using Reasons = std::map<std::string, int64_t>;

OpSummary SummaryOf(const OpLedger& ledger) {
  OpSummary summary;
  summary.op = ledger.key().ShortName();
  summary.worst_score = ledger.worst_score();
  for (int i = 0; i < kNumVerdicts; ++i) {
    const Verdict verdict = static_cast<Verdict>(i);
    // Read once, so that the sums hold while other threads count.
    const int64_t count = ledger.count(verdict);
    if (count == 0) continue;
    const std::string reason(ReasonName(verdict));
    summary.calls += count;
    switch (OutcomeOf(verdict)) {
      case Outcome::kPass:
        summary.passed += count;
        break;
      case Outcome::kFail:
        summary.failed += count;
        summary.failed_by_reason[reason] += count;
        break;
      case Outcome::kSkip:
        summary.skipped[reason] += count;
        break;
      case Outcome::kError:
        summary.errors[reason] += count;
        break;
      case Outcome::kUntrusted:
        summary.untrusted[reason] += count;
        break;
    }
  }
  return summary;
}

int64_t SumOf(const Reasons& reasons) {
  int64_t sum = 0;
  for (const auto& [reason, count] : reasons) sum += count;
  return sum;
}

void AddTo(Reasons& total, const Reasons& reasons) {
  for (const auto& [reason, count] : reasons) total[reason] += count;
}

// "fail: value 1; skip: size 2, throttle 3"
std::string ReasonsOf(const OpSummary& summary) {
  std::vector<std::string> parts;
  const auto add = [&parts](absl::string_view outcome, const Reasons& reasons) {
    if (reasons.empty()) return;
    parts.push_back(absl::StrCat(
        outcome, ": ", absl::StrJoin(reasons, ", ", absl::PairFormatter(" "))));
  };
  add("fail", summary.failed_by_reason);
  add("error", summary.errors);
  add("untrusted", summary.untrusted);
  add("skip", summary.skipped);
  return absl::StrJoin(parts, "; ");
}

constexpr size_t kColumns = 8;
using Row = std::array<std::string, kColumns>;

Row RowOf(const OpSummary& summary) {
  return {summary.op,
          absl::StrCat(summary.calls),
          absl::StrCat(summary.passed),
          absl::StrCat(summary.failed),
          absl::StrCat(SumOf(summary.errors)),
          absl::StrCat(SumOf(summary.untrusted)),
          absl::StrCat(SumOf(summary.skipped)),
          ReasonsOf(summary)};
}

}  // namespace

std::vector<OpSummary> Summarize(const LedgerBook& book) {
  std::vector<OpSummary> summaries;
  for (const OpLedger* ledger : book.All()) {
    OpSummary summary = SummaryOf(*ledger);
    if (summary.calls > 0) summaries.push_back(std::move(summary));
  }
  std::stable_sort(
      summaries.begin(), summaries.end(),
      [](const OpSummary& a, const OpSummary& b) { return a.op < b.op; });
  return summaries;
}

std::string FormatSummaryTable(absl::Span<const OpSummary> summaries) {
  if (summaries.empty()) return "no operator was called\n";
  std::vector<Row> rows = {{"op", "calls", "pass", "fail", "error", "untrusted",
                            "skipped", "reasons"}};
  OpSummary total;
  total.op = "total";
  for (const OpSummary& summary : summaries) {
    rows.push_back(RowOf(summary));
    total.calls += summary.calls;
    total.passed += summary.passed;
    total.failed += summary.failed;
    AddTo(total.failed_by_reason, summary.failed_by_reason);
    AddTo(total.skipped, summary.skipped);
    AddTo(total.errors, summary.errors);
    AddTo(total.untrusted, summary.untrusted);
  }
  rows.push_back(RowOf(total));

  std::array<size_t, kColumns> widths{};
  for (const Row& row : rows) {
    for (size_t c = 0; c < kColumns; ++c) {
      widths[c] = std::max(widths[c], row[c].size());
    }
  }
  std::string table;
  for (const Row& row : rows) {
    std::string line;
    for (size_t c = 0; c < kColumns; ++c) {
      const std::string padding(widths[c] - row[c].size(), ' ');
      if (c > 0) line += "  ";
      // Text to the left, numbers to the right.
      const bool text = c == 0 || c == kColumns - 1;
      absl::StrAppend(&line, text ? row[c] : padding, text ? padding : row[c]);
    }
    line.erase(line.find_last_not_of(' ') + 1);
    absl::StrAppend(&table, line, "\n");
  }
  return table;
}

}  // namespace flaggems
