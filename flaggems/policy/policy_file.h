#ifndef FLAGGEMS_POLICY_POLICY_FILE_H_
#define FLAGGEMS_POLICY_POLICY_FILE_H_

// Rows of error budgets from a user's file; they come before budget_table.h's.
// docs/flags.md describes the file.

#include <functional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "flaggems/core/op_key.h"
#include "flaggems/policy/budget_table.h"

namespace flaggems {

struct PolicyRow {
  // OpKey::ShortName(): "mm" for all overloads, "add.Tensor", "my::op".
  std::string pattern;
  OpClass op_class = OpClass::kCond;
  BudgetConstants constants;  // 0 if the class has no budget
  std::string why;
};

// Whether there is an operator of a name such as "mm", "aten::add.Tensor",
// "my::op".
using KnownOperator = std::function<bool(absl::string_view)>;

// The rows of a file: a header and rows, the columns separated by tabs
//
//   op  class  h  A  B  L  why
//
// class is one of OpClassName(), the constants are those of BudgetConstants: a
// finite number of 0 and above, or "-" each for a class without a budget. Blank
// lines and lines that start with '#' are none. kInvalidArgument, "FILE:LINE:
// ...", for the first line that is wrong, an operator that is not `known` or
// has a row already included. An empty `known` knows all.
absl::StatusOr<std::vector<PolicyRow>> ParsePolicyRows(
    absl::string_view text, absl::string_view file, const KnownOperator& known);

// The same from the file itself; "policy_file: cannot read ..." with the cause.
absl::StatusOr<std::vector<PolicyRow>> ReadPolicyFile(
    const std::string& path, const KnownOperator& known);

// The row of an operator of any namespace: the first of `rows` by the order of
// BudgetPatterns(), else that of the table. A row of `rows` says nothing of two
// fields: the widening is always the table's, the allowances for native 16-bit
// kernels are the table's if the class is, else none. The texts live as long as
// `rows`. Cost: compares every row with up to eight patterns.
BudgetRow FindBudget(const OpKey& op, absl::Span<const PolicyRow> rows);

}  // namespace flaggems

#endif  // FLAGGEMS_POLICY_POLICY_FILE_H_
