#include "flaggems/sink/format.h"

#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "flaggems/core/check_record.h"
#include "flaggems/core/dtype.h"
#include "flaggems/core/value_desc.h"
#include "flaggems/core/verdict.h"
#include "flaggems/sink/testutil.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"

namespace flaggems {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::TestParamInfo;
using ::testing::ValuesIn;

constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

ValueDesc F32(std::vector<int64_t> sizes) {
  return ValueDesc::Tensor(DType::kFloat32, std::move(sizes));
}

class FormatTest : public testing::Test {
 protected:
  FormatTest() { SetFixedTimeZone(); }
};

struct LineCase {
  std::string name;
  void (*change)(CheckRecord*);
  std::string want;
};

void PrintTo(const LineCase& c, std::ostream* os) { *os << c.name; }

class TextLineTest : public FormatTest,
                     public testing::WithParamInterface<LineCase> {};

TEST_P(TextLineTest, IsGolden) {
  CheckRecord record = FailureRecord();
  GetParam().change(&record);
  EXPECT_EQ(FormatTextLine(record), GetParam().want);
}

using R = CheckRecord;

INSTANTIATE_TEST_SUITE_P(
    Original, TextLineTest,
    ValuesIn(std::vector<LineCase>{
        {"Documented", [](R*) {},
         "2025-05-19 10:00:01 [WARNING] Op: add.Tensor | FAIL | "
         "in: [(2, 3):torch.float16] | out: (2, 3):torch.float16 | "
         "max_abs: 1.200000e-03 | max_rel: 2.500000e-02 | "
         "rtol=0.01, atol=0.01"},
        {"ZeroD",
         [](R* r) {
           r->op = {"aten", "neg", ""};
           r->inputs = {F32({})};
           r->output = F32({});
           r->rtol = 1e-4;
           r->atol = 1e-5;
         },
         "2025-05-19 10:00:01 [WARNING] Op: neg | FAIL | "
         "in: [():torch.float32] | out: ():torch.float32 | "
         "max_abs: 1.200000e-03 | max_rel: 2.500000e-02 | "
         "rtol=0.0001, atol=1e-05"},
        {"OneDAndNoInputs",
         [](R* r) {
           r->op = {"my", "make", "x"};
           r->inputs = {};
           r->output = F32({5});
         },
         "2025-05-19 10:00:01 [WARNING] Op: my::make.x | FAIL | in: [] | "
         "out: (5,):torch.float32 | max_abs: 1.200000e-03 | "
         "max_rel: 2.500000e-02 | rtol=0.01, atol=0.01"},
        {"NestedListsAndNone",
         [](R* r) {
           r->op = {"aten", "index", "Tensor"};
           r->inputs = {F32({4, 5}),
                        ValueDesc::List({ValueDesc(),
                                         ValueDesc::Tensor(DType::kInt64, {2}),
                                         ValueDesc::List({F32({1, 1, 1})})})};
           r->output = F32({4, 2});
         },
         "2025-05-19 10:00:01 [WARNING] Op: index.Tensor | FAIL | "
         "in: [(4, 5):torch.float32, [(2,):torch.int64, "
         "[(1, 1, 1):torch.float32]]] | out: (4, 2):torch.float32 | "
         "max_abs: 1.200000e-03 | max_rel: 2.500000e-02 | "
         "rtol=0.01, atol=0.01"},
        {"TupleOfOutputs",
         [](R* r) {
           r->op = {"aten", "max", "dim"};
           r->output = ValueDesc::List(
               {F32({3}), ValueDesc::Tensor(DType::kInt64, {3})});
           r->output_index = 1;
         },
         "2025-05-19 10:00:01 [WARNING] Op: max.dim | FAIL | "
         "in: [(2, 3):torch.float16] | "
         "out: [(3,):torch.float32, (3,):torch.int64] | "
         "max_abs: 1.200000e-03 | max_rel: 2.500000e-02 | "
         "rtol=0.01, atol=0.01"},
        {"NegativeNanAndInf",
         [](R* r) {
           r->verdict = Verdict::kFailSpecial;
           r->max_abs_diff = -kNan;
           r->max_rel_diff = kInf;
           r->rtol = 0;
           r->atol = 1e16;
         },
         "2025-05-19 10:00:01 [WARNING] Op: add.Tensor | FAIL | "
         "in: [(2, 3):torch.float16] | out: (2, 3):torch.float16 | "
         "max_abs: nan | max_rel: inf | rtol=0.0, atol=1e+16"},
        {"ThreeDigitExponents",
         [](R* r) {
           r->max_abs_diff = 1.25e100;
           r->max_rel_diff = 5e-324;
           r->rtol = 100;
           r->atol = 0.5;
         },
         "2025-05-19 10:00:01 [WARNING] Op: add.Tensor | FAIL | "
         "in: [(2, 3):torch.float16] | out: (2, 3):torch.float16 | "
         "max_abs: 1.250000e+100 | max_rel: 4.940656e-324 | "
         "rtol=100.0, atol=0.5"},
    }),
    [](const TestParamInfo<LineCase>& info) { return info.param.name; });

constexpr char kStrictStart[] =
    "2025-05-19 10:00:01 [WARNING] Op: add.Tensor | FAIL | "
    "in: [(2, 3):torch.float16] | out: (2, 3):torch.float16 | "
    "max_abs: 1.200000e-03 | max_rel: 2.500000e-02 | rtol=0.01, atol=0.01";

INSTANTIATE_TEST_SUITE_P(
    OtherProfiles, TextLineTest,
    ValuesIn(std::vector<LineCase>{
        {"Full", [](R* r) { r->profile = "strict"; },
         absl::StrCat(kStrictStart,
                      " | reason=value | score=1.5 | call=7 | worst=(1, 2) "
                      "got=1.25 want=1.5")},
        {"NothingLocated",
         [](R* r) {
           r->profile = "strict";
           r->verdict = Verdict::kFailDtype;
           r->score.reset();
           r->worst_index.reset();
           r->message = "torch.float16 instead of torch.float32";
         },
         absl::StrCat(kStrictStart,
                      " | reason=dtype | call=7 | torch.float16 instead of "
                      "torch.float32")},
        {"SecondOutputZeroDInfiniteScore",
         [](R* r) {
           r->profile = "strict";
           r->verdict = Verdict::kFailSpecial;
           r->score = kInf;
           r->worst_index = std::vector<int64_t>{};
           r->output = ValueDesc::List({r->output});
           r->output_index = 1;
         },
         absl::StrCat("2025-05-19 10:00:01 [WARNING] Op: add.Tensor | FAIL | "
                      "in: [(2, 3):torch.float16] | "
                      "out: [(2, 3):torch.float16] | max_abs: 1.200000e-03 | "
                      "max_rel: 2.500000e-02 | rtol=0.01, atol=0.01 | "
                      "reason=special | score=inf | call=7 | worst=() output=1 "
                      "got=1.25 want=1.5")},
    }),
    [](const TestParamInfo<LineCase>& info) { return info.param.name; });

INSTANTIATE_TEST_SUITE_P(
    OtherOutcomes, TextLineTest,
    ValuesIn(std::vector<LineCase>{
        {"Error",
         [](R* r) {
           r->verdict = Verdict::kErrorReference;
           r->message = "not implemented for 'Half'";
         },
         "2025-05-19 10:00:01 [ERROR] Op: add.Tensor | ERROR | "
         "reason=reference | not implemented for 'Half'"},
        {"ErrorOfOtherProfile",
         [](R* r) {
           r->profile = "strict";
           r->verdict = Verdict::kErrorOutOfMemory;
         },
         "2025-05-19 10:00:01 [ERROR] Op: add.Tensor | ERROR | "
         "reason=out_of_memory | call=7 | There was no memory for the check; "
         "the call was not judged."},
        {"Skip", [](R* r) { r->verdict = Verdict::kSkipSize; },
         "2025-05-19 10:00:01 [INFO] Op: add.Tensor | SKIP | reason=size | A "
         "tensor has more elements than the limit (max_numel), or far more "
         "than memory (expand), or the check would take more than memory_mb."},
        {"Pass", [](R* r) { r->verdict = Verdict::kPass; },
         "2025-05-19 10:00:01 [INFO] Op: add.Tensor | PASS | Every output "
         "element agrees with the reference."},
        {"Untrusted", [](R* r) { r->verdict = Verdict::kUntrustedEmpty; },
         "2025-05-19 10:00:01 [INFO] Op: add.Tensor | UNTRUSTED | "
         "reason=empty | There was no output element to compare."},
        {"ControlCharacters",
         [](R* r) {
           r->verdict = Verdict::kErrorReference;
           r->message = std::string("a\nb\rc\td\x01\x7f\0é", 12);
         },
         "2025-05-19 10:00:01 [ERROR] Op: add.Tensor | ERROR | "
         "reason=reference | a\\nb\\rc\\td\\x01\\x7f\\x00é"},
    }),
    [](const TestParamInfo<LineCase>& info) { return info.param.name; });

class DTypeNameTest : public FormatTest,
                      public testing::WithParamInterface<int> {};

TEST_P(DTypeNameTest, IsTorchsInBothForms) {
  const char* const kNames[kNumDTypes] = {"bool",
                                          "uint8",
                                          "int8",
                                          "int16",
                                          "int32",
                                          "int64",
                                          "uint16",
                                          "uint32",
                                          "uint64",
                                          "float16",
                                          "bfloat16",
                                          "float32",
                                          "float64",
                                          "complex32",
                                          "complex64",
                                          "complex128",
                                          "float8_e4m3fn",
                                          "float8_e5m2",
                                          "float8_e4m3fnuz",
                                          "float8_e5m2fnuz",
                                          "float8_e8m0fnu",
                                          "qint8",
                                          "quint8",
                                          "qint32",
                                          "unknown"};
  CheckRecord record = FailureRecord();
  record.inputs = {};
  record.output = ValueDesc::Tensor(static_cast<DType>(GetParam()), {7});
  const std::string want = absl::StrCat("(7,):torch.", kNames[GetParam()]);
  EXPECT_THAT(FormatTextLine(record), HasSubstr("| out: " + want + " |"));
  EXPECT_EQ(nlohmann::json::parse(FormatJsonLine(record))["output"], want);
}

INSTANTIATE_TEST_SUITE_P(All, DTypeNameTest, testing::Range(0, kNumDTypes));

using Json = nlohmann::ordered_json;

CheckRecord FullRecord() {
  CheckRecord record = FailureRecord();
  record.inputs.push_back(
      ValueDesc::List({F32({}), ValueDesc(), ValueDesc::List({})}));
  record.output = ValueDesc::List({F32({2, 3}), F32({0})});
  record.mean_error_ulps = -0.25;
  record.rms_error_ulps = 0.75;
  record.output_index = 1;
  record.rank = 3;
  record.message = "text";
  record.pid = std::numeric_limits<int64_t>::max();
  record.thread = std::numeric_limits<uint64_t>::max();
  return record;
}

TEST_F(FormatTest, JsonHasEveryFieldInOrder) {
  EXPECT_EQ(
      FormatJsonLine(FullRecord()),
      R"({"timestamp":"2025-05-19T10:00:01.250+05:30","op":"add.Tensor",)"
      R"("status":"FAIL","reason":"value",)"
      R"("inputs":["(2, 3):torch.float16",["():torch.float32",null,[]]],)"
      R"("output":["(2, 3):torch.float32","(0,):torch.float32"],)"
      R"("rtol":0.01,"atol":0.01,"max_abs_diff":0.0012,"max_rel_diff":0.025,)"
      R"("mean_error_ulps":-0.25,"rms_error_ulps":0.75,)"
      R"("score":1.5,"worst_index":[1,2],"output_index":1,"got":"1.25",)"
      R"("want":"1.5","call":7,"profile":"original","reference":"cpu",)"
      R"("device":"cuda:0","rank":3,"pid":9223372036854775807,)"
      R"("thread":18446744073709551615,"message":"text"})");
}

TEST_F(FormatTest, JsonReadsBack) {
  const CheckRecord record = FullRecord();
  const Json json = Json::parse(FormatJsonLine(record));
  absl::Time timestamp;
  std::string error;
  ASSERT_TRUE(absl::ParseTime(absl::RFC3339_full,
                              json["timestamp"].get<std::string>(), &timestamp,
                              &error))
      << error;
  EXPECT_EQ(timestamp, record.timestamp);
  EXPECT_EQ(json["op"], record.op.ShortName());
  EXPECT_EQ(json["rtol"].get<double>(), record.rtol);
  EXPECT_EQ(json["atol"].get<double>(), record.atol);
  EXPECT_EQ(json["max_abs_diff"].get<double>(), record.max_abs_diff);
  EXPECT_EQ(json["max_rel_diff"].get<double>(), record.max_rel_diff);
  EXPECT_EQ(json["mean_error_ulps"].get<double>(), *record.mean_error_ulps);
  EXPECT_EQ(json["rms_error_ulps"].get<double>(), *record.rms_error_ulps);
  EXPECT_EQ(json["score"].get<double>(), *record.score);
  EXPECT_EQ(json["worst_index"].get<std::vector<int64_t>>(),
            *record.worst_index);
  EXPECT_EQ(json["output_index"].get<int>(), record.output_index);
  EXPECT_EQ(json["got"], record.got);
  EXPECT_EQ(json["want"], record.want);
  EXPECT_EQ(json["call"].get<int64_t>(), record.call);
  EXPECT_EQ(json["profile"], record.profile);
  EXPECT_EQ(json["reference"], record.reference);
  EXPECT_EQ(json["device"], record.device);
  EXPECT_EQ(json["rank"].get<int>(), *record.rank);
  EXPECT_EQ(json["pid"].get<int64_t>(), record.pid);
  EXPECT_EQ(json["thread"].get<uint64_t>(), record.thread);
  EXPECT_EQ(json["message"], record.message);
}

TEST_F(FormatTest, JsonNumbersReadBackExactly) {
  CheckRecord record = FailureRecord();
  for (double value : {5e-324, 0.1 + 0.2, 1e-5, 1e16, 1.7976931348623157e308}) {
    record.max_abs_diff = value;
    EXPECT_EQ(Json::parse(FormatJsonLine(record))["max_abs_diff"].get<double>(),
              value);
  }
}

TEST_F(FormatTest, JsonAbsentIsNull) {
  const Json json = Json::parse(FormatJsonLine(CheckRecord()));
  for (const char* key :
       {"reason", "output", "mean_error_ulps", "rms_error_ulps", "score",
        "worst_index", "got", "want", "rank"}) {
    EXPECT_TRUE(json.at(key).is_null()) << key;
  }
  EXPECT_EQ(json["inputs"], Json::array());
  EXPECT_EQ(json["status"], "PASS");
}

TEST_F(FormatTest, JsonHasWordsForNanAndInf) {
  CheckRecord record = FailureRecord();
  record.max_abs_diff = -kNan;
  record.max_rel_diff = -kInf;
  record.score = kInf;
  const Json json = Json::parse(FormatJsonLine(record));
  EXPECT_EQ(json["max_abs_diff"], "NaN");
  EXPECT_EQ(json["max_rel_diff"], "-Infinity");
  EXPECT_EQ(json["score"], "Infinity");
}

TEST_F(FormatTest, AwkwardBytesStayOnOneLine) {
  CheckRecord record = FailureRecord();
  const std::string bad = "a\n\r\"\\\x80\xff\xc3";
  record.op = {bad, bad, bad};
  record.got = record.want = record.profile = record.reference = record.device =
      record.message = bad;
  const std::string json = FormatJsonLine(record);
  EXPECT_THAT(json, Not(HasSubstr("\n")));
  EXPECT_EQ(Json::parse(json)["message"],
            "a\n\r\"\\\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd");
  EXPECT_THAT(FormatTextLine(record), Not(HasSubstr("\n")));
  EXPECT_THAT(FormatTextLine(record), Not(HasSubstr("\r")));
}

TEST_F(FormatTest, ExtremeTimesStayOnOneLine) {
  CheckRecord record = FailureRecord();
  for (absl::Time time : {absl::InfiniteFuture(), absl::InfinitePast(),
                          absl::UnixEpoch(), absl::Time()}) {
    record.timestamp = time;
    EXPECT_TRUE(Json::accept(FormatJsonLine(record)));
    EXPECT_THAT(FormatTextLine(record), HasSubstr("[WARNING] Op: add.Tensor"));
  }
}

}  // namespace
}  // namespace flaggems
