#ifndef FLAGGEMS_POLICY_TEXT_FILE_H_
#define FLAGGEMS_POLICY_TEXT_FILE_H_

// Small text files that people write: policies and suppressions.

#include <functional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace flaggems {

// The content of a file of at most 16 MiB. Errors are "OPTION: cannot read
// "PATH": cause; what to do", with the code of the cause.
absl::StatusOr<std::string> ReadTextFile(absl::string_view option,
                                         const std::string& path);

// Calls `line(number, text)` for each line, counted from 1, without a '\r' at
// its end, but for blank lines and those that start with '#'. Stops at the
// first error, which it returns as "FILE:NUMBER: message".
absl::Status ForEachLine(
    absl::string_view text, absl::string_view file,
    const std::function<absl::Status(int number, absl::string_view line)>&
        line);

// Text from a file as messages quote it: in quotes, without control characters,
// cut after 60 bytes.
std::string Quoted(absl::string_view text);

}  // namespace flaggems

#endif  // FLAGGEMS_POLICY_TEXT_FILE_H_
