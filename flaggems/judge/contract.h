#ifndef FLAGGEMS_JUDGE_CONTRACT_H_
#define FLAGGEMS_JUDGE_CONTRACT_H_

// What a result promises besides its numbers.

#include <ATen/core/Tensor.h>

#include <cstddef>
#include <optional>

#include "flaggems/judge/judgement.h"
#include "flaggems/judge/kernel_call.h"
#include "flaggems/judge/reference_runs.h"

namespace flaggems {

// The first broken promise of the call, the one that says most (IsWorse):
//
//   count     as many results, and lists as long, as the native kernel has
//   dtype     its element types; what differs by device is in a table
//   shape     its sizes
//   layout    its strides, where a dimension has more than one element
//   alias     results share memory with the arguments and with each other as
//             its do, and as the schema says
//   argument  what is not marked as written is as it was, and so is the memory
//             beside arguments and results
//   value     every cell of a bool result was written
//
// nullopt: none is broken. Where the native kernel does not compute the call in
// the arguments' dtypes, the float64 run stands in for it, and dtypes are those
// that torch's promotion gives. Uses what runs.Native() computes; does not
// throw but for lack of memory.
std::optional<Judgement> BrokenContract(const KernelCall& call,
                                        ReferenceRuns& runs);

// The part of it about memory: arguments that were changed, and bytes beside
// arguments and results.
std::optional<Judgement> BrokenMemory(const KernelCall& call);

// The failure of a kernel that changed what it must not: that argument.
Judgement ChangedArgument(const JudgedOp& op, size_t argument);

// Whether two tensors have the same elements to the byte, wherever they are and
// whatever their strides: a NaN of other bits is another. Copies to the host
// what is not there.
bool HaveSameBytes(const at::Tensor& a, const at::Tensor& b);

}  // namespace flaggems

#endif  // FLAGGEMS_JUDGE_CONTRACT_H_
