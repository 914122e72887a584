#include "flaggems/config/options_table.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <optional>
#include <string>
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

namespace flaggems {
namespace {

struct Profile {
  absl::string_view name;
  PrecisionOptions (*options)();
};

constexpr Profile kProfiles[] = {
    {"original", &PrecisionOptions::Original},
};

const Profile* FindProfile(absl::string_view name) {
  for (const Profile& profile : kProfiles) {
    if (profile.name == name) return &profile;
  }
  return nullptr;
}

struct NamedFormat {
  LogFormat format;
  absl::string_view name;
};

constexpr NamedFormat kFormats[] = {
    {LogFormat::kAuto, "auto"},
    {LogFormat::kText, "text"},
    {LogFormat::kJsonLines, "jsonl"},
};

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
absl::Status ParseInto(absl::string_view text, LogFormat* value) {
  for (const NamedFormat& format : kFormats) {
    if (format.name == absl::StripAsciiWhitespace(text)) {
      *value = format.format;
      return absl::OkStatus();
    }
  }
  return absl::InvalidArgumentError(absl::StrCat(
      "\"", text, "\" is not a format; write auto, text or jsonl"));
}

std::string ToText(double value) { return FormatPythonFloat(value); }
std::string ToText(int64_t value) { return absl::StrCat(value); }
std::string ToText(bool value) { return value ? "true" : "false"; }
std::string ToText(const std::string& value) { return value; }
std::string ToText(const std::vector<std::string>& value) {
  return FormatStringList(value);
}
std::string ToText(LogFormat value) {
  for (const NamedFormat& format : kFormats) {
    if (format.format == value) return std::string(format.name);
  }
  return absl::StrCat("LogFormat(", static_cast<int>(value), ")");
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
bool OperatorNames(const PrecisionOptions& options) {
  const std::vector<std::string>& names = options.*kMember;
  return std::all_of(names.begin(), names.end(), [](const std::string& name) {
    return OpKey::Parse(name).ok() && name.find(',') == name.npos;
  });
}

using O = PrecisionOptions;

constexpr absl::string_view kOperatorNames =
    "operator names such as \"mm\", \"add.Tensor\", \"aten::add.out\"";

constexpr OptionField kFields[] = {
    {"profile", "string", "original", "", "one of \"original\"",
     "A named set of defaults; the other fields change single ones of them.",
     &Set<&O::profile>, &Get<&O::profile>,
     [](const O& o) { return FindProfile(o.profile) != nullptr; }},
    {"rtol", "float", "0.0001", "ratio", "finite and not negative",
     "Relative tolerance of |got - want| <= atol + rtol * |want|; at least "
     "0.01 for calls with float16 or bfloat16 inputs.",
     &Set<&O::rtol>, &Get<&O::rtol>, &NotNegative<&O::rtol>},
    {"atol", "float", "1e-05", "value units", "finite and not negative",
     "Absolute tolerance of the same; at least 0.01 for calls with float16 or "
     "bfloat16 inputs.",
     &Set<&O::atol>, &Get<&O::atol>, &NotNegative<&O::atol>},
    {"max_checks", "int", "10", "calls", "0 or more",
     "At most this many calls of each operator are checked; 0: none.",
     &Set<&O::max_checks>, &Get<&O::max_checks>, &NotNegative<&O::max_checks>},
    {"max_numel", "int", "1000000", "elements", "0 or more",
     "Calls with a tensor of more elements are skipped; 0: no limit.",
     &Set<&O::max_numel>, &Get<&O::max_numel>, &NotNegative<&O::max_numel>},
    {"log_once", "bool", "true", "", "true or false",
     "Each operator logs one failure and is then no longer checked; false: "
     "every failure is logged.",
     &Set<&O::log_once>, &Get<&O::log_once>, &Always},
    {"path", "string", "", "", "the name of a file",
     "The log file; empty: $HOME/.flaggems/precision.log. An existing file is "
     "kept as <path>.1.",
     &Set<&O::path>, &Get<&O::path>, &Always},
    {"format", "string", "auto", "", "one of auto, text, jsonl",
     "Form of the log; auto: JSON lines if the path ends in .jsonl, else text.",
     &Set<&O::format>, &Get<&O::format>,
     [](const O& o) {
       return std::any_of(
           std::begin(kFormats), std::end(kFormats),
           [&o](const NamedFormat& f) { return f.format == o.format; });
     }},
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
