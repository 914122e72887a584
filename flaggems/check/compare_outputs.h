#ifndef FLAGGEMS_CHECK_COMPARE_OUTPUTS_H_
#define FLAGGEMS_CHECK_COMPARE_OUTPUTS_H_

// The verdict on all results of one call.

#include <ATen/core/ivalue.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/types/span.h"
#include "flaggems/comparator/compare.h"
#include "flaggems/core/verdict.h"

namespace flaggems {

struct OutputComparison {
  Verdict verdict = Verdict::kPass;
  double max_abs_diff = 0;
  double max_rel_diff = 0;
  std::optional<double> score;
  int output_index = 0;  // of the worst output, lists counted through
  std::optional<std::vector<int64_t>> worst_index;
  std::string got;
  std::string want;
  std::string message;  // what differs where no element does; an error's text
};

// CompareOutputs()
//
// Results are matched by position, lists element by element. Tensors must have
// the same dtype and sizes and agree by `tolerance` (see Compare()); numbers
// must agree likewise; None and an undefined tensor only agree with
// themselves. A tensor on a device is copied to the CPU.
//
// The verdict is the worst over the outputs: any FAIL beats PASS (the first
// of count, dtype, shape, special, value), ERROR if an output could not be
// compared and none failed; UNTRUSTED only if no output proves anything.
//
// Does not throw. The caller holds a CheckScope.
OutputComparison CompareOutputs(absl::Span<const c10::IValue> got,
                                absl::Span<const c10::IValue> want,
                                const Tolerance& tolerance);

}  // namespace flaggems

#endif  // FLAGGEMS_CHECK_COMPARE_OUTPUTS_H_
