#ifndef FLAGGEMS_REGISTRY_KERNEL_ENTRY_H_
#define FLAGGEMS_REGISTRY_KERNEL_ENTRY_H_

// One kernel that a library offers for one operator and backend.

#include <ATen/core/boxing/BoxedKernel.h>
#include <ATen/core/boxing/KernelFunction.h>
#include <ATen/core/dispatch/CppSignature.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/core/function_schema.h>
#include <c10/core/DispatchKey.h>

#include <memory>
#include <string>

#include "flaggems/registry/gate.h"

namespace flaggems {

enum class Backend { kCpu, kCuda, kPrivateUse1 };

c10::DispatchKey DispatchKeyOf(Backend backend);
// "CPU", "CUDA", "PrivateUse1".
const char* BackendName(Backend backend);

// What the dispatcher wants to know of a kernel that is installed.
struct InstallableKernel {
  c10::KernelFunction function;
  c10::impl::CppSignature signature;
  std::unique_ptr<c10::FunctionSchema> inferred_schema;
};

// The kernel that another was registered over, for what that one leaves to it.
struct NativeFallback {
  c10::OperatorHandle op;
  c10::BoxedKernel kernel;
};

// Constant-initialised: before main() runs, nothing is allocated, logged, or
// asked of libtorch. FLAGGEMS_REGISTER_KERNEL makes it.
struct KernelEntry {
  const char* op;  // "aten::add.Tensor"
  Backend backend;
  const char* file;  // where it is registered
  int line;
  // Calls that it refuses with c10::NotImplementedError go to the kernel that
  // was registered before it.
  bool partial;
  // The kernel as it is. `native` is only of interest if it is partial; null:
  // the error goes to the caller.
  InstallableKernel (*make_plain)(std::shared_ptr<const NativeFallback> native);
  // The kernel behind a gate.
  InstallableKernel (*make_gated)(std::shared_ptr<Gate> gate,
                                  std::shared_ptr<const NativeFallback> native);
};

// "file.cc:12", where the kernel is registered.
std::string KernelOrigin(const KernelEntry& entry);

}  // namespace flaggems

#endif  // FLAGGEMS_REGISTRY_KERNEL_ENTRY_H_
