#ifndef FLAGGEMS_REGISTRAR_OBSERVER_H_
#define FLAGGEMS_REGISTRAR_OBSERVER_H_

// Checks of kernels that are registered already, whoever wrote them.

#include <ATen/core/dispatch/Dispatcher.h>

#include <memory>

#include "absl/status/statusor.h"
#include "flaggems/check/checked_op.h"
#include "flaggems/registrar/registrar.h"

namespace flaggems {

// Whether the operator has a kernel of its own at the key: not one that only
// calls other operators, which are observed themselves, and none that the
// dispatcher falls back to.
bool IsObservable(const c10::OperatorHandle& op, c10::DispatchKey key);

// Puts a checked wrapper over the kernel that the operator has at the key now.
// A kernel that was there when this library was loaded is torch's own
// (JudgedOp::native). `runtime` must outlive what is installed. Removal: see
// InstalledKernel.
//
// kNotFound       no kernel there
// kAlreadyExists  a kernel installed by a registrar is alive there
absl::StatusOr<std::unique_ptr<InstalledKernel>> InstallObserver(
    const c10::OperatorHandle& op, c10::DispatchKey key, CheckRuntime* runtime);

}  // namespace flaggems

#endif  // FLAGGEMS_REGISTRAR_OBSERVER_H_
