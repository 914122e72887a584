#ifndef FLAGGEMS_CHECK_SUBSTITUTE_H_
#define FLAGGEMS_CHECK_SUBSTITUTE_H_

// The reference's results in the place of a kernel's.

#include <ATen/core/ivalue.h>

#include <vector>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "flaggems/aten/snapshot.h"
#include "flaggems/judge/kernel_call.h"

namespace flaggems {

// A call as the reference computed it, on host copies.
struct Recomputed {
  // The arguments after the run; those of the call itself where none is
  // written.
  std::vector<c10::IValue> arguments;
  std::vector<c10::IValue> outputs;
  // What the copies are copies of; empty if nothing was copied.
  absl::Span<const CopiedRange> ranges;
};

// Makes the call of `op` on `arguments` end as `reference` says: writes what
// the operator writes into the arguments, and puts the results into `outputs`:
// an argument that the schema returns is that argument, a view of an argument
// a view of the original, and what is new a tensor on the device of the
// arguments.
//
// kInternal, ...  torch refuses, with its text; arguments may be half written,
//                 `outputs` are as they were
// Needs: the caller holds a CheckScope.
absl::Status Substitute(const JudgedOp& op, const Recomputed& reference,
                        absl::Span<const c10::IValue> arguments,
                        std::vector<c10::IValue>* outputs);

}  // namespace flaggems

#endif  // FLAGGEMS_CHECK_SUBSTITUTE_H_
