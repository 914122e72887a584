#include "flaggems/config/precision_options.h"

#include <cmath>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/flags/reflection.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "absl/strings/string_view.h"
#include "flaggems/config/options_table.h"
#include "flaggems/core/status_testutil.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace flaggems {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::TestParamInfo;
using ::testing::TestWithParam;
using ::testing::ValuesIn;

constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

struct InvalidCase {
  std::string name;
  void (*spoil)(PrecisionOptions*);
  std::string message;  // the whole of it
};

void PrintTo(const InvalidCase& c, std::ostream* os) { *os << c.name; }

class ValidateTest : public TestWithParam<InvalidCase> {};

TEST_P(ValidateTest, NamesFieldValueAndWhatIsAllowed) {
  PrecisionOptions options = PrecisionOptions::Original();
  GetParam().spoil(&options);
  EXPECT_THAT(options.Validate(),
              StatusIs(absl::StatusCode::kInvalidArgument, GetParam().message));
}

using P = PrecisionOptions;
constexpr char kTolerance[] = "; it must be finite and not negative";
constexpr char kNames[] =
    "; it must be operator names such as \"mm\", \"add.Tensor\", "
    "\"aten::add.out\"";

INSTANTIATE_TEST_SUITE_P(
    Fields, ValidateTest,
    ValuesIn(std::vector<InvalidCase>{
        {"RtolNan", [](P* o) { o->rtol = kNan; },
         std::string("rtol is nan") + kTolerance},
        {"RtolInf", [](P* o) { o->rtol = kInf; },
         std::string("rtol is inf") + kTolerance},
        {"RtolNegative", [](P* o) { o->rtol = -1e-5; },
         std::string("rtol is -1e-05") + kTolerance},
        {"AtolNan", [](P* o) { o->atol = -kNan; },
         std::string("atol is nan") + kTolerance},
        {"AtolInf", [](P* o) { o->atol = -kInf; },
         std::string("atol is -inf") + kTolerance},
        {"AtolNegative", [](P* o) { o->atol = -5e-324; },
         std::string("atol is -5e-324") + kTolerance},
        {"MaxChecks", [](P* o) { o->max_checks = -1; },
         "max_checks is -1; it must be 0 or more"},
        {"MaxNumel",
         [](P* o) { o->max_numel = std::numeric_limits<int64_t>::min(); },
         "max_numel is -9223372036854775808; it must be 0 or more"},
        {"Profile", [](P* o) { o->profile = "strct"; },
         "profile is \"strct\"; it must be one of \"original\""},
        {"ProfileEmpty", [](P* o) { o->profile = ""; },
         "profile is \"\"; it must be one of \"original\""},
        {"Format", [](P* o) { o->format = static_cast<LogFormat>(7); },
         "format is \"LogFormat(7)\"; it must be one of auto, text, jsonl"},
        {"SkipEmptyName",
         [](P* o) {
           o->skip = {"mm", ""};
         },
         std::string("skip is \"mm,\"") + kNames},
        {"NoSkipComma", [](P* o) { o->no_skip = {"mm,add"}; },
         std::string("no_skip is \"mm,add\"") + kNames},
    }),
    [](const TestParamInfo<InvalidCase>& info) { return info.param.name; });

TEST(ValidateLimitsTest, LimitsAreValid) {
  PrecisionOptions options;
  options.rtol = 0;
  options.atol = -0.0;
  options.max_checks = 0;
  options.max_numel = std::numeric_limits<int64_t>::max();
  options.skip = {"mm", "my::op.x"};
  EXPECT_THAT(options.Validate(), IsOk());
}

TEST(OriginalTest, HasTheDefaultsOfTheOriginal) {
  const PrecisionOptions options = PrecisionOptions::Original();
  EXPECT_THAT(options.Validate(), IsOk());
  EXPECT_EQ(options.profile, "original");
  EXPECT_EQ(options.rtol, 1e-4);
  EXPECT_EQ(options.atol, 1e-5);
  EXPECT_EQ(options.max_checks, 10);
  EXPECT_EQ(options.max_numel, 1000000);
  EXPECT_TRUE(options.log_once);
}

