#ifndef FLAGGEMS_REGISTRAR_DISPATCHER_SLOT_H_
#define FLAGGEMS_REGISTRAR_DISPATCHER_SLOT_H_

// One operator and backend of torch's dispatcher, held by one installed kernel.

#include <ATen/core/dispatch/Dispatcher.h>

#include <memory>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "flaggems/registry/kernel_registry.h"

namespace flaggems {

// Reserved from construction to destruction; nobody else can reserve it then.
class DispatcherSlot {
 public:
  // kAlreadyExists, kNotFound: see Registrar::Install.
  static absl::StatusOr<std::unique_ptr<DispatcherSlot>> Reserve(
      const KernelRegistry::Kernel& kernel);
  ~DispatcherSlot();
  DispatcherSlot(const DispatcherSlot&) = delete;
  DispatcherSlot& operator=(const DispatcherSlot&) = delete;

  const c10::OperatorHandle& op() const { return op_; }

  // Puts a kernel into the slot; once. kInvalidArgument: see Registrar.
  // Torch's warning about the kernel that is replaced is swallowed: replacing
  // it is what the user asked for.
  absl::Status Fill(InstallableKernel kernel);

 private:
  DispatcherSlot(KernelRegistry::Kernel kernel, c10::OperatorHandle op);

  const KernelRegistry::Kernel kernel_;
  const c10::OperatorHandle op_;
  std::unique_ptr<c10::RegistrationHandleRAII> registration_;
};

}  // namespace flaggems

#endif  // FLAGGEMS_REGISTRAR_DISPATCHER_SLOT_H_
