#include "flaggems/policy/op_summary.h"

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "flaggems/core/op_key.h"
#include "flaggems/core/verdict.h"
#include "flaggems/policy/op_ledger.h"
#include "gtest/gtest.h"

namespace flaggems {
namespace {

using Reasons = std::map<std::string, int64_t>;

TEST(SummarizeTest, EveryVerdictIsInItsMap) {
  LedgerBook book;
  OpLedger* ledger = book.Get({"aten", "mm", ""});
  int64_t calls = 0;
  for (int i = 0; i < kNumVerdicts; ++i) {
    for (int n = 0; n <= i; ++n) ledger->Count(static_cast<Verdict>(i));
    calls += i + 1;
  }
  const std::vector<OpSummary> summaries = Summarize(book);
  ASSERT_EQ(summaries.size(), 1u);
  const OpSummary& summary = summaries[0];
  EXPECT_EQ(summary.op, "mm");
  EXPECT_EQ(summary.calls, calls);
  int64_t sum = summary.passed;
  for (const Reasons* reasons : {&summary.failed_by_reason, &summary.skipped,
                                 &summary.errors, &summary.untrusted}) {
    for (const auto& [reason, count] : *reasons) sum += count;
  }
  EXPECT_EQ(sum, calls);
  EXPECT_EQ(summary.failed_by_reason.at("special"),
            ledger->count(Verdict::kFailSpecial));
  EXPECT_EQ(summary.skipped.at("throttle"),
            ledger->count(Verdict::kSkipThrottle));
  EXPECT_EQ(summary.errors.at("reference"),
            ledger->count(Verdict::kErrorReference));
  EXPECT_EQ(summary.untrusted.at("all_nan"),
            ledger->count(Verdict::kUntrustedAllNan));
  int64_t failed = 0;
  for (const auto& [reason, count] : summary.failed_by_reason) failed += count;
  EXPECT_EQ(summary.failed, failed);
}

TEST(SummarizeTest, CalledOperatorsOnlySortedByName) {
  LedgerBook book;
  book.Get({"my", "abs", ""})->Count(Verdict::kPass);
  book.Get({"aten", "relu", ""});
  book.Get({"aten", "sub", "Tensor"})->Count(Verdict::kPass);
  book.Get({"aten", "add", "Tensor"})->Count(Verdict::kFailValue);
  std::vector<std::string> names;
  for (const OpSummary& summary : Summarize(book)) names.push_back(summary.op);
  EXPECT_EQ(names,
            (std::vector<std::string>{"add.Tensor", "my::abs", "sub.Tensor"}));
  EXPECT_EQ(Summarize(book)[0].failed_by_reason, (Reasons{{"value", 1}}));
}

TEST(FormatSummaryTableTest, Aligned) {
  LedgerBook book;
  OpLedger* add = book.Get({"aten", "add", "Tensor"});
  for (int i = 0; i < 10; ++i) add->Count(Verdict::kPass);
  for (int i = 0; i < 990; ++i) add->Count(Verdict::kSkipThrottle);
  OpLedger* mm = book.Get({"aten", "mm", ""});
  mm->Count(Verdict::kFailValue);
  mm->Count(Verdict::kErrorReference);
  mm->Count(Verdict::kUntrustedEmpty);
  mm->Count(Verdict::kSkipReported);
  mm->Count(Verdict::kSkipSize);
  OpLedger* relu = book.Get({"aten", "relu", ""});
  relu->Count(Verdict::kPass);
  EXPECT_EQ(
      FormatSummaryTable(Summarize(book)),
      "op          calls  pass  fail  error  untrusted  skipped  reasons\n"
      "add.Tensor   1000    10     0      0          0      990  "
      "skip: throttle 990\n"
      "mm              5     0     1      1          1        2  "
      "fail: value 1; error: reference 1; untrusted: empty 1; "
      "skip: reported 1, size 1\n"
      "relu            1     1     0      0          0        0\n"
      "total        1006    11     1      1          1      992  "
      "fail: value 1; error: reference 1; untrusted: empty 1; "
      "skip: reported 1, size 1, throttle 990\n");
}

TEST(FormatSummaryTableTest, Empty) {
  EXPECT_EQ(FormatSummaryTable({}), "no operator was called\n");
}

}  // namespace
}  // namespace flaggems
