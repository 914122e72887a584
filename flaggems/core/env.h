#ifndef FLAGGEMS_CORE_ENV_H_
#define FLAGGEMS_CORE_ENV_H_

// Environment variables, and values from text: one set of rules for flags and
// environment. Messages say what the text is and what is expected; the caller
// puts the name of the flag or variable before them.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"

namespace flaggems {

// The value of an environment variable; nullopt if it is not set, which an
// empty value is not. Not safe against a setenv() in another thread, as
// getenv() itself; call it while configuring, not in kernels.
std::optional<std::string> GetEnv(const std::string& name);

// All parsers ignore spaces around the value and give kInvalidArgument for
// text of another form, empty text included (but for lists).

// A number: "1e-4", "0.5", "0x1p-10", "inf", "nan". Text beyond the range of
// double is refused; the caller decides on Inf and NaN.
absl::StatusOr<double> ParseDouble(absl::string_view text);

// A decimal integer, "-3". Neither "1e6" nor "1,000".
absl::StatusOr<int64_t> ParseInt64(absl::string_view text);

// true: true t yes y 1; false: false f no n 0; in any case of letters.
absl::StatusOr<bool> ParseBool(absl::string_view text);

// Entries separated by commas, spaces around them removed: "mm, add.Tensor".
// Empty text is the empty list; an empty entry is refused.
absl::StatusOr<std::vector<std::string>> ParseStringList(
    absl::string_view text);

// The inverse of ParseStringList for entries without commas: "mm,add.Tensor".
std::string FormatStringList(absl::Span<const std::string> list);

}  // namespace flaggems

#endif  // FLAGGEMS_CORE_ENV_H_
