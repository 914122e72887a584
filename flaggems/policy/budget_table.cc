#include "flaggems/policy/budget_table.h"

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"

namespace flaggems {
namespace {

// The names that rows are written with.
constexpr OpClass kExact = OpClass::kExact;
constexpr OpClass kRound = OpClass::kRound;
constexpr OpClass kSum = OpClass::kSum;
constexpr OpClass kInput = OpClass::kInput;
constexpr OpClass kScale = OpClass::kScale;
constexpr OpClass kStep = OpClass::kStep;
constexpr OpClass kCond = OpClass::kCond;
constexpr OpClass kProp = OpClass::kProp;
constexpr OpClass kRandom = OpClass::kRandom;
constexpr OpClass kView = OpClass::kView;
constexpr OpClass kUninit = OpClass::kUninit;
constexpr OpClass kMeta = OpClass::kMeta;
constexpr OpClass kNone = OpClass::kNone;
constexpr Widening kFloat64 = Widening::kFloat64;
constexpr Widening kFillDtypeDefaults = Widening::kFillDtypeDefaults;
constexpr Widening kDefinition = Widening::kDefinition;
constexpr Widening kNever = Widening::kNever;

constexpr BudgetRow kBudgetRows[] = {
#include "flaggems/policy/budget_rows.inc"
};

const BudgetRow* Find(absl::string_view pattern) {
  const BudgetRow* const last = std::end(kBudgetRows) - 1;
  const BudgetRow* const row = std::lower_bound(
      std::begin(kBudgetRows), last, pattern,
      [](const BudgetRow& candidate, absl::string_view wanted) {
        return candidate.pattern < wanted;
      });
  return row != last && row->pattern == pattern ? row : nullptr;
}

}  // namespace

absl::string_view OpClassName(OpClass op_class) {
  switch (op_class) {
    case OpClass::kExact:
      return "exact";
    case OpClass::kRound:
      return "round";
    case OpClass::kSum:
      return "sum";
    case OpClass::kInput:
      return "input";
    case OpClass::kScale:
      return "scale";
    case OpClass::kStep:
      return "step";
    case OpClass::kCond:
      return "cond";
    case OpClass::kProp:
      return "prop";
    case OpClass::kRandom:
      return "random";
    case OpClass::kView:
      return "view";
    case OpClass::kUninit:
      return "uninit";
    case OpClass::kMeta:
      return "meta";
    case OpClass::kNone:
      return "none";
  }
  return "none";
}

bool HasBudget(OpClass op_class) {
  switch (op_class) {
    case OpClass::kRound:
    case OpClass::kSum:
    case OpClass::kInput:
    case OpClass::kScale:
    case OpClass::kStep:
    case OpClass::kCond:
      return true;
    case OpClass::kExact:
    case OpClass::kProp:
    case OpClass::kRandom:
    case OpClass::kView:
    case OpClass::kUninit:
    case OpClass::kMeta:
    case OpClass::kNone:
      return false;
  }
  return false;
}

absl::Span<const BudgetRow> BudgetRows() { return kBudgetRows; }

std::vector<std::string> BudgetPatterns(const OpKey& op) {
  const absl::string_view name = op.name;
  // Dunder names ("__iand__") are no in-place forms of others.
  const bool in_place =
      absl::EndsWith(name, "_") && !absl::EndsWith(name, "__");
  std::vector<absl::string_view> forms = {name};
  if (in_place) forms.push_back(absl::StripSuffix(name, "_"));
  if (absl::StartsWith(name, "_foreach_")) {
    for (size_t i = 0, count = forms.size(); i < count; ++i) {
      forms.push_back(absl::StripPrefix(forms[i], "_foreach_"));
    }
  }
  std::vector<std::string> patterns;
  for (absl::string_view form : forms) {
    if (!op.overload.empty()) {
      patterns.push_back(absl::StrCat(form, ".", op.overload));
    }
    patterns.emplace_back(form);
  }
  return patterns;
}

const BudgetRow& FindBudget(const OpKey& op) {
  if (op.ns == "aten") {
    for (const std::string& pattern : BudgetPatterns(op)) {
      if (const BudgetRow* row = Find(pattern)) return *row;
    }
  }
  return *(std::end(kBudgetRows) - 1);
}

}  // namespace flaggems
