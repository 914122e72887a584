#ifndef FLAGGEMS_REGISTRAR_CHECKING_REGISTRAR_H_
#define FLAGGEMS_REGISTRAR_CHECKING_REGISTRAR_H_

#include <functional>
#include <memory>

#include "absl/status/statusor.h"
#include "flaggems/check/checked_op.h"
#include "flaggems/reference/reference.h"
#include "flaggems/registrar/registrar.h"

namespace flaggems {

// Installs each kernel behind a gate and a check of `runtime`.
class CheckingRegistrar : public Registrar {
 public:
  // Finds who computes the calls of an operator again. Asked before the kernel
  // is installed. An error: the operator's calls are SKIP(unsupported). Null:
  // ReferenceFor() (reference/reference_source.h).
  using ReferenceFinder =
      std::function<absl::StatusOr<std::shared_ptr<const Reference>>(
          const c10::OperatorHandle&)>;

  // `runtime` must outlive what is installed.
  explicit CheckingRegistrar(CheckRuntime* runtime);
  CheckingRegistrar(CheckRuntime* runtime, ReferenceFinder find_reference);

  absl::StatusOr<std::unique_ptr<InstalledKernel>> Install(
      const KernelRegistry::Kernel& kernel) override;

 private:
  CheckRuntime* const runtime_;
  const ReferenceFinder find_reference_;
};

}  // namespace flaggems

#endif  // FLAGGEMS_REGISTRAR_CHECKING_REGISTRAR_H_
