#ifndef FLAGGEMS_JUDGE_JUDGE_CALL_H_
#define FLAGGEMS_JUDGE_JUDGE_CALL_H_

// The verdict of profile `strict` on one call.

#include "absl/status/status.h"
#include "flaggems/judge/judgement.h"
#include "flaggems/judge/kernel_call.h"

namespace flaggems {

// JudgeCall()
//
// In this order: whether the call is one that aten computes; what the results
// promise besides their numbers (contract.h); the numbers of every result and
// of every argument that was written (numbers.h); where they differ, whether
// they are right all the same (meaning.h). Results of random operators are
// judged by properties, uninitialised ones by their contract alone. The
// judgement is the worst over the results. SKIP policy, with the reason, for a
// call that no reference may make (reference/denied_calls.h).
//
// Does not throw. The caller holds a CheckScope.
Judgement JudgeCall(const KernelCall& call);

// The kernel threw `thrown` and returned nothing: right if the reference
// refuses the call too. call.outputs is empty.
Judgement JudgeThrow(const KernelCall& call, const absl::Status& thrown);

}  // namespace flaggems

#endif  // FLAGGEMS_JUDGE_JUDGE_CALL_H_
