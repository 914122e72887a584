#ifndef FLAGGEMS_REGISTRAR_OBSERVED_KERNELS_H_
#define FLAGGEMS_REGISTRAR_OBSERVED_KERNELS_H_

// The way from a call in torch's dispatcher to the observer of that operator
// and dispatch key.

#include <ATen/core/boxing/KernelFunction.h>
#include <ATen/core/dispatch/Dispatcher.h>

#include <atomic>
#include <cstddef>

#include "flaggems/check/checked_op.h"

namespace flaggems {

// An operator and dispatch key that is or was observed. Never freed: a thread
// that was on its way when the observer was removed still comes here.
struct ObservedKernel {
  explicit ObservedKernel(const c10::OperatorName* op_name) : name(op_name) {}

  // The dispatcher's own copy, whose address stands for the operator.
  const c10::OperatorName* const name;
  // The operator whose kernel was observed last. What it points to is never
  // freed either.
  std::atomic<const CheckedOp*> op{nullptr};
};

// The one of that operator and key; made on first use. Calls must not overlap.
ObservedKernel* ObservedKernelFor(const c10::OperatorHandle& op,
                                  c10::DispatchKey key);

// What to put into the dispatch table over `kernel`, for the operator of an
// ObservedKernel whose `op` is set: counts and forwards the call to op->kernel,
// or checks it, as op->gate says. Cost of a forwarded call: boxing, one look-up
// and two loads; no lock, no allocation but for the boxed arguments.
c10::KernelFunction ObservingKernel(const c10::KernelFunction& kernel,
                                    c10::DispatchKey key);

}  // namespace flaggems

#endif  // FLAGGEMS_REGISTRAR_OBSERVED_KERNELS_H_
