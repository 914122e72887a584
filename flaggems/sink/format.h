#ifndef FLAGGEMS_SINK_FORMAT_H_
#define FLAGGEMS_SINK_FORMAT_H_

// The two forms of a record. docs/record_format.md is their specification.
//
// Both give one line without a newline, whatever stands in the record's
// strings. They throw nothing but std::bad_alloc. Thread-safe.

#include <string>

#include "flaggems/core/check_record.h"
#include "flaggems/core/python_float.h"  // IWYU pragma: export

namespace flaggems {

// A line for people, local time to the second.
//
// A failure of profile "original", byte for byte that of the original:
//   2025-05-19 10:00:01 [WARNING] Op: add.Tensor | FAIL | in: [...] | out: ...
//   | max_abs: 1.200000e-03 | max_rel: 2.500000e-02 | rtol=0.01, atol=0.01
//
// Other profiles append what is known of
//   | reason=value | score=1.5 | call=7 | worst=(1, 2) got=1.25 want=1.5
//   | <message>
// and, if the operator has several outputs, name the one that is the worst:
//   | worst=(1, 2) output=1 got=1.25 want=1.5
//
// Every other outcome, [ERROR] for ERROR and [INFO] for the rest; the message
// is the record's or, without one, the explanation of the verdict; `call` is
// left out in profile "original", `reason` for PASS:
//   2025-05-19 10:00:01 [ERROR] Op: add.Tensor | ERROR | reason=reference
//   | call=7 | <message>
//
// Control characters become \n, \r, \t or \xNN.
std::string FormatTextLine(const CheckRecord& record);

// One JSON object. The keys, always all of them and in this order:
//   timestamp     string, RFC 3339 with milliseconds, local time and offset
//   op            string, OpKey::ShortName()
//   status        string, OutcomeName()
//   reason        string, ReasonName(); null for PASS
//   inputs        array of values; a value is "(2, 3):torch.float16", an array
//                 of values for a list, or null for None
//   output        a value
//   rtol, atol, max_abs_diff, max_rel_diff
//                 number
//   mean_error_ulps, rms_error_ulps, score
//                 number or null
//   worst_index   array of integers or null
//   output_index  integer: the output that worst_index belongs to
//   got, want     string; null without worst_index
//   call          integer
//   profile, reference, device
//                 string
//   rank          integer or null
//   pid, thread   integer
//   message       string
//
// NaN and Inf are the strings "NaN", "Infinity", "-Infinity" because JSON has
// no numbers for them. Bytes that are no UTF-8 become U+FFFD.
std::string FormatJsonLine(const CheckRecord& record);

}  // namespace flaggems

#endif  // FLAGGEMS_SINK_FORMAT_H_
