#include "flaggems/policy/suppressions.h"

#include <fstream>
#include <ostream>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/time/civil_time.h"
#include "flaggems/core/dtype.h"
#include "flaggems/core/op_key.h"
#include "flaggems/core/status_testutil.h"
#include "flaggems/core/verdict.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace flaggems {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

const absl::CivilDay kToday(2026, 11, 29);

bool NotNamedNosuch(absl::string_view name) {
  return name.find("nosuch") == name.npos;
}

Suppressions Parsed(absl::string_view text) {
  auto parsed = Suppressions::Parse(text, "s.txt", kToday, NotNamedNosuch);
  EXPECT_THAT(parsed, IsOk());
  return parsed.value_or(Suppressions());
}

TEST(SuppressionsTest, ReadsEveryField) {
  const Suppressions suppressions = Parsed(
      "# accepted until torch 2.12\n"
      "\n"
      "gelu\ttorch.float32\tspecial\t2027-01-31\tnative gelu(Inf) is NaN, "
      "upstream bug\r\n"
      "   # of ours\n"
      "  my::op.big  *   *  2026-11-29   spaces  # are  kept  \n"
      "aten::add.Tensor torch.bfloat16 value 9999-12-31 w");
  ASSERT_EQ(suppressions.all().size(), 3u);
  const Suppression& gelu = suppressions.all()[0];
  EXPECT_EQ(gelu.op, "gelu");
  EXPECT_EQ(gelu.dtype, "torch.float32");
  EXPECT_EQ(gelu.reason, Verdict::kFailSpecial);
  EXPECT_EQ(gelu.expiry, absl::CivilDay(2027, 1, 31));
  EXPECT_EQ(gelu.why, "native gelu(Inf) is NaN, upstream bug");
  const Suppression& mine = suppressions.all()[1];
  EXPECT_EQ(mine.op, "my::op.big");
  EXPECT_EQ(mine.dtype, "*");
  EXPECT_EQ(mine.reason, std::nullopt);
  EXPECT_EQ(mine.why, "spaces  # are  kept");
  EXPECT_EQ(suppressions.all()[2].op, "add.Tensor");
}

TEST(SuppressionsTest, EmptyFilesAcceptNothing) {
  for (const char* text : {"", "\n", "# nothing\n", "\r\n \t\n"}) {
    EXPECT_TRUE(Parsed(text).all().empty());
  }
  EXPECT_EQ(Suppressions().Find({"aten", "mm", ""}, "torch.float32",
                                Verdict::kFailValue),
            nullptr);
}

TEST(SuppressionsTest, EveryReasonOfAFailIsRead) {
  int failures = 0;
  for (int i = 0; i < kNumVerdicts; ++i) {
    const Verdict verdict = static_cast<Verdict>(i);
    if (OutcomeOf(verdict) != Outcome::kFail) continue;
    ++failures;
    const Suppressions one =
        Parsed(absl::StrCat("mm * ", ReasonName(verdict), " 2027-01-01 w"));
    ASSERT_EQ(one.all().size(), 1u);
    EXPECT_EQ(one.all()[0].reason, verdict);
  }
  EXPECT_EQ(failures, 10);
}

TEST(SuppressionsTest, EveryDTypeIsRead) {
  std::string text;
  for (int i = 0; i < kNumDTypes; ++i) {
    absl::StrAppend(&text, "mm ", TorchName(static_cast<DType>(i)),
                    " * 2027-01-01 w\n");
  }
  EXPECT_EQ(Parsed(text).all().size(), static_cast<size_t>(kNumDTypes));
}

TEST(SuppressionsTest, WithoutAListOfOperatorsAllAreKnown) {
  EXPECT_THAT(
      Suppressions::Parse("nosuch * * 2027-01-01 w", "f", kToday, nullptr),
      IsOk());
}

struct BadCase {
  std::string name;
  std::string line;
  std::string message;  // after "dir/s.txt:4: "
};

void PrintTo(const BadCase& c, std::ostream* os) { *os << c.name; }

class BadSuppressionTest : public testing::TestWithParam<BadCase> {};

TEST_P(BadSuppressionTest, IsAnErrorThatNamesFileAndLine) {
  const std::string text =
      "mm torch.float32 value 2027-01-01 w\n\n# c\n" + GetParam().line + "\n";
  EXPECT_THAT(Suppressions::Parse(text, "dir/s.txt", kToday, NotNamedNosuch),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       "dir/s.txt:4: " + GetParam().message));
}

constexpr char kForm[] =
    " is missing; a line is: op dtype reason YYYY-MM-DD why";
constexpr char kDay[] = " is not a day; write YYYY-MM-DD, such as 2027-01-31";
constexpr char kReasons[] =
    " is not a reason of a FAIL; write one of value, special, shape, dtype, "
    "count, layout, argument, alias, random, throw or *";

