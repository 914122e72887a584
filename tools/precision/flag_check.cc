#include "tools/precision/flag_check.h"

#include <sys/stat.h>

#include <cstdlib>
#include <fstream>

#include "absl/flags/commandlineflag.h"
#include "absl/flags/reflection.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "flaggems/core/status_macros.h"
#include "flaggems/registry/kernel_registry.h"

namespace flaggems {
namespace {

constexpr int kMaxFlagFileDepth = 8;

absl::Status UnknownFlag(const std::string& name) {
  std::vector<std::string> known;
  for (const auto& [flag, unused] : absl::GetAllFlags()) {
    known.push_back(std::string(flag));
  }
  std::vector<std::string> nearest = NearestNames(name, known, 2);
  for (std::string& flag : nearest) flag = absl::StrCat("--", flag);
  return absl::InvalidArgumentError(absl::StrCat(
      "unknown flag --", name,
      nearest.empty() ? ""
                      : absl::StrCat("; did you mean ",
                                     absl::StrJoin(nearest, " or "), "?")));
}

absl::Status Check(const std::vector<std::string>& arguments, int depth);

absl::Status CheckFlagFiles(const std::string& names, int depth) {
  if (depth >= kMaxFlagFileDepth) {
    return absl::InvalidArgumentError(
        absl::StrCat("--flagfile=", names, ": flag files include each other"));
  }
  for (absl::string_view name : absl::StrSplit(names, ',')) {
    struct stat info;
    const std::string path(name);
    std::ifstream file(path);
    if (stat(path.c_str(), &info) != 0 || !S_ISREG(info.st_mode) || !file) {
      return absl::InvalidArgumentError(
          absl::StrCat("--flagfile=", name, " cannot be read"));
    }
    std::vector<std::string> lines;
    for (std::string line; std::getline(file, line);) {
      const absl::string_view text = absl::StripAsciiWhitespace(line);
      if (text.empty() || text[0] == '#') continue;
      if (!absl::StartsWith(text, "-") || text == "--") {
        return absl::InvalidArgumentError(
            absl::StrCat(name, ": \"", text,
                         "\" is no flag; a flag file has one --flag=value a "
                         "line"));
      }
      lines.push_back(std::string(text));
    }
    FG_RETURN_IF_ERROR(Check(lines, depth + 1));
  }
  return absl::OkStatus();
}

absl::Status Check(const std::vector<std::string>& arguments, int depth) {
  for (size_t i = 0; i < arguments.size(); ++i) {
    absl::string_view text = arguments[i];
    if (text == "--") break;
    if (text.size() < 2 || text[0] != '-') continue;
    text.remove_prefix(absl::StartsWith(text, "--") ? 2 : 1);
    const std::pair<absl::string_view, absl::string_view> parts =
        absl::StrSplit(text, absl::MaxSplits('=', 1));
    const std::string name(parts.first);
    const bool has_value = absl::StrContains(text, '=');
    // absl's own flag of that name reads the files when it is parsed.
    const bool is_flag_file = name == "flagfile";
    absl::CommandLineFlag* flag = absl::FindCommandLineFlag(name);
    const bool negated =
        flag == nullptr && absl::StartsWith(name, "no") && !has_value;
    if (negated) flag = absl::FindCommandLineFlag(name.substr(2));
    if (!is_flag_file &&
        (flag == nullptr || (negated && !flag->IsOfType<bool>()))) {
      return UnknownFlag(name);
    }
    if (!is_flag_file && flag->IsOfType<bool>() && !has_value) continue;
    std::string value(parts.second);
    if (!has_value) {
      if (i + 1 >= arguments.size()) {
        return absl::InvalidArgumentError(
            absl::StrCat("--", name, " needs a value: --", name, "=VALUE"));
      }
      value = arguments[++i];
    }
    if (is_flag_file) {
      FG_RETURN_IF_ERROR(CheckFlagFiles(value, depth));
      continue;
    }
    if (name == "fromenv") {
      for (absl::string_view wanted : absl::StrSplit(value, ',')) {
        const std::string variable = absl::StrCat("FLAGS_", wanted);
        if (std::getenv(variable.c_str()) == nullptr) {
          return absl::InvalidArgumentError(absl::StrCat(
              "--fromenv=", value, ": the environment has no ", variable));
        }
      }
    }
    std::string error;
    if (!flag->ParseFrom(value, &error)) {
      return absl::InvalidArgumentError(
          absl::StrCat("--", name, "=", value, ": ",
                       error.empty() ? "not a value of this flag" : error));
    }
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status CheckFlags(const std::vector<std::string>& arguments) {
  return Check(arguments, 0);
}

}  // namespace flaggems
