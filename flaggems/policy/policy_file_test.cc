#include "flaggems/policy/policy_file.h"

#include <fstream>
#include <ostream>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/string_view.h"
#include "flaggems/core/op_key.h"
#include "flaggems/core/status_testutil.h"
#include "flaggems/policy/budget_table.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace flaggems {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr char kHeader[] = "op\tclass\th\tA\tB\tL\twhy\n";

bool NotNamedNosuch(absl::string_view name) {
  return name.find("nosuch") == name.npos;
}

// Rows written with spaces instead of tabs, '_' for a space.
std::vector<PolicyRow> Rows(absl::string_view rows) {
  const std::string text = absl::StrCat(
      kHeader, absl::StrReplaceAll(rows, {{" ", "\t"}, {"~", " "}}));
  auto parsed = ParsePolicyRows(text, "p.tsv", NotNamedNosuch);
  EXPECT_THAT(parsed, IsOk());
  return parsed.value_or(std::vector<PolicyRow>());
}

TEST(ParsePolicyRowsTest, ReadsEveryColumn) {
  const auto rows = ParsePolicyRows(
      "# measured 2026\n"
      "\n"
      "op\tclass\th\tA\tB\tL\twhy\r\n"
      "aten::add.Tensor\tround\t0.5\t0\t0\t0\tone rounding\r\n"
      "  # of ours\n"
      " my::op \t cond \t 0.75\t16\t0.5\t1e-3\tsplit K, 4 parts\n"
      "mm\texact\t-\t-\t-\t-\tinteger weights",
      "p.tsv", NotNamedNosuch);
  ASSERT_THAT(rows, IsOk());
  ASSERT_EQ(rows->size(), 3u);
  EXPECT_EQ((*rows)[0].pattern, "add.Tensor");
  EXPECT_EQ((*rows)[0].op_class, OpClass::kRound);
  EXPECT_EQ((*rows)[0].why, "one rounding");
  EXPECT_EQ((*rows)[1].pattern, "my::op");
  EXPECT_EQ((*rows)[1].op_class, OpClass::kCond);
  EXPECT_EQ((*rows)[1].constants.h, 0.75);
  EXPECT_EQ((*rows)[1].constants.a, 16);
  EXPECT_EQ((*rows)[1].constants.b, 0.5);
  EXPECT_EQ((*rows)[1].constants.l, 1e-3);
  EXPECT_EQ((*rows)[1].why, "split K, 4 parts");
  EXPECT_EQ((*rows)[2].op_class, OpClass::kExact);
  EXPECT_EQ((*rows)[2].constants.h, 0);
}

TEST(ParsePolicyRowsTest, EveryClassIsRead) {
  for (int i = 0; i < kNumOpClasses; ++i) {
    const OpClass op_class = static_cast<OpClass>(i);
    const auto rows =
        Rows(absl::StrCat("mm ", OpClassName(op_class),
                          HasBudget(op_class) ? " 0.5 1 2 3 w" : " - - - - w"));
    ASSERT_EQ(rows.size(), 1u);
    EXPECT_EQ(rows[0].op_class, op_class);
  }
}

TEST(ParsePolicyRowsTest, AHeaderAloneIsNoRow) {
  EXPECT_THAT(ParsePolicyRows(kHeader, "p.tsv", NotNamedNosuch),
              IsOkAndHolds(IsEmpty()));
}

TEST(ParsePolicyRowsTest, WithoutAListOfOperatorsAllAreKnown) {
  EXPECT_THAT(
      ParsePolicyRows(absl::StrCat(kHeader, "nosuch\tsum\t0.5\t1\t1\t0\tw\n"),
                      "p.tsv", nullptr),
      IsOk());
}

struct BadCase {
  std::string name;
  std::string text;  // as in Rows(), with the header
  std::string message;
};

void PrintTo(const BadCase& c, std::ostream* os) { *os << c.name; }

class BadPolicyRowsTest : public testing::TestWithParam<BadCase> {};

TEST_P(BadPolicyRowsTest, IsAnErrorThatNamesFileAndLine) {
  const std::string text =
      absl::StrReplaceAll(GetParam().text, {{" ", "\t"}, {"~", " "}});
  EXPECT_THAT(ParsePolicyRows(text, "dir/p.tsv", NotNamedNosuch),
              StatusIs(absl::StatusCode::kInvalidArgument, GetParam().message));
}

constexpr char kGood[] = "op class h A B L why\nmm sum 0.5 16 1 0 w\n";

std::string After(absl::string_view line) {
  return absl::StrCat(kGood, "\n# comment\n", line, "\n");
}

constexpr char kNumber[] = "; it must be a finite number of 0 and above";

