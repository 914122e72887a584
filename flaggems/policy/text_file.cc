#include "flaggems/policy/text_file.h"

#include <cerrno>
#include <cstddef>
#include <cstdio>
#include <memory>

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"

namespace flaggems {
namespace {

constexpr size_t kMaxBytes = size_t{16} << 20;
constexpr size_t kMaxQuoted = 60;

}  // namespace

absl::StatusOr<std::string> ReadTextFile(absl::string_view option,
                                         const std::string& path) {
  const std::string what = absl::StrCat(option, ": cannot read \"",
                                        absl::Utf8SafeCHexEscape(path), "\"");
  const auto failed = [&](int error) {
    const absl::Status cause = absl::ErrnoToStatus(error, what);
    return absl::Status(
        cause.code(),
        absl::StrCat(cause.message(), "; name a readable file, or none"));
  };
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(
      std::fopen(path.c_str(), "re"), &std::fclose);
  if (file == nullptr) return failed(errno);
  std::string text;
  char buffer[4096];
  while (const size_t count =
             std::fread(buffer, 1, sizeof(buffer), file.get())) {
    text.append(buffer, count);
    if (text.size() > kMaxBytes) {
      return absl::InvalidArgumentError(absl::StrCat(
          what, ": it has more than 16 MiB; name a file of lines of text"));
    }
  }
  // A directory can be opened, but not read.
  if (std::ferror(file.get())) return failed(errno);
  return text;
}

absl::Status ForEachLine(
    absl::string_view text, absl::string_view file,
    const std::function<absl::Status(int number, absl::string_view line)>&
        line) {
  int number = 0;
  for (absl::string_view each : absl::StrSplit(text, '\n')) {
    ++number;
    each = absl::StripSuffix(each, "\r");
    const absl::string_view content = absl::StripLeadingAsciiWhitespace(each);
    if (content.empty() || content[0] == '#') continue;
    const absl::Status status = line(number, each);
    if (!status.ok()) {
      return absl::Status(status.code(), absl::StrCat(file, ":", number, ": ",
                                                      status.message()));
    }
  }
  return absl::OkStatus();
}

std::string Quoted(absl::string_view text) {
  const bool cut = text.size() > kMaxQuoted;
  return absl::StrCat("\"",
                      absl::Utf8SafeCHexEscape(text.substr(0, kMaxQuoted)),
                      cut ? "...\"" : "\"");
}

}  // namespace flaggems
