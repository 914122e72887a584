#ifndef FLAGGEMS_JUDGE_UNREAD_RESULTS_H_
#define FLAGGEMS_JUDGE_UNREAD_RESULTS_H_

// Results that say nothing, of operators that return them all the same.

#include <ATen/core/Tensor.h>

#include "flaggems/core/op_key.h"
#include "flaggems/judge/kernel_call.h"

namespace flaggems {

// Whether result `output` of a call with these arguments is not judged, in its
// shape neither: it holds nothing that a caller may read, or what differs by
// device.
bool IsUnread(const JudgedOp& op, absl::Span<const c10::IValue> arguments,
              int output);

// `result`, of which some cells say nothing: with those as a reference has
// them. Returns it itself if there are none, and a changed copy otherwise.
// `result` is on the host.
at::Tensor WithUnreadCellsFilled(const JudgedOp& op,
                                 absl::Span<const c10::IValue> arguments,
                                 int output, const at::Tensor& result);

// Whether result `output` is a statistic of a norm, whose dtype differs by
// device: float32 for 16-bit inputs on CUDA, the inputs' own on the CPU. Both
// are right everywhere: a kernel library need not know the device.
bool IsStatistic(const OpKey& op, int output);

// Whether the argument training (or train) is there and false.
bool InEval(const JudgedOp& op, absl::Span<const c10::IValue> arguments);

}  // namespace flaggems

#endif  // FLAGGEMS_JUDGE_UNREAD_RESULTS_H_
