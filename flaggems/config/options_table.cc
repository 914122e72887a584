#include "flaggems/config/options_table.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "flaggems/config/precision_options.h"
#include "flaggems/core/env.h"
#include "flaggems/core/op_key.h"
#include "flaggems/core/python_float.h"
#include "flaggems/core/status_macros.h"
#include "flaggems/core/throttle.h"

namespace flaggems {
namespace {

struct Profile {
  absl::string_view name;
  PrecisionOptions (*options)();
};

constexpr Profile kProfiles[] = {
    {"original", &PrecisionOptions::Original},
    {"strict", &PrecisionOptions::Strict},
};

const Profile* FindProfile(absl::string_view name) {
  for (const Profile& profile : kProfiles) {
    if (profile.name == name) return &profile;
  }
  return nullptr;
}

// The texts of an enumeration.
template <typename Enum>
struct Named {
  Enum value;
  absl::string_view name;
};

template <typename Enum>
struct EnumTexts {
  absl::string_view type;  // for a value without a text
  absl::string_view what;  // after "is not "
  absl::Span<const Named<Enum>> names;
};

constexpr Named<LogFormat> kFormats[] = {
    {LogFormat::kAuto, "auto"},
    {LogFormat::kText, "text"},
    {LogFormat::kJsonLines, "jsonl"},
};
constexpr Named<ToleranceModel> kToleranceModels[] = {
    {ToleranceModel::kFixed, "fixed"},
    {ToleranceModel::kBudget, "budget"},
};
constexpr Named<ReferenceDtype> kReferenceDtypes[] = {
    {ReferenceDtype::kSame, "same"},
    {ReferenceDtype::kDouble, "double"},
};
constexpr Named<ReferencePlace> kReferencePlaces[] = {
    {ReferencePlace::kCpu, "cpu"},
    {ReferencePlace::kDevice, "device"},
    {ReferencePlace::kAuto, "auto"},
};
constexpr Named<OnFailure> kOnFailures[] = {
    {OnFailure::kLog, "log"},
    {OnFailure::kSubstitute, "substitute"},
    {OnFailure::kAbort, "abort"},
};
constexpr Named<Throttle> kThrottles[] = {
    {Throttle::kFirst, "first"},
    {Throttle::kSpread, "spread"},
};

EnumTexts<LogFormat> TextsOf(LogFormat) {
  return {"LogFormat", "a format", kFormats};
}
EnumTexts<ToleranceModel> TextsOf(ToleranceModel) {
  return {"ToleranceModel", "a tolerance model", kToleranceModels};
}
EnumTexts<ReferenceDtype> TextsOf(ReferenceDtype) {
  return {"ReferenceDtype", "a type of references", kReferenceDtypes};
}
EnumTexts<ReferencePlace> TextsOf(ReferencePlace) {
  return {"ReferencePlace", "a place of references", kReferencePlaces};
}
EnumTexts<OnFailure> TextsOf(OnFailure) {
  return {"OnFailure", "what a failure does", kOnFailures};
}
EnumTexts<Throttle> TextsOf(Throttle) {
  return {"Throttle", "a throttle", kThrottles};
}

// "auto, text or jsonl"
template <typename Enum>
std::string Choices(absl::Span<const Named<Enum>> names) {
  std::string choices;
  for (size_t i = 0; i < names.size(); ++i) {
    absl::StrAppend(&choices,
                    i == 0                  ? ""
                    : i + 1 == names.size() ? " or "
                                            : ", ",
                    names[i].name);
  }
  return choices;
}

absl::Status ParseInto(absl::string_view text, double* value) {
  FG_ASSIGN_OR_RETURN(*value, ParseDouble(text));
  return absl::OkStatus();
}
absl::Status ParseInto(absl::string_view text, int64_t* value) {
  FG_ASSIGN_OR_RETURN(*value, ParseInt64(text));
  return absl::OkStatus();
}
absl::Status ParseInto(absl::string_view text, bool* value) {
  FG_ASSIGN_OR_RETURN(*value, ParseBool(text));
  return absl::OkStatus();
}
absl::Status ParseInto(absl::string_view text, std::string* value) {
  *value = std::string(text);
  return absl::OkStatus();
}
absl::Status ParseInto(absl::string_view text,
                       std::vector<std::string>* value) {
  FG_ASSIGN_OR_RETURN(*value, ParseStringList(text));
  return absl::OkStatus();
}
template <typename Enum, std::enable_if_t<std::is_enum_v<Enum>, int> = 0>
absl::Status ParseInto(absl::string_view text, Enum* value) {
  const EnumTexts<Enum> texts = TextsOf(Enum{});
  for (const Named<Enum>& each : texts.names) {
    if (each.name == absl::StripAsciiWhitespace(text)) {
      *value = each.value;
      return absl::OkStatus();
    }
  }
  return absl::InvalidArgumentError(absl::StrCat(
      "\"", text, "\" is not ", texts.what, "; write ", Choices(texts.names)));
}

std::string ToText(double value) { return FormatPythonFloat(value); }
std::string ToText(int64_t value) { return absl::StrCat(value); }
std::string ToText(bool value) { return value ? "true" : "false"; }
std::string ToText(const std::string& value) { return value; }
std::string ToText(const std::vector<std::string>& value) {
  return FormatStringList(value);
}
template <typename Enum, std::enable_if_t<std::is_enum_v<Enum>, int> = 0>
std::string ToText(Enum value) {
  const EnumTexts<Enum> texts = TextsOf(value);
  for (const Named<Enum>& each : texts.names) {
    if (each.value == value) return std::string(each.name);
  }
  return absl::StrCat(texts.type, "(", static_cast<int>(value), ")");
}

template <auto kMember>
absl::Status Set(absl::string_view text, PrecisionOptions* options) {
  return ParseInto(text, &(options->*kMember));
}

template <auto kMember>
std::string Get(const PrecisionOptions& options) {
  return ToText(options.*kMember);
}

bool Always(const PrecisionOptions&) { return true; }

template <auto kMember>
bool NotNegative(const PrecisionOptions& options) {
  if constexpr (std::is_floating_point_v<
                    std::decay_t<decltype(options.*kMember)>>) {
    if (!std::isfinite(options.*kMember)) return false;
  }
  return options.*kMember >= 0;
}

template <auto kMember>
bool HasText(const PrecisionOptions& options) {
  const auto value = options.*kMember;
  const auto names = TextsOf(value).names;
  return std::any_of(names.begin(), names.end(),
                     [&](const auto& each) { return each.value == value; });
}

template <auto kMember>
bool OperatorNames(const PrecisionOptions& options) {
  const std::vector<std::string>& names = options.*kMember;
  return std::all_of(names.begin(), names.end(), [](const std::string& name) {
    return OpKey::Parse(name).ok() && name.find(',') == name.npos;
  });
}

using O = PrecisionOptions;

constexpr absl::string_view kOperatorNames =
    "operator names such as \"mm\", \"add.Tensor\", \"aten::add.out\"";

// Bytes have to fit an int64_t.
constexpr int64_t kMaxMemoryMb = std::numeric_limits<int64_t>::max() >> 20;
static_assert(kMaxMemoryMb == 8796093022207);

constexpr OptionField kFields[] = {
    {"profile", "string", "original", "", "one of \"original\", \"strict\"",
     "A named set of defaults; the other fields change single ones of them.",
     &Set<&O::profile>, &Get<&O::profile>,
     [](const O& o) { return FindProfile(o.profile) != nullptr; }},
    {"tolerance", "string", "fixed", "", "one of fixed, budget",
     "How an element is judged; fixed: by rtol and atol; budget: by what "
     "rounding can explain (docs/tolerance.md), which needs reference_dtype "
     "double and does not use rtol and atol.",
     &Set<&O::tolerance>, &Get<&O::tolerance>, &HasText<&O::tolerance>},
    {"rtol", "float", "0.0001", "ratio", "finite and not negative",
     "Relative tolerance of |got - want| <= atol + rtol * |want|, the rule of "
     "tolerance fixed; at least 0.01 for calls with float16 or bfloat16 "
     "inputs.",
     &Set<&O::rtol>, &Get<&O::rtol>, &NotNegative<&O::rtol>},
    {"atol", "float", "1e-05", "value units", "finite and not negative",
     "Absolute tolerance of the same; at least 0.01 for calls with float16 or "
     "bfloat16 inputs.",
     &Set<&O::atol>, &Get<&O::atol>, &NotNegative<&O::atol>},
    {"reference_dtype", "string", "same", "", "one of same, double",
     "What the reference is computed in; same: the types of the call; double: "
     "float64, where that keeps the meaning of the operator.",
     &Set<&O::reference_dtype>, &Get<&O::reference_dtype>,
     &HasText<&O::reference_dtype>},
    {"reference", "string", "cpu", "", "one of cpu, device, auto",
     "Where the reference is computed; cpu: every call is computed again on "
     "the "
     "CPU; device: calls whose tensors are all on one CUDA device are screened "
     "there in float64 by the native kernel, and only what the screen does not "
     "accept is judged on the CPU; auto: device where a native device kernel "
     "exists and the call is large enough to win, else CPU.",
     &Set<&O::reference>, &Get<&O::reference>, &HasText<&O::reference>},
    {"throttle", "string", "first", "", "one of first, spread",
     "Which calls are checked; first: the first max_checks of each operator; "
     "spread: the first max_checks of each signature (dtypes, shape class, "
     "strides), then ever rarer ones over the whole run.",
     &Set<&O::throttle>, &Get<&O::throttle>, &HasText<&O::throttle>},
    {"max_checks", "int", "10", "calls", "0 or more",
     "At most this many calls of each operator are checked (throttle first), "
     "or of each signature before they become rarer (spread); 0: none.",
     &Set<&O::max_checks>, &Get<&O::max_checks>, &NotNegative<&O::max_checks>},
    {"max_numel", "int", "1000000", "elements", "0 or more",
     "Calls with a tensor of more elements are skipped; 0: no limit.",
     &Set<&O::max_numel>, &Get<&O::max_numel>, &NotNegative<&O::max_numel>},
    {"memory_mb", "int", "0", "MiB", "0 to 8796093022207",
     "Memory that one check may take for copies and references; 0: no limit.",
     &Set<&O::memory_mb>, &Get<&O::memory_mb>,
     [](const O& o) {
       return o.memory_mb >= 0 && o.memory_mb <= kMaxMemoryMb;
     }},
    {"time_fraction", "float", "0.0", "ratio", "0 to 1",
     "Checks may add at most this share to the run time, over the long run; "
     "which calls are checked is chosen so that each signature (operator, "
     "dtypes, shape class, strides) has its turn; 0: no limit.",
     &Set<&O::time_fraction>, &Get<&O::time_fraction>,
     [](const O& o) { return o.time_fraction >= 0 && o.time_fraction <= 1; }},
    {"poison", "bool", "false", "", "true or false",
     "Fill the memory that a kernel under test allocates with a pattern and "
     "guard its ends, so that elements it does not write and writes beyond "
     "them show.",
     &Set<&O::poison>, &Get<&O::poison>, &Always},
    {"log_once", "bool", "true", "", "true or false",
     "Each operator logs one failure and is then no longer checked; false: "
     "every failure is logged.",
     &Set<&O::log_once>, &Get<&O::log_once>, &Always},
    {"log_all", "bool", "false", "", "true or false",
     "Log every call that is no PASS: beside failures those that end in ERROR, "
     "UNTRUSTED or SKIP for something in the call itself, not those that the "
     "throttle or the skip list leaves out.",
     &Set<&O::log_all>, &Get<&O::log_all>, &Always},
    {"on_failure", "string", "log", "", "one of log, substitute, abort",
     "What a failure does besides being logged; substitute: the caller gets "
     "what the reference computed, from then on at every call of the operator; "
     "abort: the process ends at once, with a core dump where that is on.",
     &Set<&O::on_failure>, &Get<&O::on_failure>, &HasText<&O::on_failure>},
    {"path", "string", "", "", "the name of a file",
     "The log file; empty: $HOME/.flaggems/precision.log. An existing file is "
     "kept as <path>.1.",
     &Set<&O::path>, &Get<&O::path>, &Always},
    {"format", "string", "auto", "", "one of auto, text, jsonl",
     "Form of the log; auto: JSON lines if the path ends in .jsonl, else text.",
     &Set<&O::format>, &Get<&O::format>, &HasText<&O::format>},
    {"log_to_stderr", "bool", "false", "", "true or false",
     "Also write every logged line to stderr, through glog.",
     &Set<&O::log_to_stderr>, &Get<&O::log_to_stderr>, &Always},
    {"summary_at_exit", "bool", "true", "", "true or false",
     "Print a table of all verdicts to stderr when the program ends.",
     &Set<&O::summary_at_exit>, &Get<&O::summary_at_exit>, &Always},
    {"skip", "list", "", "", kOperatorNames,
     "Further operators never to check.", &Set<&O::skip>, &Get<&O::skip>,
     &OperatorNames<&O::skip>},
    {"no_skip", "list", "", "", kOperatorNames,
     "Operators to check although the skip list has them.", &Set<&O::no_skip>,
     &Get<&O::no_skip>, &OperatorNames<&O::no_skip>},
    {"policy_file", "string", "", "", "the name of a file",
     "Rows of error budgets that come before those of the table.",
     &Set<&O::policy_file>, &Get<&O::policy_file>, &Always},
    {"suppressions", "string", "", "", "the name of a file",
     "Accepted failures, which count as SKIP(suppressed) until they expire.",
     &Set<&O::suppressions>, &Get<&O::suppressions>, &Always},
};

absl::Status From(const SourcedText& text, const absl::Status& status) {
  return absl::Status(status.code(),
                      absl::StrCat(text.source, ": ", status.message()));
}

}  // namespace

std::string OptionField::FlagName() const {
  return absl::StrCat("precision_", name);
}

std::string OptionField::EnvironmentName() const {
  return absl::StrCat("FLAGGEMS_PRECISION_", absl::AsciiStrToUpper(name));
}

absl::Span<const OptionField> OptionFields() { return kFields; }

std::vector<std::string> ProfileNames() {
  std::vector<std::string> names;
  for (const Profile& profile : kProfiles) names.emplace_back(profile.name);
  return names;
}

absl::StatusOr<PrecisionOptions> OptionsOfProfile(absl::string_view name) {
  if (const Profile* profile = FindProfile(name)) return profile->options();
  PrecisionOptions options;
  options.profile = std::string(name);
  return ValidateField(kFields[0], options);
}

absl::Status ValidateField(const OptionField& field,
                           const PrecisionOptions& options) {
  if (field.valid(options)) return absl::OkStatus();
  const std::string value = field.get(options);
  const absl::string_view quote =
      field.type == "string" || field.type == "list" ? "\"" : "";
  return absl::InvalidArgumentError(absl::StrCat(
      field.name, " is ", quote, value, quote, "; it must be ", field.allowed));
}

absl::StatusOr<PrecisionOptions> ResolveOptions(
    const PrecisionOptions& base,
    const std::function<std::optional<SourcedText>(const OptionField&)>&
        lookup) {
  PrecisionOptions options = base;
  for (const OptionField& field : kFields) {
    const std::optional<SourcedText> text = lookup(field);
    if (!text.has_value()) continue;
    absl::Status status = field.set(text->text, &options);
    status.Update(ValidateField(field, options));
    if (!status.ok()) return From(*text, status);
    // The first row: nothing that was given is lost.
    if (field.name == "profile") {
      FG_ASSIGN_OR_RETURN(options, OptionsOfProfile(options.profile));
    }
  }
  FG_RETURN_IF_ERROR(options.Validate());
  return options;
}

}  // namespace flaggems
