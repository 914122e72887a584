#ifndef FLAGGEMS_CORE_CHECK_RECORD_H_
#define FLAGGEMS_CORE_CHECK_RECORD_H_

// All that is known of one judged call. Sinks write it; nothing else does.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "flaggems/core/op_key.h"
#include "flaggems/core/value_desc.h"
#include "flaggems/core/verdict.h"

namespace flaggems {

struct CheckRecord {
  absl::Time timestamp;
  OpKey op;
  Verdict verdict = Verdict::kPass;
  std::vector<ValueDesc> inputs;  // tensor arguments in schema order
  ValueDesc output;               // kList for several outputs

  // The tolerances that were applied, in value units and as a ratio.
  double rtol = 0;
  double atol = 0;

  // Over pairs of finite elements: |got - want| and |got - want| / (|want| +
  // 1e-12). NaN where a NaN stands against a number, Inf where an Inf stands
  // against another value, NaN where shapes or dtypes do not let elements be
  // compared.
  double max_abs_diff = 0;
  double max_rel_diff = 0;

  // The mean of got - want, and the root of the mean of its square, over pairs
  // of finite floating numbers, in spacings of the output's dtype at want
  // (comparator/comparison.h). None where there is no such pair.
  std::optional<double> mean_error_ulps;
  std::optional<double> rms_error_ulps;

  // max(error / tolerance) over the elements; 1 is the limit.
  std::optional<double> score;

  int output_index = 0;  // which output is the worst, for several
  std::optional<std::vector<int64_t>> worst_index;
  std::string got;   // the element at worst_index, in full precision
  std::string want;  // what the reference has there

  int64_t call = 0;       // 1 for the first call of this operator
  std::string profile;    // "original"
  std::string reference;  // "cpu"
  std::string device;     // where the kernel ran: "cpu", "cuda:0"
  std::optional<int> rank;
  int64_t pid = 0;
  uint64_t thread = 0;  // the operating system's id of the thread
  std::string message;  // an error's text; what differs where no number does
};

}  // namespace flaggems

#endif  // FLAGGEMS_CORE_CHECK_RECORD_H_
