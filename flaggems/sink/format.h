#ifndef FLAGGEMS_SINK_FORMAT_H_
#define FLAGGEMS_SINK_FORMAT_H_

// The two forms of a record. docs/record_format.md is their specification.

#include <string>

#include "flaggems/core/check_record.h"

namespace flaggems {

// The line of the original, byte for byte, local time:
//   2025-05-19 10:00:01 [WARNING] Op: add.Tensor | FAIL | in: [...] | out: ...
//   | max_abs: 1.200000e-03 | max_rel: 2.500000e-02 | rtol=0.01, atol=0.01
std::string FormatTextLine(const CheckRecord& record);

// One JSON object; NaN and Inf are the strings "NaN", "Infinity", "-Infinity"
// because JSON has no numbers for them.
std::string FormatJsonLine(const CheckRecord& record);

// As Python's repr(float): the shortest decimal that reads back as the same
// double; 0.01, 1e-05, 1e+16, 100.0, inf, nan.
std::string FormatPythonFloat(double value);

}  // namespace flaggems

#endif  // FLAGGEMS_SINK_FORMAT_H_
