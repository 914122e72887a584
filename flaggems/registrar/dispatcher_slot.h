#ifndef FLAGGEMS_REGISTRAR_DISPATCHER_SLOT_H_
#define FLAGGEMS_REGISTRAR_DISPATCHER_SLOT_H_

// One operator and dispatch key of torch's dispatcher, held by one installed
// kernel.

#include <ATen/core/dispatch/Dispatcher.h>

#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "flaggems/core/op_key.h"
#include "flaggems/registry/kernel_entry.h"

namespace flaggems {

// Reserved from construction to destruction; nobody else can reserve it then.
class DispatcherSlot {
 public:
  // `origin`: where the kernel comes from, "file.cc:12", for messages.
  // kAlreadyExists, kNotFound: see Registrar::Install.
  static absl::StatusOr<std::unique_ptr<DispatcherSlot>> Reserve(
      const OpKey& op, c10::DispatchKey key, std::string origin);
  ~DispatcherSlot();
  DispatcherSlot(const DispatcherSlot&) = delete;
  DispatcherSlot& operator=(const DispatcherSlot&) = delete;

  const c10::OperatorHandle& op() const { return op_; }

  // Puts a kernel into the slot; once. kInvalidArgument: see Registrar.
  // Torch's warning about the kernel that is replaced is swallowed: replacing
  // it is what the user asked for.
  absl::Status Fill(InstallableKernel kernel);
  // The same with a boxed kernel, which fits every schema.
  absl::Status Fill(c10::KernelFunction kernel);

 private:
  DispatcherSlot(OpKey op_key, c10::DispatchKey key, std::string origin,
                 c10::OperatorHandle op);
  absl::Status Register(c10::KernelFunction function,
                        std::optional<c10::impl::CppSignature> signature,
                        std::unique_ptr<c10::FunctionSchema> schema);

  const OpKey op_key_;
  const c10::DispatchKey key_;
  const std::string origin_;
  const c10::OperatorHandle op_;
  std::unique_ptr<c10::RegistrationHandleRAII> registration_;
};

}  // namespace flaggems

#endif  // FLAGGEMS_REGISTRAR_DISPATCHER_SLOT_H_
