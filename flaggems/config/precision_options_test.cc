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
#include "flaggems/core/throttle.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace flaggems {
namespace {

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
constexpr char kOnTheCpuAlone[] =
    ": fixed tolerances are judged on the CPU alone; set reference to cpu, or "
    "tolerance to budget and reference_dtype to double (profile strict has "
    "both)";
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
         "profile is \"strct\"; it must be one of \"original\", \"strict\""},
        {"ProfileEmpty", [](P* o) { o->profile = ""; },
         "profile is \"\"; it must be one of \"original\", \"strict\""},
        {"Tolerance",
         [](P* o) { o->tolerance = static_cast<ToleranceModel>(-1); },
         "tolerance is \"ToleranceModel(-1)\"; it must be one of fixed, "
         "budget"},
        {"ReferenceDtype",
         [](P* o) { o->reference_dtype = static_cast<ReferenceDtype>(2); },
         "reference_dtype is \"ReferenceDtype(2)\"; it must be one of same, "
         "double"},
        {"Reference",
         [](P* o) { o->reference = static_cast<ReferencePlace>(3); },
         "reference is \"ReferencePlace(3)\"; it must be one of cpu, device, "
         "auto"},
        {"Throttle", [](P* o) { o->throttle = static_cast<Throttle>(2); },
         "throttle is \"Throttle(2)\"; it must be one of first, spread"},
        {"OnFailure", [](P* o) { o->on_failure = static_cast<OnFailure>(3); },
         "on_failure is \"OnFailure(3)\"; it must be one of log, substitute, "
         "abort"},
        {"MemoryNegative", [](P* o) { o->memory_mb = -1; },
         "memory_mb is -1; it must be 0 to 8796093022207"},
        {"MemoryMoreBytesThanFitAnInt64",
         [](P* o) { o->memory_mb = int64_t{1} << 43; },
         "memory_mb is 8796093022208; it must be 0 to 8796093022207"},
        {"TimeFractionNan", [](P* o) { o->time_fraction = kNan; },
         "time_fraction is nan; it must be 0 to 1"},
        {"TimeFractionNegative", [](P* o) { o->time_fraction = -5e-324; },
         "time_fraction is -5e-324; it must be 0 to 1"},
        {"TimeFractionAboveOne",
         [](P* o) { o->time_fraction = std::nextafter(1.0, 2.0); },
         "time_fraction is 1.0000000000000002; it must be 0 to 1"},
        {"BudgetWithoutDouble",
         [](P* o) { o->tolerance = ToleranceModel::kBudget; },
         "tolerance is \"budget\" and reference_dtype is \"same\": a budget "
         "judges against a float64 reference; set reference_dtype to double, "
         "or tolerance to fixed (profile strict has budget and double)"},
        {"FixedWithDouble",
         [](P* o) { o->reference_dtype = ReferenceDtype::kDouble; },
         "tolerance is \"fixed\" and reference_dtype is \"double\": fixed "
         "tolerances compare with the native kernel in the call's own types; "
         "set reference_dtype to same, or tolerance to budget"},
        {"FixedOnADevice", [](P* o) { o->reference = ReferencePlace::kDevice; },
         std::string("tolerance is \"fixed\" and reference is \"device\"") +
             kOnTheCpuAlone},
        {"FixedWhereItCostsLess",
         [](P* o) { o->reference = ReferencePlace::kAuto; },
         std::string("tolerance is \"fixed\" and reference is \"auto\"") +
             kOnTheCpuAlone},
        {"FixedWithAPolicyFile", [](P* o) { o->policy_file = "rows.tsv"; },
         "tolerance is \"fixed\" and policy_file is \"rows.tsv\": its rows are "
         "error budgets, which fixed tolerances do not use; leave policy_file "
         "out, or set tolerance to budget and reference_dtype to double "
         "(profile strict has both)"},
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
  options.memory_mb = std::numeric_limits<int64_t>::max() >> 20;
  options.time_fraction = 1;
  options.skip = {"mm", "my::op.x"};
  EXPECT_THAT(options.Validate(), IsOk());
}

TEST(ValidateLimitsTest, BudgetGoesWithDouble) {
  PrecisionOptions options;
  options.reference_dtype = ReferenceDtype::kDouble;
  options.tolerance = ToleranceModel::kBudget;
  EXPECT_THAT(options.Validate(), IsOk());
  options.policy_file = "rows.tsv";
  for (const auto place : {ReferencePlace::kDevice, ReferencePlace::kAuto}) {
    options.reference = place;
    EXPECT_THAT(options.Validate(), IsOk());
  }
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
  EXPECT_FALSE(options.log_all);
  EXPECT_EQ(options.tolerance, ToleranceModel::kFixed);
  EXPECT_EQ(options.reference_dtype, ReferenceDtype::kSame);
  EXPECT_EQ(options.reference, ReferencePlace::kCpu);
  EXPECT_EQ(options.throttle, Throttle::kFirst);
  EXPECT_EQ(options.memory_mb, 0);
  EXPECT_EQ(options.time_fraction, 0);
  EXPECT_FALSE(options.poison);
  EXPECT_EQ(options.on_failure, OnFailure::kLog);
  EXPECT_TRUE(options.policy_file.empty());
  EXPECT_TRUE(options.suppressions.empty());
}