INSTANTIATE_TEST_SUITE_P(
    Lines, BadPolicyRowsTest,
    testing::ValuesIn(std::vector<BadCase>{
        {"Empty", "",
         "dir/p.tsv:1: the file has no header; it must be op, class, h, A, B, "
         "L, why, separated by tabs"},
        {"CommentsOnly", "#a\n\n#b\n",
         "dir/p.tsv:1: the file has no header; it must be op, class, h, A, B, "
         "L, why, separated by tabs"},
        {"NoHeader", "# c\nmm sum 0.5 16 1 0 w\n",
         "dir/p.tsv:2: this must be the header: op, class, h, A, B, L, why, "
         "separated by tabs"},
        {"HeaderInSpaces", "op~class~h~A~B~L~why\n",
         "dir/p.tsv:1: this must be the header: op, class, h, A, B, L, why, "
         "separated by tabs"},
        {"FewColumns", After("add sum 0.5 16 1 0"),
         "dir/p.tsv:5: 6 columns where 7 are needed: op, class, h, A, B, L, "
         "why, separated by tabs"},
        {"ManyColumns", After("add sum 0.5 16 1 0 too many"),
         "dir/p.tsv:5: 8 columns where 7 are needed: op, class, h, A, B, L, "
         "why, separated by tabs"},
        {"NoWhy", After("add sum 0.5 16 1 0 "),
         "dir/p.tsv:5: the why is missing; say where the constants come from"},
        {"BlankWhy", After("add sum 0.5 16 1 0 ~~"),
         "dir/p.tsv:5: the why is missing; say where the constants come from"},
        {"UnknownOperator", After("aten::nosuch.out sum 0.5 16 1 0 w"),
         "dir/p.tsv:5: there is no operator \"aten::nosuch.out\"; names are "
         "those of the dispatcher: mm, add.Tensor, my::op"},
        {"NoOperator", After(" sum 0.5 16 1 0 w"),
         "dir/p.tsv:5: \"\" is not an operator name: the name is empty; write "
         "\"add\", \"add.Tensor\" or \"aten::add.Tensor\""},
        {"UnknownClass", After("add sums 0.5 16 1 0 w"),
         "dir/p.tsv:5: \"sums\" is not a class; write one of exact, round, "
         "sum, input, scale, step, cond, prop, random, view, uninit, meta, "
         "none"},
        {"UpperCaseClass", After("add Sum 0.5 16 1 0 w"),
         "dir/p.tsv:5: \"Sum\" is not a class; write one of exact, round, "
         "sum, input, scale, step, cond, prop, random, view, uninit, meta, "
         "none"},
        {"NegativeH", After("add sum -0.5 16 1 0 w"),
         std::string("dir/p.tsv:5: h is \"-0.5\"") + kNumber},
        {"NanA", After("add sum 0.5 nan 1 0 w"),
         std::string("dir/p.tsv:5: A is \"nan\"") + kNumber},
        {"InfB", After("add sum 0.5 16 inf 0 w"),
         std::string("dir/p.tsv:5: B is \"inf\"") + kNumber},
        {"OverflowL", After("add sum 0.5 16 1 1e999 w"),
         std::string("dir/p.tsv:5: L is \"1e999\"") + kNumber},
        {"DashOfABudget", After("add sum 0.5 16 1 - w"),
         std::string("dir/p.tsv:5: L is \"-\"") + kNumber},
        {"EmptyConstant", After("add sum 0.5  1 0 w"),
         std::string("dir/p.tsv:5: A is \"\"") + kNumber},
        {"ConstantWithoutABudget", After("add view - 16 - - w"),
         "dir/p.tsv:5: A is \"16\", but class view has no budget; write -"},
        {"Duplicate", After("mm round 0.5 1 0 0 w"),
         "dir/p.tsv:5: mm has a row already, in line 2; remove one"},
        {"DuplicateInOtherWords", After("aten::mm sum 0.5 16 1 0 w"),
         "dir/p.tsv:5: mm has a row already, in line 2; remove one"},
    }),
    [](const auto& info) { return info.param.name; });

TEST(ReadPolicyFileTest, ReadsTheFileAndNamesIt) {
  const std::string path = testing::TempDir() + "/policy.tsv";
  std::ofstream(path) << kHeader << "mm\tsum\t0.5\t32\t1\t0\tw\n";
  const auto rows = ReadPolicyFile(path, NotNamedNosuch);
  ASSERT_THAT(rows, IsOk());
  ASSERT_EQ(rows->size(), 1u);
  EXPECT_EQ((*rows)[0].constants.a, 32);

  std::ofstream(path) << kHeader << "nosuch\tsum\t0.5\t32\t1\t0\tw\n";
  EXPECT_THAT(ReadPolicyFile(path, NotNamedNosuch),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       testing::StartsWith(path + ":2: there is no")));
  EXPECT_THAT(
      ReadPolicyFile(path + ".missing", NotNamedNosuch),
      StatusIs(absl::StatusCode::kNotFound,
               AllOf(HasSubstr("policy_file: cannot read"), HasSubstr(path),
                     HasSubstr("No such file or directory"))));
}

// ---- Look-up.

OpKey Key(const std::string& text) {
  const auto key = OpKey::Parse(text);
  EXPECT_THAT(key, IsOk());
  return key.value_or(OpKey{});
}