INSTANTIATE_TEST_SUITE_P(
    Lines, BadSuppressionTest,
    testing::ValuesIn(std::vector<BadCase>{
        {"NoDtype", "add", std::string("the dtype") + kForm},
        {"NoReason", "add *\t", std::string("the reason") + kForm},
        {"NoExpiry", "add * *", std::string("the expiry") + kForm},
        {"NoWhy", "add * * 2027-01-01 \t",
         "the why is missing; say why the failure is accepted"},
        {"UnknownOperator", "nosuch.out * * 2027-01-01 w",
         "there is no operator \"nosuch.out\"; names are those of the "
         "dispatcher: mm, add.Tensor, my::op"},
        {"AnyOperator", "aten:: * * 2027-01-01 w",
         "\"aten::\" is not an operator name: the name is empty; write "
         "\"add\", \"add.Tensor\" or \"aten::add.Tensor\""},
        {"ShortDtype", "add float32 * 2027-01-01 w",
         "\"float32\" is not a dtype; write torch's name, such as "
         "torch.float32, or *"},
        {"BadReason", "add * values 2027-01-01 w",
         std::string("\"values\"") + kReasons},
        {"ReasonOfASkip", "add * throttle 2027-01-01 w",
         std::string("\"throttle\"") + kReasons},
        {"NotADay", "add * * never w", std::string("\"never\"") + kDay},
        {"NoSuchDay", "add * * 2027-02-29 w",
         std::string("\"2027-02-29\"") + kDay},
        {"ShortDay", "add * * 2027-2-9 w", std::string("\"2027-2-9\"") + kDay},
        {"DayAndTime", "add * * 2027-02-09T00:00:00 w",
         std::string("\"2027-02-09T00:00:00\"") + kDay},
        {"Month", "add * * 2027-02 w", std::string("\"2027-02\"") + kDay},
        {"Expired", "add * * 2026-11-28 w",
         "the suppression of add expired on 2026-11-28 (today is 2026-11-29); "
         "remove the line, or look at the failure again and give it a later "
         "day"},
        {"Duplicate", "aten::mm torch.float32 value 2028-01-01 other",
         "\"mm torch.float32 value\" stands in line 1 already; remove one"},
    }),
    [](const auto& info) { return info.param.name; });

TEST(ReadSuppressionsTest, ReadsTheFileAndNamesIt) {
  const std::string path = testing::TempDir() + "/accepted.txt";
  std::ofstream(path) << "mm * * 2027-01-01 w\n";
  const auto read = Suppressions::Read(path, kToday, NotNamedNosuch);
  ASSERT_THAT(read, IsOk());
  EXPECT_EQ(read->all().size(), 1u);
  EXPECT_THAT(
      Suppressions::Read(path, absl::CivilDay(2027, 1, 2), NotNamedNosuch),
      StatusIs(absl::StatusCode::kInvalidArgument,
               testing::StartsWith(path + ":1: the suppression of mm")));
  EXPECT_THAT(
      Suppressions::Read(path + ".missing", kToday, NotNamedNosuch),
      StatusIs(absl::StatusCode::kNotFound,
               AllOf(HasSubstr("suppressions: cannot read"), HasSubstr(path),
                     HasSubstr("No such file or directory"))));
}

// ---- Look-up.

struct FindCase {
  std::string name;
  OpKey op;
  std::string dtype;
  Verdict verdict;
  std::string why;  // of the line that accepts it; empty: none
};

void PrintTo(const FindCase& c, std::ostream* os) { *os << c.name; }

class FindSuppressionTest : public testing::TestWithParam<FindCase> {};

TEST_P(FindSuppressionTest, TheFirstLineThatMatches) {
  const Suppressions suppressions = Parsed(
      "add.Tensor torch.float16  value   2027-01-01 exact\n"
      "add        *              value   2027-01-01 any dtype\n"
      "add        torch.float16  *       2027-01-01 any reason\n"
      "my::op     *              *       2027-01-01 mine\n");
  const Suppression* found =
      suppressions.Find(GetParam().op, GetParam().dtype, GetParam().verdict);
  EXPECT_EQ(found == nullptr ? "" : found->why, GetParam().why);
}

const OpKey kAddTensor{"aten", "add", "Tensor"};
const OpKey kAddScalar{"aten", "add", "Scalar"};

INSTANTIATE_TEST_SUITE_P(
    Calls, FindSuppressionTest,
    testing::ValuesIn(std::vector<FindCase>{
        {"All", kAddTensor, "torch.float16", Verdict::kFailValue, "exact"},
        {"OtherOverload", kAddScalar, "torch.float16", Verdict::kFailValue,
         "any dtype"},
        {"OtherDtype", kAddTensor, "torch.float32", Verdict::kFailValue,
         "any dtype"},
        {"OtherReason", kAddTensor, "torch.float16", Verdict::kFailSpecial,
         "any reason"},
        {"OtherDtypeAndReason", kAddTensor, "torch.float32",
         Verdict::kFailSpecial, ""},
        {"NoOutput", kAddTensor, "", Verdict::kFailThrow, ""},
        {"NoOutputAnyDtype",
         {"my", "op", "x"},
         "",
         Verdict::kFailThrow,
         "mine"},
        {"OtherNamespace",
         {"my", "add", "Tensor"},
         "torch.float16",
         Verdict::kFailValue,
         ""},
        {"AtensOp",
         {"aten", "op", ""},
         "torch.float16",
         Verdict::kFailValue,
         ""},
        {"InPlaceForm",
         {"aten", "add_", "Tensor"},
         "torch.float16",
         Verdict::kFailValue,
         ""},
        {"Pass", kAddTensor, "torch.float16", Verdict::kPass, ""},
        {"Skip", {"my", "op", ""}, "torch.float16", Verdict::kSkipSize, ""},
        {"Error",
         {"my", "op", ""},
         "torch.float16",
         Verdict::kErrorReference,
         ""},
        {"Untrusted",
         {"my", "op", ""},
         "torch.float16",
         Verdict::kUntrustedReference,
         ""},
    }),
    [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace flaggems
