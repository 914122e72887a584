#include "flaggems/sink/format.h"

#include <cmath>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "flaggems/core/check_record.h"
#include "flaggems/core/value_desc.h"
#include "flaggems/core/verdict.h"
#include "nlohmann/json.hpp"

namespace flaggems {
namespace {

using Json = nlohmann::ordered_json;

constexpr absl::string_view kOriginal = "original";

absl::string_view LevelName(Outcome outcome) {
  switch (outcome) {
    case Outcome::kFail:
      return "WARNING";
    case Outcome::kError:
      return "ERROR";
    default:
      return "INFO";
  }
}

// '%.6e' of Python, where a NaN has no sign.
std::string Exponential(double value) {
  return std::isnan(value) ? "nan" : absl::StrFormat("%.6e", value);
}

// '%.6g' of Python.
std::string General(double value) {
  return std::isnan(value) ? "nan" : absl::StrFormat("%.6g", value);
}

std::string OneLine(const std::string& text) {
  std::string out;
  out.reserve(text.size());
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '\n') {
      out.append("\\n");
    } else if (c == '\r') {
      out.append("\\r");
    } else if (c == '\t') {
      out.append("\\t");
    } else if (byte < 0x20 || byte == 0x7f) {
      absl::StrAppendFormat(&out, "\\x%02x", byte);
    } else {
      out.push_back(c);
    }
  }
  return out;
}

std::string FormatValues(const std::vector<ValueDesc>& values) {
  return FormatValue(ValueDesc::List(values));
}

void AppendFailure(const CheckRecord& record, std::string* out) {
  absl::StrAppend(out, " | in: ", FormatValues(record.inputs),
                  " | out: ", FormatValue(record.output),
                  " | max_abs: ", Exponential(record.max_abs_diff),
                  " | max_rel: ", Exponential(record.max_rel_diff),
                  " | rtol=", FormatPythonFloat(record.rtol),
                  ", atol=", FormatPythonFloat(record.atol));
  if (record.profile == kOriginal) return;
  absl::StrAppend(out, " | reason=", ReasonName(record.verdict));
  if (record.score.has_value()) {
    absl::StrAppend(out, " | score=", General(*record.score));
  }
  absl::StrAppend(out, " | call=", record.call);
  if (record.worst_index.has_value()) {
    absl::StrAppend(out, " | worst=", FormatShape(*record.worst_index));
    if (record.output.kind == ValueDesc::Kind::kList) {
      absl::StrAppend(out, " output=", record.output_index);
    }
    absl::StrAppend(out, " got=", record.got, " want=", record.want);
  }
  if (!record.message.empty()) absl::StrAppend(out, " | ", record.message);
}

void AppendOther(const CheckRecord& record, std::string* out) {
  const absl::string_view reason = ReasonName(record.verdict);
  if (!reason.empty()) absl::StrAppend(out, " | reason=", reason);
  if (record.profile != kOriginal) {
    absl::StrAppend(out, " | call=", record.call);
  }
  absl::StrAppend(out, " | ",
                  record.message.empty() ? Explanation(record.verdict)
                                         : absl::string_view(record.message));
}

Json Number(double value) {
  if (std::isnan(value)) return "NaN";
  if (std::isinf(value)) return value < 0 ? "-Infinity" : "Infinity";
  return value;
}

Json NumberOrNull(const std::optional<double>& value) {
  return value.has_value() ? Number(*value) : Json();
}

Json Values(const std::vector<ValueDesc>& values);

Json Value(const ValueDesc& value) {
  switch (value.kind) {
    case ValueDesc::Kind::kNone:
      break;
    case ValueDesc::Kind::kTensor:
      return FormatTensor(value.tensor);
    case ValueDesc::Kind::kList:
      return Values(value.items);
  }
  return nullptr;
}

Json Values(const std::vector<ValueDesc>& values) {
  Json array = Json::array();
  for (const ValueDesc& value : values) array.push_back(Value(value));
  return array;
}

Json String(absl::string_view text) { return std::string(text); }

}  // namespace

std::string FormatTextLine(const CheckRecord& record) {
  const Outcome outcome = OutcomeOf(record.verdict);
  std::string line =
      absl::StrCat(absl::FormatTime("%Y-%m-%d %H:%M:%S", record.timestamp,
                                    absl::LocalTimeZone()),
                   " [", LevelName(outcome), "] Op: ", record.op.ShortName(),
                   " | ", OutcomeName(outcome));
  if (outcome == Outcome::kFail) {
    AppendFailure(record, &line);
  } else {
    AppendOther(record, &line);
  }
  return OneLine(line);
}

std::string FormatJsonLine(const CheckRecord& record) {
  const absl::string_view reason = ReasonName(record.verdict);
  Json json = Json::object();
  json["timestamp"] = absl::FormatTime("%Y-%m-%d%ET%H:%M:%E3S%Ez",
                                       record.timestamp, absl::LocalTimeZone());
  json["op"] = record.op.ShortName();
  json["status"] = String(OutcomeName(OutcomeOf(record.verdict)));
  json["reason"] = reason.empty() ? Json() : String(reason);
  json["inputs"] = Values(record.inputs);
  json["output"] = Value(record.output);
  json["rtol"] = Number(record.rtol);
  json["atol"] = Number(record.atol);
  json["max_abs_diff"] = Number(record.max_abs_diff);
  json["max_rel_diff"] = Number(record.max_rel_diff);
  json["mean_error_ulps"] = NumberOrNull(record.mean_error_ulps);
  json["rms_error_ulps"] = NumberOrNull(record.rms_error_ulps);
  json["score"] = NumberOrNull(record.score);
  const bool located = record.worst_index.has_value();
  json["worst_index"] = located ? Json(*record.worst_index) : Json();
  json["output_index"] = record.output_index;
  json["got"] = located ? Json(record.got) : Json();
  json["want"] = located ? Json(record.want) : Json();
  json["call"] = record.call;
  json["profile"] = record.profile;
  json["reference"] = record.reference;
  json["device"] = record.device;
  json["rank"] = record.rank.has_value() ? Json(*record.rank) : Json();
  json["pid"] = record.pid;
  json["thread"] = record.thread;
  json["message"] = record.message;
  return json.dump(/*indent=*/-1, /*indent_char=*/' ', /*ensure_ascii=*/false,
                   Json::error_handler_t::replace);
}

}  // namespace flaggems