struct LookupCase {
  std::string op;
  std::string note;  // the why of the row of the file, or the table's pattern
};

void PrintTo(const LookupCase& c, std::ostream* os) { *os << c.op; }

class FindBudgetInRowsTest : public testing::TestWithParam<LookupCase> {};

TEST_P(FindBudgetInRowsTest, RowsOfTheFileComeFirst) {
  const std::vector<PolicyRow> rows = Rows(
      "add sum 0.5 1 0 0 file:add\n"
      "add.Tensor sum 0.5 2 0 0 file:add.Tensor\n"
      "div.Tensor sum 0.5 3 0 0 file:div.Tensor\n"
      "mul_ sum 0.5 4 0 0 file:mul_\n"
      "my::op sum 0.5 5 0 0 file:my::op\n"
      "my::op.big sum 0.5 6 0 0 file:my::op.big\n"
      "my::mm sum 0.5 7 0 0 file:my::mm\n");
  ASSERT_EQ(rows.size(), 7u);
  const BudgetRow row = FindBudget(Key(GetParam().op), rows);
  const bool of_file = row.note.substr(0, 5) == "file:";
  EXPECT_EQ(std::string(of_file ? row.note : row.pattern), GetParam().note);
  if (of_file) {
    EXPECT_EQ(row.op_class, OpClass::kSum);
    EXPECT_EQ("file:" + std::string(row.pattern), GetParam().note);
  }
}

INSTANTIATE_TEST_SUITE_P(
    Operators, FindBudgetInRowsTest,
    testing::Values(LookupCase{"add.Tensor", "file:add.Tensor"},
                    LookupCase{"add.Scalar", "file:add"},
                    LookupCase{"add", "file:add"},
                    LookupCase{"add.out", "file:add"},
                    // By way of the functional form.
                    LookupCase{"add_.Tensor", "file:add.Tensor"},
                    LookupCase{"add_.Scalar", "file:add"},
                    LookupCase{"_foreach_add_.Tensor", "file:add.Tensor"},
                    // Other overloads of div keep the table's rows.
                    LookupCase{"div.Tensor", "file:div.Tensor"},
                    LookupCase{"div.Scalar", "div"},
                    LookupCase{"div.Tensor_mode", "div.Tensor_mode"},
                    // Not the other way round.
                    LookupCase{"mul_.Tensor", "file:mul_"},
                    LookupCase{"mul.Tensor", "mul"},
                    // Other libraries' operators.
                    LookupCase{"my::op", "file:my::op"},
                    LookupCase{"my::op.small", "file:my::op"},
                    LookupCase{"my::op.big", "file:my::op.big"},
                    LookupCase{"my::op_.big", "file:my::op.big"},
                    LookupCase{"my::mm", "file:my::mm"}, LookupCase{"mm", "mm"},
                    LookupCase{"other::op", "*"},
                    LookupCase{"my::add.Tensor", "*"}, LookupCase{"op", "*"}),
    [](const auto& info) {
      std::string name = std::to_string(info.index) + "_" + info.param.op;
      for (char& c : name) {
        if (c == '.' || c == ':') c = '_';
      }
      return name;
    });

TEST(FindBudgetInRowsTest, WithoutRowsItIsTheTable) {
  for (const char* op : {"mm", "div_.Tensor_mode", "my::op", "nosuch"}) {
    EXPECT_EQ(FindBudget(Key(op), {}).pattern, FindBudget(Key(op)).pattern);
  }
}

TEST(FindBudgetInRowsTest, WhatTheFileDoesNotSayIsTheTables) {
  const std::string op = "_adaptive_avg_pool2d_backward";
  const BudgetRow& table = FindBudget(Key(op));
  ASSERT_EQ(table.op_class, OpClass::kSum);
  ASSERT_GT(table.native_cpu.k, 0);
  ASSERT_GT(table.native_cuda.k, 0);
  const auto same_class = Rows(op + " sum 0.5 99 1 0 w\n");
  const BudgetRow same = FindBudget(Key(op), same_class);
  EXPECT_EQ(same.constants.a, 99);
  EXPECT_EQ(same.native_cpu.k, table.native_cpu.k);
  EXPECT_EQ(same.native_cuda.k, table.native_cuda.k);
  // An allowance is a multiple of the condition, which the class defines.
  const auto other_class = Rows(op + " cond 0.5 99 1 0 w\n");
  const BudgetRow other = FindBudget(Key(op), other_class);
  EXPECT_EQ(other.op_class, OpClass::kCond);
  EXPECT_EQ(other.native_cpu.k, 0);
  EXPECT_EQ(other.native_cuda.k, 0);
  const auto exact = Rows("nextafter exact - - - - w\n");
  EXPECT_EQ(FindBudget(Key("nextafter"), exact).op_class, OpClass::kExact);
  EXPECT_EQ(FindBudget(Key("nextafter"), exact).widening, Widening::kNever);
}

}  // namespace
}  // namespace flaggems
