#ifndef FLAGGEMS_REFERENCE_NATIVE_CPU_REFERENCE_H_
#define FLAGGEMS_REFERENCE_NATIVE_CPU_REFERENCE_H_

// The kernels that libtorch brings, in the dtypes of the arguments.

#include <ATen/core/dispatch/Dispatcher.h>

#include <memory>

#include "absl/status/statusor.h"
#include "flaggems/reference/reference.h"

namespace flaggems {

// The kernel that `op` has for the CPU key at the first call for that operator
// in this process; call it before anything is installed over that key. Later
// calls return the same kernel, so that a kernel of ours, once installed, is
// never taken for the native one. Thread-safe.
//
// kNotFound: the operator has no CPU kernel.
absl::StatusOr<std::shared_ptr<const Reference>> NativeCpuReference(
    const c10::OperatorHandle& op);

// The same of the kernel of a device (`key`), which runs there, in the current
// stream. Null if there was none.
std::shared_ptr<const Reference> NativeDeviceReference(
    const c10::OperatorHandle& op, c10::DispatchKey key);

// The native kernel itself, for calls that the checker's references make while
// another kernel is installed in its place. Null without one.
std::shared_ptr<const c10::SafeKernelFunction> NativeKernel(
    const c10::OperatorHandle& op, c10::DispatchKey key);

}  // namespace flaggems

#endif  // FLAGGEMS_REFERENCE_NATIVE_CPU_REFERENCE_H_
