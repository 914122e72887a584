#ifndef FLAGGEMS_JUDGE_UNREAD_RESULTS_H_
#define FLAGGEMS_JUDGE_UNREAD_RESULTS_H_

// Results that say nothing, of operators that return them all the same.

#include "flaggems/judge/kernel_call.h"

namespace flaggems {

// Whether result `output` of the call is not judged, in its shape neither: it
// holds nothing that a caller may read, or what differs by device.
bool IsUnread(const KernelCall& call, int output);

// Whether the argument training (or train) is there and false.
bool InEval(const KernelCall& call);

}  // namespace flaggems

#endif  // FLAGGEMS_JUDGE_UNREAD_RESULTS_H_
