#include "flaggems/config/flags.h"

#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <functional>
#include <iostream>
#include <string>
#include <vector>

#include "absl/flags/parse.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_join.h"
#include "flaggems/config/options_table.h"
#include "flaggems/core/status_testutil.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace flaggems {
namespace {

using ::testing::TestParamInfo;
using ::testing::TestWithParam;
using ::testing::ValuesIn;

// What options and check say after `args` on a command line and `environment`
// ("NAME=value"): "rtol=..., ..." of the fields that differ from the default,
// or the error. In a process of its own: that a flag was given is for ever.
std::string Outcome(const std::vector<std::string>& args,
                    const std::vector<std::string>& environment) {
  int ends[2];
  if (pipe(ends) != 0) return "pipe failed";
  const pid_t child = fork();
  if (child == 0) {
    for (const std::string& assignment : environment) {
      const size_t equal = assignment.find('=');
      setenv(assignment.substr(0, equal).c_str(),
             assignment.substr(equal + 1).c_str(), 1);
    }
    std::vector<std::string> words = {"program"};
    words.insert(words.end(), args.begin(), args.end());
    std::vector<char*> argv;
    for (std::string& word : words) argv.push_back(word.data());
    std::vector<std::string> said;
    const auto rest = absl::ParseCommandLine(argv.size(), argv.data());
    if (rest.size() != 1) said.push_back("arguments left");
    const absl::StatusOr<bool> check = PrecisionCheckFromFlags();
    if (!check.ok()) {
      said.push_back(std::string(check.status().message()));
    } else if (*check) {
      said.push_back("check");
    }
    const absl::StatusOr<PrecisionOptions> options = OptionsFromFlags();
    if (!options.ok()) {
      said.push_back(std::string(options.status().message()));
    } else {
      for (const OptionField& field : OptionFields()) {
        const std::string text = field.get(*options);
        if (text != field.default_text) {
          said.push_back(std::string(field.name) + "=" + text);
        }
      }
    }
    const std::string out = absl::StrJoin(said, " ");
    const bool written = write(ends[1], out.data(), out.size()) ==
                         static_cast<ssize_t>(out.size());
    _exit(written ? 0 : 1);
  }
  close(ends[1]);
  std::string out;
  char buffer[4096];
  for (ssize_t n; (n = read(ends[0], buffer, sizeof(buffer))) > 0;) {
    out.append(buffer, n);
  }
  close(ends[0]);
  int status = -1;
  waitpid(child, &status, 0);
  if (status != 0) out += " (the child failed)";
  return out;
}

struct Case {
  std::string name;
  std::vector<std::string> args;
  std::vector<std::string> environment;
  std::string want;
};

void PrintTo(const Case& c, std::ostream* os) { *os << c.name; }

class FlagsTest : public TestWithParam<Case> {};

TEST_P(FlagsTest, FlagElseEnvironmentElseDefault) {
  EXPECT_EQ(Outcome(GetParam().args, GetParam().environment), GetParam().want);
}

INSTANTIATE_TEST_SUITE_P(
    Sources, FlagsTest,
    ValuesIn(std::vector<Case>{
        {"BadText",
         {"--precision_rtol=abc"},
         {},
         "--precision_rtol: \"abc\" is not a number such as 0.01 or 1e-4"},
        {"BadValue",
         {"--precision_atol=-1"},
         {},
         "--precision_atol: atol is -1.0; it must be finite and not negative"},
        {"BadProfile",
         {"--precision_profile=x"},
         {},
         "--precision_profile: profile is \"x\"; it must be one of "
         "\"original\", \"strict\""},
        {"BudgetWithoutDouble",
         {"--precision_tolerance=budget"},
         {},
         "tolerance is \"budget\" and reference_dtype is \"same\": a budget "
         "judges against a float64 reference; set reference_dtype to double, "
         "or tolerance to fixed (profile strict has budget and double)"},
        {"DeviceInTheProfileOriginal",
         {"--precision_reference=device"},
         {},
         "tolerance is \"fixed\" and reference is \"device\": fixed tolerances "
         "are judged on the CPU alone; set reference to cpu, or tolerance to "
         "budget and reference_dtype to double (profile strict has both)"},
        {"DeviceOfTheEnvironmentInTheProfileOriginal",
         {"--precision_profile=original"},
         {"FLAGGEMS_PRECISION_REFERENCE=auto"},
         "tolerance is \"fixed\" and reference is \"auto\": fixed tolerances "
         "are judged on the CPU alone; set reference to cpu, or tolerance to "
         "budget and reference_dtype to double (profile strict has both)"},
        {"BadEnvironmentNamesVariable",
         {},
         {"FLAGGEMS_PRECISION_RTOL=abc"},
         "FLAGGEMS_PRECISION_RTOL: \"abc\" is not a number such as 0.01 or "
         "1e-4"},
        {"FlagHidesBadEnvironment",
         {"--precision_rtol=0.5"},
         {"FLAGGEMS_PRECISION_RTOL=abc"},
         "rtol=0.5"},
        {"BadCheck",
         {},
         {"FLAGGEMS_PRECISION_CHECK=2"},
         "FLAGGEMS_PRECISION_CHECK: \"2\" is not a truth value; write true or "
         "false"},
        {"Nothing", {}, {}, ""},
        {"Environment", {}, {"FLAGGEMS_PRECISION_RTOL=0.5"}, "rtol=0.5"},
        {"EmptyFlagIsNone",
         {"--precision_rtol="},
         {"FLAGGEMS_PRECISION_RTOL=0.5"},
         "rtol=0.5"},
        {"FlagOfDefaultValueWins",
         {"--precision_rtol=1e-4"},
         {"FLAGGEMS_PRECISION_RTOL=0.5"},
         ""},
        {"BoolFlagOfDefaultValueWins",
         {"--precision_log_once"},
         {"FLAGGEMS_PRECISION_LOG_ONCE=false"},
         ""},
        {"BoolEnvironment",
         {},
         {"FLAGGEMS_PRECISION_LOG_ONCE=false"},
         "log_once=false"},
        {"BoolNegated",
         {"--noprecision_summary_at_exit"},
         {},
         "summary_at_exit=false"},
        {"BoolBare", {"--precision_log_to_stderr"}, {}, "log_to_stderr=true"},
        {"CheckBare", {"--precision_check"}, {}, "check"},
        {"CheckEnvironment", {}, {"FLAGGEMS_PRECISION_CHECK=yes"}, "check"},
        {"CheckOffWins",
         {"--noprecision_check"},
         {"FLAGGEMS_PRECISION_CHECK=1"},
         ""},
        {"ProfileUnderFields",
         {"--precision_profile=original"},
         {"FLAGGEMS_PRECISION_MAX_CHECKS=2"},
         "max_checks=2"},
        {"Strict",
         {"--precision_profile=strict"},
         {},
         "profile=strict tolerance=budget reference_dtype=double "
         "throttle=spread max_checks=16 max_numel=0 memory_mb=4096 poison=true "
         "log_once=false"},
        {"DefaultsOfOriginalOverStrict",
         {"--precision_log_once", "--noprecision_poison",
          "--precision_throttle=first", "--precision_memory_mb=0"},
         {"FLAGGEMS_PRECISION_PROFILE=strict"},
         "profile=strict tolerance=budget reference_dtype=double max_checks=16 "
         "max_numel=0"},
        {"Everything",
         {"--precision_max_checks=0", "--precision_max_numel", "7",
          "--precision_path=/a/b.log", "--precision_format=jsonl",
          "--precision_skip=mm,add.out", "--precision_no_skip=clone",
          "--precision_atol=0", "--precision_log_once=false",
          "--precision_log_all", "--precision_reference_dtype=double",
          "--precision_tolerance=budget", "--precision_throttle=spread",
          "--precision_memory_mb=1", "--precision_poison",
          "--precision_reference=device", "--precision_time_fraction=5e-2",
          "--precision_policy_file=p.tsv", "--precision_suppressions=s.txt"},
         {},
         "tolerance=budget atol=0.0 reference_dtype=double reference=device "
         "throttle=spread max_checks=0 max_numel=7 memory_mb=1 "
         "time_fraction=0.05 poison=true log_once=false "
         "log_all=true path=/a/b.log format=jsonl skip=mm,add.out "
         "no_skip=clone "
         "policy_file=p.tsv suppressions=s.txt"},
    }),
    [](const TestParamInfo<Case>& info) { return info.param.name; });

TEST(FlagFileTest, IsRead) {
  const std::string path = testing::TempDir() + "/precision.flags";
  std::ofstream(path) << "# comment\n"
                         "--precision_check\n"
                         "--precision_rtol=0.25\n"
                         "--noprecision_log_once\n"
                         "--precision_skip=mm,add.out\n";
  EXPECT_EQ(Outcome({"--flagfile=" + path}, {}),
            "check rtol=0.25 log_once=false skip=mm,add.out");
}

TEST(FlagsOrderTest, BoolFlagsAreKnownToTheTable) {
  // Each bool of the table must be countable, or a flag that repeats the
  // default would lose against the environment.
  for (const OptionField& field : OptionFields()) {
    if (field.type != "bool") continue;
    const std::string other = field.default_text == "true" ? "false" : "true";
    EXPECT_EQ(Outcome({"--" + field.FlagName() + "=" +
                       std::string(field.default_text)},
                      {field.EnvironmentName() + "=" + other}),
              "")
        << field.name;
  }
}

}  // namespace
}  // namespace flaggems
