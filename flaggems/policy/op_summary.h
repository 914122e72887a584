#ifndef FLAGGEMS_POLICY_OP_SUMMARY_H_
#define FLAGGEMS_POLICY_OP_SUMMARY_H_

// What happened to each operator, for programs and for people.

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "absl/types/span.h"
#include "flaggems/policy/op_ledger.h"

namespace flaggems {

// Counts of calls. Maps go from a reason (ReasonName(), "throttle") to a count
// and hold no zeros. calls = passed + failed + what the last three maps hold;
// failed = what failed_by_reason holds.
struct OpSummary {
  std::string op;  // OpKey::ShortName()
  int64_t calls = 0;
  int64_t passed = 0;
  int64_t failed = 0;
  std::map<std::string, int64_t> failed_by_reason;
  std::map<std::string, int64_t> skipped;
  std::map<std::string, int64_t> errors;
  std::map<std::string, int64_t> untrusted;
  // max(error / allowed error) over the judged calls; above 1 is wrong.
  double worst_score = 0;
};

// The operators that were called, sorted by name. Thread-safe; calls that end
// meanwhile are in it or not.
std::vector<OpSummary> Summarize(const LedgerBook& book);

// A table for people: one line an operator and a total, each ending in a
// newline, columns aligned by spaces. "no operator was called" if empty.
std::string FormatSummaryTable(absl::Span<const OpSummary> summaries);

}  // namespace flaggems

#endif  // FLAGGEMS_POLICY_OP_SUMMARY_H_