TEST(StrictTest, ChangesTheseFieldsAndNoOther) {
  const PrecisionOptions strict = PrecisionOptions::Strict();
  EXPECT_THAT(strict.Validate(), IsOk());
  std::vector<std::string> changed;
  for (const OptionField& field : OptionFields()) {
    const std::string text = field.get(strict);
    if (text == field.default_text) continue;
    changed.push_back(std::string(field.name) + "=" + text);
  }
  EXPECT_THAT(changed,
              ElementsAre("profile=strict", "tolerance=budget",
                          "reference_dtype=double", "throttle=spread",
                          "max_checks=16", "max_numel=0", "memory_mb=4096",
                          "poison=true", "log_once=false"));
}

const OptionField& FieldNamed(absl::string_view name) {
  for (const OptionField& field : OptionFields()) {
    if (field.name == name) return field;
  }
  ADD_FAILURE() << "no field " << name;
  return OptionFields()[0];
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
      {"profile", "x"},
      {"tolerance", "budget"},
      {"rtol", "0.5"},
      {"atol", "0.25"},
      {"reference_dtype", "double"},
      {"reference", "auto"},
      {"throttle", "spread"},
      {"max_checks", "3"},
      {"max_numel", "0"},
      {"memory_mb", "7"},
      {"time_fraction", "0.05"},
      {"poison", "true"},
      {"log_once", "false"},
      {"log_all", "true"},
      {"on_failure", "abort"},
      {"path", "/a b/c"},
      {"format", "jsonl"},
      {"log_to_stderr", "true"},
      {"summary_at_exit", "false"},
      {"skip", "mm,add.out"},
      {"no_skip", "relu"},
      {"policy_file", "/p q/r.tsv"},
      {"suppressions", "s.txt"},
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
  const OptionField& field = FieldNamed("max_checks");
  EXPECT_EQ(field.FlagName(), "precision_max_checks");
  EXPECT_EQ(field.EnvironmentName(), "FLAGGEMS_PRECISION_MAX_CHECKS");
}

TEST(OptionFieldsTest, EnumerationsRefuseOtherText) {
  const std::map<std::string, std::string> messages = {
      {"format", "\"Fixed\" is not a format; write auto, text or jsonl"},
      {"tolerance",
       "\"Fixed\" is not a tolerance model; write fixed or budget"},
      {"reference_dtype",
       "\"Fixed\" is not a type of references; write same or double"},
      {"reference",
       "\"Fixed\" is not a place of references; write cpu, device or auto"},
      {"throttle", "\"Fixed\" is not a throttle; write first or spread"},
      {"on_failure",
       "\"Fixed\" is not what a failure does; write log, substitute or abort"},
  };
  for (const auto& [name, message] : messages) {
    PrecisionOptions options;
    EXPECT_THAT(FieldNamed(name).set("Fixed", &options),
                StatusIs(absl::StatusCode::kInvalidArgument, message));
    EXPECT_EQ(FieldNamed(name).get(options), FieldNamed(name).default_text);
  }
}

TEST(ProfilesTest, EachIsValidNamesItselfAndIsInTheMessage) {
  EXPECT_THAT(ProfileNames(), ElementsAre("original", "strict"));
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

TEST(ResolveOptionsTest, FieldsThatDoNotGoTogetherAreRefused) {
  const auto resolve = [](const std::string& profile,
                          const std::map<std::string, std::string>& fields) {
    return ResolveOptions(
        PrecisionOptions(),
        [&](const OptionField& field) -> std::optional<SourcedText> {
          if (field.name == "profile") return SourcedText{"p", profile};
          const auto found = fields.find(std::string(field.name));
          if (found == fields.end()) return std::nullopt;
          return SourcedText{"s", found->second};
        });
  };
  const auto refused =
      StatusIs(absl::StatusCode::kInvalidArgument,
               HasSubstr("set reference_dtype to double, or tolerance to"));
  EXPECT_THAT(resolve("original", {{"tolerance", "budget"}}), refused);
  EXPECT_THAT(resolve("strict", {{"reference_dtype", "same"}}), refused);
  EXPECT_THAT(resolve("original",
                      {{"tolerance", "budget"}, {"reference_dtype", "double"}}),
              IsOk());
  const auto place =
      StatusIs(absl::StatusCode::kInvalidArgument,
               HasSubstr("set reference to cpu, or tolerance to budget"));
  EXPECT_THAT(resolve("original", {{"reference", "device"}}), place);
  EXPECT_THAT(resolve("strict", {{"tolerance", "fixed"},
                                 {"reference_dtype", "same"},
                                 {"reference", "auto"}}),
              place);
  EXPECT_THAT(resolve("strict", {{"reference", "device"}}), IsOk());
  EXPECT_THAT(resolve("strict", {{"tolerance", "fixed"}}),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("set reference_dtype to same")));
  EXPECT_THAT(
      resolve("strict", {{"tolerance", "fixed"}, {"reference_dtype", "same"}}),
      IsOk());
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
