#ifndef FLAGGEMS_JUDGE_UNREAD_RESULTS_H_
#define FLAGGEMS_JUDGE_UNREAD_RESULTS_H_

// Results that say nothing, of operators that return them all the same.

#include "flaggems/judge/kernel_call.h"

namespace flaggems {

// Whether result `output` of a call with these arguments is not judged, in its
// shape neither: it holds nothing that a caller may read, or what differs by
// device.
bool IsUnread(const JudgedOp& op, absl::Span<const c10::IValue> arguments,
              int output);

// Whether the argument training (or train) is there and false.
bool InEval(const JudgedOp& op, absl::Span<const c10::IValue> arguments);

}  // namespace flaggems

#endif  // FLAGGEMS_JUDGE_UNREAD_RESULTS_H_
