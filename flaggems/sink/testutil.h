#ifndef FLAGGEMS_SINK_TESTUTIL_H_
#define FLAGGEMS_SINK_TESTUTIL_H_

// Records for the tests of this package.

#include <cstdlib>

#include "absl/time/time.h"
#include "flaggems/core/check_record.h"
#include "flaggems/core/dtype.h"
#include "flaggems/core/value_desc.h"
#include "flaggems/core/verdict.h"

namespace flaggems {

// Makes UTC+05:30 the local time of this process, without a zone database.
inline void SetFixedTimeZone() { setenv("TZ", "Fixed/UTC+05:30:00", 1); }

// 2025-05-19 10:00:01.250 in that zone.
inline absl::Time FixedInstant() { return absl::FromUnixMillis(1747629001250); }

// The failure in the original's documentation.
inline CheckRecord FailureRecord() {
  CheckRecord record;
  record.timestamp = FixedInstant();
  record.op = {"aten", "add", "Tensor"};
  record.verdict = Verdict::kFailValue;
  record.inputs = {ValueDesc::Tensor(DType::kFloat16, {2, 3})};
  record.output = ValueDesc::Tensor(DType::kFloat16, {2, 3});
  record.rtol = 0.01;
  record.atol = 0.01;
  record.max_abs_diff = 1.2e-3;
  record.max_rel_diff = 2.5e-2;
  record.score = 1.5;
  record.worst_index = {1, 2};
  record.got = "1.25";
  record.want = "1.5";
  record.call = 7;
  record.profile = "original";
  record.reference = "cpu";
  record.device = "cuda:0";
  record.pid = 4711;
  record.thread = 4712;
  return record;
}

}  // namespace flaggems

#endif  // FLAGGEMS_SINK_TESTUTIL_H_
