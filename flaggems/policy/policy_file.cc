#include "flaggems/policy/policy_file.h"

#include <array>
#include <cmath>
#include <cstddef>
#include <iterator>
#include <optional>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "flaggems/core/env.h"
#include "flaggems/core/status_macros.h"
#include "flaggems/policy/text_file.h"

namespace flaggems {
namespace {

constexpr absl::string_view kColumns[] = {"op", "class", "h",  "A",
                                          "B",  "L",     "why"};
constexpr size_t kNumColumns = std::size(kColumns);
constexpr size_t kFirstConstant = 2;

std::string Header() {
  return absl::StrCat(absl::StrJoin(kColumns, ", "), ", separated by tabs");
}

std::optional<OpClass> ClassNamed(absl::string_view name) {
  for (int i = 0; i < kNumOpClasses; ++i) {
    const OpClass op_class = static_cast<OpClass>(i);
    if (OpClassName(op_class) == name) return op_class;
  }
  return std::nullopt;
}

std::string ClassNames() {
  std::vector<absl::string_view> names;
  for (int i = 0; i < kNumOpClasses; ++i) {
    names.push_back(OpClassName(static_cast<OpClass>(i)));
  }
  return absl::StrJoin(names, ", ");
}

std::vector<absl::string_view> ColumnsOf(absl::string_view line) {
  std::vector<absl::string_view> columns = absl::StrSplit(line, '\t');
  for (absl::string_view& column : columns) {
    column = absl::StripAsciiWhitespace(column);
  }
  return columns;
}

// `columns` are those of a row, as many as kColumns.
absl::StatusOr<BudgetConstants> ConstantsOf(
    absl::Span<const absl::string_view> columns, OpClass op_class) {
  BudgetConstants constants;
  double* const fields[] = {&constants.h, &constants.a, &constants.b,
                            &constants.l};
  for (size_t i = 0; i < std::size(fields); ++i) {
    const absl::string_view name = kColumns[kFirstConstant + i];
    const absl::string_view text = columns[kFirstConstant + i];
    if (!HasBudget(op_class)) {
      if (text == "-") continue;
      return absl::InvalidArgumentError(
          absl::StrCat(name, " is ", Quoted(text), ", but class ",
                       OpClassName(op_class), " has no budget; write -"));
    }
    const absl::StatusOr<double> value = ParseDouble(text);
    if (!value.ok() || !std::isfinite(*value) || *value < 0) {
      return absl::InvalidArgumentError(
          absl::StrCat(name, " is ", Quoted(text),
                       "; it must be a finite number of 0 and above"));
    }
    *fields[i] = *value;
  }
  return constants;
}

absl::StatusOr<PolicyRow> RowOf(absl::Span<const absl::string_view> columns,
                                const KnownOperator& known) {
  if (columns.size() != kNumColumns) {
    return absl::InvalidArgumentError(
        absl::StrCat(columns.size(), " columns where ", kNumColumns,
                     " are needed: ", Header()));
  }
  FG_ASSIGN_OR_RETURN(const OpKey op, OpKey::Parse(columns[0]));
  if (known && !known(columns[0])) {
    return absl::InvalidArgumentError(absl::StrCat(
        "there is no operator ", Quoted(columns[0]),
        "; names are those of the dispatcher: mm, add.Tensor, my::op"));
  }
  PolicyRow row;
  row.pattern = op.ShortName();
  const std::optional<OpClass> op_class = ClassNamed(columns[1]);
  if (!op_class.has_value()) {
    return absl::InvalidArgumentError(absl::StrCat(
        Quoted(columns[1]), " is not a class; write one of ", ClassNames()));
  }
  row.op_class = *op_class;
  FG_ASSIGN_OR_RETURN(row.constants, ConstantsOf(columns, row.op_class));
  row.why = std::string(columns.back());
  if (row.why.empty()) {
    return absl::InvalidArgumentError(
        "the why is missing; say where the constants come from");
  }
  return row;
}

}  // namespace

absl::StatusOr<std::vector<PolicyRow>> ParsePolicyRows(
    absl::string_view text, absl::string_view file,
    const KnownOperator& known) {
  std::vector<PolicyRow> rows;
  absl::flat_hash_map<std::string, int> lines;  // of each pattern
  bool header = false;
  FG_RETURN_IF_ERROR(ForEachLine(
      text, file, [&](int number, absl::string_view line) -> absl::Status {
        const std::vector<absl::string_view> columns = ColumnsOf(line);
        if (!header) {
          if (columns != std::vector<absl::string_view>(std::begin(kColumns),
                                                        std::end(kColumns))) {
            return absl::InvalidArgumentError(
                absl::StrCat("this must be the header: ", Header()));
          }
          header = true;
          return absl::OkStatus();
        }
        FG_ASSIGN_OR_RETURN(PolicyRow row, RowOf(columns, known));
        const auto [found, inserted] = lines.emplace(row.pattern, number);
        if (!inserted) {
          return absl::InvalidArgumentError(
              absl::StrCat(row.pattern, " has a row already, in line ",
                           found->second, "; remove one"));
        }
        rows.push_back(std::move(row));
        return absl::OkStatus();
      }));
  if (!header) {
    return absl::InvalidArgumentError(absl::StrCat(
        file, ":1: the file has no header; it must be ", Header()));
  }
  return rows;
}

absl::StatusOr<std::vector<PolicyRow>> ReadPolicyFile(
    const std::string& path, const KnownOperator& known) {
  FG_ASSIGN_OR_RETURN(const std::string text,
                      ReadTextFile("policy_file", path));
  return ParsePolicyRows(text, path, known);
}

BudgetRow FindBudget(const OpKey& op, absl::Span<const PolicyRow> rows) {
  BudgetRow budget = FindBudget(op);
  if (rows.empty()) return budget;
  const std::string ns = op.ns == "aten" ? "" : absl::StrCat(op.ns, "::");
  for (const std::string& pattern : BudgetPatterns(op)) {
    const std::string name = absl::StrCat(ns, pattern);
    for (const PolicyRow& row : rows) {
      if (row.pattern != name) continue;
      budget.pattern = row.pattern;
      if (row.op_class != budget.op_class) {
        budget.native_cpu = Native16();
        budget.native_cuda = Native16();
      }
      budget.op_class = row.op_class;
      budget.constants = row.constants;
      budget.note = row.why;
      return budget;
    }
  }
  return budget;
}

}  // namespace flaggems
