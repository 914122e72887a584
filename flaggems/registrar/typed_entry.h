#ifndef FLAGGEMS_REGISTRAR_TYPED_ENTRY_H_
#define FLAGGEMS_REGISTRAR_TYPED_ENTRY_H_

// Unboxed entries of observed kernels, for the C++ signatures that most calls
// have: an idle observer then boxes nothing.

#include <ATen/core/boxing/KernelFunction.h>
#include <ATen/core/dispatch/Dispatcher.h>

#include "flaggems/check/checked_op.h"
#include "flaggems/registry/gate.h"

namespace flaggems {

// A kernel that is or was observed, and its own unboxed entry. Never freed.
// What a forwarded call needs is in one line of the cache.
struct alignas(64) Observation {
  Gate* gate = nullptr;     // the operator's
  void* unboxed = nullptr;  // null if the observer has no typed entry
  const CheckedOp* op = nullptr;
};

// An entry for calls of `op` with SymInts (`symbolic`) or with the plain types,
// whichever the observed kernel has; null if its signature is not in the list.
// The entry finds the Observation by the functor (ObservationOf()), and counts
// and forwards, or boxes for the checked kernel, as the gate says.
void* TypedEntryFor(const c10::OperatorHandle& op, bool symbolic);

// The observation of the kernel with this functor; it has a typed entry.
const Observation& ObservationOf(const c10::OperatorKernel* functor);

}  // namespace flaggems

#endif  // FLAGGEMS_REGISTRAR_TYPED_ENTRY_H_
