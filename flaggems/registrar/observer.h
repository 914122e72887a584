#ifndef FLAGGEMS_REGISTRAR_OBSERVER_H_
#define FLAGGEMS_REGISTRAR_OBSERVER_H_

// Checks of kernels that are registered already, whoever wrote them.

#include <ATen/core/dispatch/Dispatcher.h>

#include <memory>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "flaggems/check/checked_op.h"
#include "flaggems/registrar/registrar.h"

namespace flaggems {

// Why there is nothing to observe: the operator has no kernel of its own at the
// key, but none at all, one that only calls other operators (those are observed
// themselves), or one that passes the call on. nullopt: it can be observed.
std::optional<std::string> WhyNotObservable(const c10::OperatorHandle& op,
                                            c10::DispatchKey key);

// Puts an observer over the kernel that the operator has at the key now, or
// shares the one that is there already. One that is hidden by a kernel which
// was registered over it moves over that. A kernel of torch's own is known as
// such (JudgedOp::native). `runtime` must outlive what is installed.
//
// The destruction of the last InstalledKernel of an operator and key restores
// the dispatch table. Installing and removing are safe while other threads call
// the operator: a call under way goes on in the observer, whose parts are never
// freed (some kilobytes for each kernel that was ever observed). A kernel that
// its owner deregisters goes on being called until the observer is removed; one
// that is registered over the observer hides it until somebody observes again.
//
// kNotFound       no kernel there
// kAlreadyExists  a kernel installed by a registrar is alive there
absl::StatusOr<std::unique_ptr<InstalledKernel>> InstallObserver(
    const c10::OperatorHandle& op, c10::DispatchKey key, CheckRuntime* runtime);

}  // namespace flaggems

#endif  // FLAGGEMS_REGISTRAR_OBSERVER_H_
