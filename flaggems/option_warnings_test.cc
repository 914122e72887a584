#include "flaggems/option_warnings.h"

#include <c10/util/Exception.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <ostream>

#include "flaggems/core/status_testutil.h"

namespace flaggems {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

using P = PrecisionOptions;

constexpr Abilities kAll = {true, true};
constexpr Abilities kNoDevice = {true, false};
constexpr Abilities kNotLinked = {false, true};

struct Case {
  std::string name;
  P (*profile)();
  void (*change)(P*);
  Abilities abilities;
  std::vector<std::string> warnings;
};

void PrintTo(const Case& c, std::ostream* os) { *os << c.name; }

class OptionWarningsTest : public testing::TestWithParam<Case> {};

TEST_P(OptionWarningsTest, SaysWhatHasNoEffect) {
  P options = GetParam().profile();
  GetParam().change(&options);
  ASSERT_THAT(options.Validate(), IsOk());
  EXPECT_EQ(OptionWarnings(options, GetParam().abilities), GetParam().warnings);
}

constexpr char kBudget[] =
    " and has no effect: tolerance is budget, which allows what rounding "
    "explains; a policy_file changes what that is";

void Nothing(P*) {}
void OnDevice(P* o) { o->reference = ReferencePlace::kDevice; }
void Auto(P* o) { o->reference = ReferencePlace::kAuto; }

INSTANTIATE_TEST_SUITE_P(
    Options, OptionWarningsTest,
    testing::ValuesIn(std::vector<Case>{
        {"OriginalAsItIs", &P::Original, &Nothing, {}, {}},
        {"StrictAsItIs", &P::Strict, &Nothing, {}, {}},
        {"Device", &P::Strict, &OnDevice, kAll, {}},
        {"DeviceIsNotThere",
         &P::Strict,
         &OnDevice,
         kNoDevice,
         {"reference is device, and all calls are checked on the CPU: torch "
          "sees no CUDA device in this process"}},
        // A program that does not link libtorch_cuda sees no device either.
        {"NeitherLinkedNorThere",
         &P::Strict,
         &OnDevice,
         {},
         {"reference is device, and all calls are checked on the CPU: checks "
          "on devices are not in this program; link //flaggems:device_checks, "
          "in a build with CUDA"}},
        {"AutoIsNotLinked",
         &P::Strict,
         &Auto,
         kNotLinked,
         {"reference is auto, and all calls are checked on the CPU: checks on "
          "devices are not in this program; link //flaggems:device_checks, in "
          "a build with CUDA"}},
        {"TolerancesOfABudget",
         &P::Strict,
         [](P* o) {
           o->rtol = 1e-3;
           o->atol = 0;
         },
         {},
         {std::string("rtol is 0.001") + kBudget,
          std::string("atol is 0.0") + kBudget}},
        {"MemoryOfFixedTolerances",
         &P::Original,
         [](P* o) { o->memory_mb = 512; },
         {},
         {"memory_mb is 512 and has no effect: tolerance is fixed, where "
          "max_numel alone limits the memory of a check"}},
        {"TheProfilesMemoryIsNobodysChoice",
         &P::Strict,
         [](P* o) {
           o->tolerance = ToleranceModel::kFixed;
           o->reference_dtype = ReferenceDtype::kSame;
         },
         {},
         {}},
        {"NoLimitIsNoLimit",
         &P::Strict,
         [](P* o) {
           o->tolerance = ToleranceModel::kFixed;
           o->reference_dtype = ReferenceDtype::kSame;
           o->memory_mb = 0;
         },
         {},
         {}},
    }),
    [](const auto& info) { return info.param.name; });

class Warnings : public c10::WarningHandler {
 public:
  void process(const c10::Warning& warning) override {
    texts.push_back(warning.msg());
  }
  std::vector<std::string> texts;
};

TEST(WarnOnceTest, EachTextIsSaidOnceOrAlways) {
  Warnings warnings;
  const c10::WarningUtils::WarningHandlerGuard guard(&warnings);
  WarnOnce({"a", "b"});
  WarnOnce({"a", "c", "c"});
  EXPECT_THAT(warnings.texts,
              ElementsAre("flaggems: a", "flaggems: b", "flaggems: c"));
  const c10::WarningUtils::WarnAlways always;
  WarnOnce({"a"});
  EXPECT_THAT(warnings.texts.back(), HasSubstr("flaggems: a"));
  EXPECT_EQ(warnings.texts.size(), size_t{4});
}

}  // namespace
}  // namespace flaggems
