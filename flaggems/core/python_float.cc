#include "flaggems/core/python_float.h"

#include <charconv>
#include <cmath>
#include <cstdlib>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"

namespace flaggems {

std::string FormatPythonFloat(double value) {
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return value < 0 ? "-inf" : "inf";

  // "d.ddde[+-]xx": 17 digits, point, sign and exponent fit.
  char buffer[40];
  const std::to_chars_result end =
      std::to_chars(buffer, buffer + sizeof(buffer), std::abs(value),
                    std::chars_format::scientific);
  const absl::string_view text(buffer, end.ptr - buffer);
  const size_t e = text.find('e');
  int exponent = 0;
  std::from_chars(buffer + e + (text[e + 1] == '+' ? 2 : 1), end.ptr, exponent);
  std::string digits(text.substr(0, 1));
  if (e > 2) absl::StrAppend(&digits, text.substr(2, e - 2));

  const absl::string_view sign = std::signbit(value) ? "-" : "";
  const int count = static_cast<int>(digits.size());
  if (exponent < -4 || exponent >= 16) {  // Python's limits of plain notation
    if (count > 1) digits.insert(1, 1, '.');
    const int magnitude = std::abs(exponent);
    return absl::StrCat(sign, digits, exponent < 0 ? "e-" : "e+",
                        magnitude < 10 ? "0" : "", magnitude);
  }
  if (exponent < 0) {
    return absl::StrCat(sign, "0.", std::string(-exponent - 1, '0'), digits);
  }
  if (count <= exponent + 1) {
    return absl::StrCat(sign, digits, std::string(exponent + 1 - count, '0'),
                        ".0");
  }
  digits.insert(exponent + 1, 1, '.');
  return absl::StrCat(sign, digits);
}

}  // namespace flaggems
