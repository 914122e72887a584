#ifndef FLAGGEMS_REGISTRAR_OBSERVED_KERNELS_H_
#define FLAGGEMS_REGISTRAR_OBSERVED_KERNELS_H_

// The way from a call in torch's dispatcher to the observer of that operator
// and dispatch key.

#include <ATen/core/boxing/KernelFunction.h>
#include <ATen/core/dispatch/Dispatcher.h>

#include <atomic>

#include "flaggems/registrar/typed_entry.h"

namespace flaggems {

// An operator and dispatch key that is or was observed. Never freed: a thread
// that was on its way when the observer was removed still comes here.
struct ObservedKernel {
  // Of the kernel that was observed last; never freed either.
  std::atomic<const Observation*> observation{nullptr};
};

// The one of that operator and key; made on first use. Calls must not overlap.
ObservedKernel* ObservedKernelFor(const c10::OperatorHandle& op,
                                  c10::DispatchKey key);

// What to put into the dispatch table over `kernel`, the kernel of
// `observation->op`: counts and forwards the call, or checks it, as the gate
// says. Fills in the rest of `observation` and makes it the one of `observed`.
// Calls must not overlap.
//
// Cost of a forwarded call: one look-up and two loads; boxing too, some 60 to
// 400 ns by the number of arguments and lists, where the signature is none of
// typed_entry.cc. No lock.
c10::KernelFunction ObservingKernel(const c10::KernelFunction& kernel,
                                    c10::DispatchKey key,
                                    Observation* observation,
                                    ObservedKernel* observed);

}  // namespace flaggems

#endif  // FLAGGEMS_REGISTRAR_OBSERVED_KERNELS_H_
