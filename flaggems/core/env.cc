#include "flaggems/core/env.h"

#include <cmath>
#include <cstdlib>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"

namespace flaggems {
namespace {

absl::Status IsNot(absl::string_view text, absl::string_view expected) {
  return absl::InvalidArgumentError(
      absl::StrCat("\"", text, "\" is not ", expected));
}

}  // namespace

std::optional<std::string> GetEnv(const std::string& name) {
  const char* value = std::getenv(name.c_str());
  if (value == nullptr) return std::nullopt;
  return std::string(value);
}

absl::StatusOr<double> ParseDouble(absl::string_view text) {
  double value = 0;
  if (!absl::SimpleAtod(text, &value)) {
    return IsNot(text, "a number such as 0.01 or 1e-4");
  }
  // SimpleAtod turns what is too large into Inf; "inf" is the other way there.
  if (std::isinf(value) && text.find_first_of("iI") == text.npos) {
    return IsNot(text, absl::StrCat("a number of at most ",
                                    std::numeric_limits<double>::max(),
                                    " in magnitude"));
  }
  return value;
}

absl::StatusOr<int64_t> ParseInt64(absl::string_view text) {
  int64_t value = 0;
  if (!absl::SimpleAtoi(text, &value)) {
    return IsNot(text, "an integer of 64 bits, written in decimal digits");
  }
  return value;
}

absl::StatusOr<bool> ParseBool(absl::string_view text) {
  bool value = false;
  if (!absl::SimpleAtob(absl::StripAsciiWhitespace(text), &value)) {
    return IsNot(text, "a truth value; write true or false");
  }
  return value;
}

absl::StatusOr<std::vector<std::string>> ParseStringList(
    absl::string_view text) {
  std::vector<std::string> list;
  if (absl::StripAsciiWhitespace(text).empty()) return list;
  for (absl::string_view part : absl::StrSplit(text, ',')) {
    part = absl::StripAsciiWhitespace(part);
    if (part.empty()) {
      return IsNot(text,
                   "a list separated by commas: one of its entries is empty");
    }
    list.emplace_back(part);
  }
  return list;
}

std::string FormatStringList(absl::Span<const std::string> list) {
  return absl::StrJoin(list, ",");
}

}  // namespace flaggems
