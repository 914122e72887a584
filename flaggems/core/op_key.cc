#include "flaggems/core/op_key.h"

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"

namespace flaggems {
namespace {

absl::Status NotAName(absl::string_view text, absl::string_view why) {
  return absl::InvalidArgumentError(
      absl::StrCat("\"", text, "\" is not an operator name: ", why,
                   "; write \"add\", \"add.Tensor\" or \"aten::add.Tensor\""));
}

bool HasSpace(absl::string_view text) {
  for (char c : text) {
    if (absl::ascii_isspace(c) || absl::ascii_iscntrl(c)) return true;
  }
  return false;
}

}  // namespace

std::string OpKey::ToString() const {
  return absl::StrCat(ns, "::", Unqualified());
}

std::string OpKey::ShortName() const {
  return ns == "aten" ? Unqualified() : ToString();
}

std::string OpKey::Unqualified() const {
  return overload.empty() ? name : absl::StrCat(name, ".", overload);
}

absl::StatusOr<OpKey> OpKey::Parse(absl::string_view text) {
  const absl::string_view whole = absl::StripAsciiWhitespace(text);
  absl::string_view rest = whole;
  absl::string_view ns = "aten";
  if (const size_t colons = rest.find("::"); colons != rest.npos) {
    ns = rest.substr(0, colons);
    rest = rest.substr(colons + 2);
    if (ns.empty()) return NotAName(whole, "nothing stands before \"::\"");
  }
  absl::string_view name = rest;
  absl::string_view overload;
  if (const size_t dot = rest.find('.'); dot != rest.npos) {
    name = rest.substr(0, dot);
    overload = rest.substr(dot + 1);
    if (overload.empty()) return NotAName(whole, "nothing follows the \".\"");
  }
  if (name.empty()) return NotAName(whole, "the name is empty");
  if (HasSpace(whole)) return NotAName(whole, "it contains a space");
  return OpKey{std::string(ns), std::string(name), std::string(overload)};
}

}  // namespace flaggems
