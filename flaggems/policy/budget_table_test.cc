#include "flaggems/policy/budget_table.h"

#include <cstddef>
#include <fstream>
#include <map>
#include <ostream>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "flaggems/core/op_key.h"
#include "flaggems/core/status_testutil.h"
#include "gtest/gtest.h"

namespace flaggems {
namespace {

OpKey Key(const std::string& text) {
  const auto key = OpKey::Parse(text);
  EXPECT_THAT(key, IsOk());
  return key.value_or(OpKey{});
}

// The measured overloads, as maps from column to field.
std::vector<std::map<std::string, std::string>> MeasuredOverloads() {
  std::vector<std::map<std::string, std::string>> rows;
  std::ifstream file("flaggems/policy/op_policy.tsv");
  std::string line;
  std::getline(file, line);
  const std::vector<std::string> columns = absl::StrSplit(line, '\t');
  while (std::getline(file, line)) {
    const std::vector<std::string> fields = absl::StrSplit(line, '\t');
    EXPECT_EQ(fields.size(), columns.size()) << line;
    if (fields.size() != columns.size()) continue;
    std::map<std::string, std::string>& row = rows.emplace_back();
    for (size_t i = 0; i < columns.size(); ++i) row[columns[i]] = fields[i];
  }
  return rows;
}

double Number(const std::string& text) {
  if (text == "-") return 0;
  double value = -1;
  EXPECT_TRUE(absl::SimpleAtod(text, &value)) << text;
  return value;
}

// "k", "k+k1n" or "-".
Native16 Allowance(const std::string& text) {
  const std::pair<std::string, std::string> parts =
      absl::StrSplit(text, absl::MaxSplits('+', 1));
  Native16 native{Number(parts.first), 0};
  if (!parts.second.empty()) {
    EXPECT_EQ(parts.second.back(), 'n');
    native.k_per_term = Number(parts.second.substr(0, parts.second.size() - 1));
  }
  return native;
}

TEST(BudgetRowsTest, EveryMeasuredOverloadFindsWhatWasMeasured) {
  const auto measured = MeasuredOverloads();
  ASSERT_GT(measured.size(), 1000u);
  for (const auto& row : measured) {
    SCOPED_TRACE(row.at("overload"));
    const BudgetRow& found = FindBudget(Key(row.at("overload")));
    EXPECT_EQ(std::string(OpClassName(found.op_class)), row.at("class"));
    EXPECT_EQ(found.constants.h, Number(row.at("h")));
    EXPECT_EQ(found.constants.a, Number(row.at("A")));
    EXPECT_EQ(found.constants.b, Number(row.at("B")));
    EXPECT_EQ(found.constants.l, Number(row.at("L")));
    const Native16 cpu = Allowance(row.at("native16_cpu"));
    EXPECT_EQ(found.native_cpu.k, cpu.k);
    EXPECT_EQ(found.native_cpu.k_per_term, cpu.k_per_term);
    const Native16 cuda = Allowance(row.at("native16_cuda"));
    EXPECT_EQ(found.native_cuda.k, cuda.k);
    EXPECT_EQ(found.native_cuda.k_per_term, cuda.k_per_term);
  }
}

TEST(BudgetRowsTest, EveryRowIsTheRowOfAMeasuredOverload) {
  std::set<absl::string_view> found;
  for (const auto& row : MeasuredOverloads()) {
    found.insert(FindBudget(Key(row.at("overload"))).pattern);
  }
  for (const BudgetRow& row : BudgetRows()) {
    EXPECT_EQ(found.count(row.pattern), 1u) << row.pattern;
  }
}

TEST(BudgetRowsTest, AreSortedAndTheLastIsForAllOthers) {
  const absl::Span<const BudgetRow> rows = BudgetRows();
  ASSERT_GT(rows.size(), 100u);
  for (size_t i = 0; i + 2 < rows.size(); ++i) {
    EXPECT_LT(rows[i].pattern, rows[i + 1].pattern);
  }
  for (size_t i = 0; i < rows.size(); ++i) {
    EXPECT_EQ(rows[i].pattern == "*", i + 1 == rows.size()) << i;
  }
  EXPECT_FALSE(rows.back().note.empty());
}

TEST(BudgetRowsTest, ConstantsFitTheClass) {
  for (const BudgetRow& row : BudgetRows()) {
    SCOPED_TRACE(std::string(row.pattern));
    const BudgetConstants& c = row.constants;
    if (HasBudget(row.op_class)) {
      EXPECT_EQ(c.h, 0.5);
      EXPECT_GE(c.a, 0);
    } else {
      EXPECT_EQ(c.h + c.a + c.b + c.l, 0);
      EXPECT_EQ(row.native_cpu.k + row.native_cuda.k, 0);
    }
    // Only a pointwise operation may have nothing but a rounding.
    if (HasBudget(row.op_class) && row.op_class != OpClass::kRound) {
      EXPECT_GT(c.a, 0);
    }
  }
}

// ---- Look-up.

struct Case {
  std::string op;
  std::string pattern;  // of the row it finds
};

void PrintTo(const Case& c, std::ostream* os) { *os << c.op; }

class FindBudgetTest : public testing::TestWithParam<Case> {};

TEST_P(FindBudgetTest, FindsTheNearestRow) {
  EXPECT_EQ(std::string(FindBudget(Key(GetParam().op)).pattern),
            GetParam().pattern);
}

INSTANTIATE_TEST_SUITE_P(
    Rows, FindBudgetTest,
    testing::Values(
        // Another library's operator of the same name is another operator.
        Case{"my::add.Tensor", "*"}, Case{"my::fused_thing", "*"},
        Case{"no_such_operator", "*"}, Case{"no_such_operator_", "*"},
        Case{"_foreach_no_such_operator_.List", "*"}, Case{"_", "*"},
        Case{"__", "*"}, Case{"_foreach_", "*"}, Case{"*", "*"},
        // Dunders are no in-place forms.
        Case{"mm__", "*"}, Case{"mm", "mm"},
        // Out variants and unmeasured overloads have their operator's row.
        Case{"add.Tensor", "add"}, Case{"add.out", "add"},
        Case{"add.SomeNewOverload", "add"},
        // In-place and _foreach_ forms have their functional form's.
        Case{"mul_.Tensor", "mul"}, Case{"sin_", "sin"},
        Case{"_foreach_exp", "exp"}, Case{"_foreach_exp_", "exp"},
        Case{"_foreach_exp.out", "exp"},
        Case{"_foreach_sqrt_", "_foreach_sqrt"},
        // An overload's own row comes first, also by way of the form.
        Case{"div.Tensor", "div"}, Case{"div.Tensor_mode", "div.Tensor_mode"},
        Case{"div_.Tensor_mode", "div.Tensor_mode"}, Case{"div_.Tensor", "div"},
        Case{"round", "round"}, Case{"round_", "round"},
        Case{"round_.decimals", "round.decimals"}),
    [](const auto& info) {
      std::string name = std::to_string(info.index) + "_" + info.param.op;
      for (char& c : name) {
        if (c == '.' || c == ':') c = '_';
        if (c == '*') c = 'x';
      }
      return name;
    });

TEST(FindBudget, UnknownOperatorsAreJudgedByPerturbation) {
  const BudgetRow& row = FindBudget(Key("my::op"));
  EXPECT_EQ(row.op_class, OpClass::kCond);
  EXPECT_EQ(row.constants.a, 16);
  EXPECT_EQ(row.constants.b, 0.5);
  EXPECT_EQ(row.widening, Widening::kFloat64);
}

TEST(FindBudget, WideningThatNeedsCare) {
  EXPECT_EQ(FindBudget(Key("nan_to_num")).widening,
            Widening::kFillDtypeDefaults);
  EXPECT_EQ(FindBudget(Key("nextafter_")).widening, Widening::kNever);
  EXPECT_EQ(FindBudget(Key("cudnn_convolution")).widening,
            Widening::kDefinition);
}

TEST(OpClassNameTest, NamesDiffer) {
  std::set<absl::string_view> names;
  for (int i = 0; i < kNumOpClasses; ++i) {
    names.insert(OpClassName(static_cast<OpClass>(i)));
  }
  EXPECT_EQ(names.size(), static_cast<size_t>(kNumOpClasses));
}

}  // namespace
}  // namespace flaggems
