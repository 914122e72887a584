#include "flaggems/config/flags.h"

#include <atomic>
#include <optional>
#include <string>
#include <utility>

#include "absl/flags/commandlineflag.h"
#include "absl/flags/flag.h"
#include "absl/flags/reflection.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "flaggems/config/environment.h"
#include "flaggems/config/options_table.h"
#include "flaggems/core/env.h"

namespace {

std::string HelpOf(absl::string_view name) {
  for (const flaggems::OptionField& field : flaggems::OptionFields()) {
    if (field.name != name) continue;
    return absl::StrCat(
        field.help, " ", field.type, field.unit.empty() ? "" : ", ", field.unit,
        "; environment ", field.EnvironmentName(), "; default ",
        field.default_text.empty() ? "empty" : field.default_text, ".");
  }
  return "";
}

// A text flag is given when it is not empty. A bool always has a value, so
// its updates are counted; the first is abseil's own, at registration.
// Constant-initialised: the flags below count while statics are set up.
struct BoolFlag {
  absl::string_view name;
  std::atomic<int> updates;
};

enum {
  kCheck,
  kPoison,
  kLogOnce,
  kLogAll,
  kLogToStderr,
  kSummaryAtExit,
  kNumBoolFlags
};

BoolFlag bool_flags[kNumBoolFlags] = {
    {"precision_check", {0}},         {"precision_poison", {0}},
    {"precision_log_once", {0}},      {"precision_log_all", {0}},
    {"precision_log_to_stderr", {0}}, {"precision_summary_at_exit", {0}},
};

template <int kFlag>
void CountUpdate() {
  bool_flags[kFlag].updates.fetch_add(1, std::memory_order_relaxed);
}

}  // namespace

ABSL_FLAG(bool, precision_check, false,
          "Check the precision of operators; environment "
          "FLAGGEMS_PRECISION_CHECK; default false.")
    .OnUpdate(CountUpdate<kCheck>);
ABSL_FLAG(std::string, precision_profile, "", HelpOf("profile"));
ABSL_FLAG(std::string, precision_tolerance, "", HelpOf("tolerance"));
ABSL_FLAG(std::string, precision_rtol, "", HelpOf("rtol"));
ABSL_FLAG(std::string, precision_atol, "", HelpOf("atol"));
ABSL_FLAG(std::string, precision_reference_dtype, "",
          HelpOf("reference_dtype"));
ABSL_FLAG(std::string, precision_reference, "", HelpOf("reference"));
ABSL_FLAG(std::string, precision_throttle, "", HelpOf("throttle"));
ABSL_FLAG(std::string, precision_max_checks, "", HelpOf("max_checks"));
ABSL_FLAG(std::string, precision_max_numel, "", HelpOf("max_numel"));
ABSL_FLAG(std::string, precision_memory_mb, "", HelpOf("memory_mb"));
ABSL_FLAG(std::string, precision_time_fraction, "", HelpOf("time_fraction"));
ABSL_FLAG(bool, precision_poison, false, HelpOf("poison"))
    .OnUpdate(CountUpdate<kPoison>);
ABSL_FLAG(bool, precision_log_once, true, HelpOf("log_once"))
    .OnUpdate(CountUpdate<kLogOnce>);
ABSL_FLAG(bool, precision_log_all, false, HelpOf("log_all"))
    .OnUpdate(CountUpdate<kLogAll>);
ABSL_FLAG(std::string, precision_on_failure, "", HelpOf("on_failure"));
ABSL_FLAG(std::string, precision_path, "", HelpOf("path"));
ABSL_FLAG(std::string, precision_format, "", HelpOf("format"));
ABSL_FLAG(bool, precision_log_to_stderr, false, HelpOf("log_to_stderr"))
    .OnUpdate(CountUpdate<kLogToStderr>);
ABSL_FLAG(bool, precision_summary_at_exit, true, HelpOf("summary_at_exit"))
    .OnUpdate(CountUpdate<kSummaryAtExit>);
ABSL_FLAG(std::string, precision_skip, "", HelpOf("skip"));
ABSL_FLAG(std::string, precision_no_skip, "", HelpOf("no_skip"));
ABSL_FLAG(std::string, precision_policy_file, "", HelpOf("policy_file"));
ABSL_FLAG(std::string, precision_suppressions, "", HelpOf("suppressions"));

namespace flaggems {
namespace {

// The text of a flag that was given; nullopt if it was not.
std::optional<SourcedText> GivenFlag(const std::string& name) {
  const absl::CommandLineFlag* flag = absl::FindCommandLineFlag(name);
  if (flag == nullptr) return std::nullopt;
  std::string text = flag->CurrentValue();
  for (const BoolFlag& bool_flag : bool_flags) {
    if (bool_flag.name != name) continue;
    if (bool_flag.updates.load(std::memory_order_relaxed) <= 1) {
      return std::nullopt;
    }
  }
  if (text.empty()) return std::nullopt;
  return SourcedText{absl::StrCat("--", name), std::move(text)};
}

}  // namespace

absl::StatusOr<PrecisionOptions> OptionsFromFlags(
    const PrecisionOptions& base) {
  return ResolveOptions(
      base, [](const OptionField& field) -> std::optional<SourcedText> {
        std::optional<SourcedText> text = GivenFlag(field.FlagName());
        return text.has_value() ? text : FieldFromEnvironment(field);
      });
}

absl::StatusOr<bool> PrecisionCheckFromFlags() {
  constexpr char kVariable[] = "FLAGGEMS_PRECISION_CHECK";
  if (const auto flag = GivenFlag("precision_check")) {
    return ParseBool(flag->text);
  }
  const std::optional<std::string> text = GetEnv(kVariable);
  if (!text.has_value() || text->empty()) return false;
  const absl::StatusOr<bool> value = ParseBool(*text);
  if (value.ok()) return value;
  return absl::Status(value.status().code(),
                      absl::StrCat(kVariable, ": ", value.status().message()));
}

}  // namespace flaggems