TEST(OptionFieldsTest, DefaultTextIsTheDefaultAndReadsBack) {
  const PrecisionOptions defaults;
  for (const OptionField& field : OptionFields()) {
    EXPECT_EQ(field.get(defaults), field.default_text) << field.name;
    PrecisionOptions options;
    EXPECT_THAT(field.set(field.default_text, &options), IsOk()) << field.name;
    EXPECT_EQ(field.get(options), field.default_text) << field.name;
  }
}

TEST(OptionFieldsTest, EachRowSetsItsOwnFieldOnly) {
  const std::map<std::string, std::string> other = {
      {"profile", "x"},       {"rtol", "0.5"},
      {"atol", "0.25"},       {"max_checks", "3"},
      {"max_numel", "0"},     {"log_once", "false"},
      {"path", "/a b/c"},     {"format", "jsonl"},
      {"skip", "mm,add.out"}, {"log_to_stderr", "true"},
      {"no_skip", "relu"},    {"summary_at_exit", "false"},
  };
  ASSERT_EQ(other.size(), OptionFields().size());
  for (const OptionField& field : OptionFields()) {
    ASSERT_TRUE(other.count(std::string(field.name))) << field.name;
    const std::string text = other.at(std::string(field.name));
    PrecisionOptions options;
    ASSERT_THAT(field.set(text, &options), IsOk()) << field.name;
    for (const OptionField& each : OptionFields()) {
      EXPECT_EQ(each.get(options), each.name == field.name
                                       ? absl::string_view(text)
                                       : each.default_text)
          << field.name << " changed " << each.name;
    }
  }
}

TEST(OptionFieldsTest, NamesOfFlagAndEnvironment) {
  EXPECT_EQ(OptionFields()[0].name, "profile");
  EXPECT_EQ(OptionFields()[3].FlagName(), "precision_max_checks");
  EXPECT_EQ(OptionFields()[3].EnvironmentName(),
            "FLAGGEMS_PRECISION_MAX_CHECKS");
}

TEST(OptionFieldsTest, FormatRefusesOtherText) {
  PrecisionOptions options;
  EXPECT_THAT(OptionFields()[7].set("json", &options),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       AllOf(HasSubstr("\"json\""), HasSubstr("jsonl"))));
}

TEST(ProfilesTest, EachIsValidNamesItselfAndIsInTheMessage) {
  EXPECT_THAT(ProfileNames(), ElementsAre("original"));
  for (const std::string& name : ProfileNames()) {
    const absl::StatusOr<PrecisionOptions> options = OptionsOfProfile(name);
    ASSERT_THAT(options, IsOk());
    EXPECT_EQ(options->profile, name);
    EXPECT_THAT(options->Validate(), IsOk());
    EXPECT_THAT(OptionsOfProfile("other"),
                StatusIs(absl::StatusCode::kInvalidArgument,
                         HasSubstr("\"" + name + "\"")));
  }
}

TEST(ResolveOptionsTest, ProfileReplacesBaseAndFieldsComeOnTop) {
  PrecisionOptions base;
  base.rtol = 0.5;
  base.atol = 0.5;
  const auto resolved = ResolveOptions(
      base, [](const OptionField& field) -> std::optional<SourcedText> {
        if (field.name == "profile") return SourcedText{"p", "original"};
        if (field.name == "atol") return SourcedText{"a", "0.125"};
        return std::nullopt;
      });
  ASSERT_THAT(resolved, IsOk());
  EXPECT_EQ(resolved->rtol, 1e-4);
  EXPECT_EQ(resolved->atol, 0.125);
}

TEST(ResolveOptionsTest, BaseStaysAndIsValidated) {
  const auto nothing = [](const OptionField&) -> std::optional<SourcedText> {
    return std::nullopt;
  };
  PrecisionOptions base;
  base.rtol = 0.5;
  const auto resolved = ResolveOptions(base, nothing);
  ASSERT_THAT(resolved, IsOk());
  EXPECT_EQ(resolved->rtol, 0.5);
  base.rtol = -1;
  EXPECT_THAT(ResolveOptions(base, nothing),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("rtol")));
}

TEST(PrecisionOptionsTest, LinkingItAloneRegistersNoFlag) {
  for (const auto& [name, flag] : absl::GetAllFlags()) {
    EXPECT_FALSE(absl::StrContains(name, "precision")) << name;
  }
}

}  // namespace
}  // namespace flaggems
