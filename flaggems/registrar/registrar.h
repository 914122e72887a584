#ifndef FLAGGEMS_REGISTRAR_REGISTRAR_H_
#define FLAGGEMS_REGISTRAR_REGISTRAR_H_

// How kernels get into torch's dispatcher.

#include <memory>

#include "absl/status/statusor.h"
#include "flaggems/registry/kernel_registry.h"

namespace flaggems {

// A kernel that is installed. Its destruction restores what was there before;
// no other thread may be calling the operator then (torch's dispatcher swaps
// kernels without a lock).
class InstalledKernel {
 public:
  virtual ~InstalledKernel() = default;
};

// Thread-safe. Does not throw.
class Registrar {
 public:
  virtual ~Registrar() = default;

  // Installs a kernel over the native one of its operator and backend.
  // kAlreadyExists    a kernel installed by a registrar is alive there
  // kNotFound         torch has no such operator
  // kInvalidArgument  the function does not fit the schema; torch's text
  virtual absl::StatusOr<std::unique_ptr<InstalledKernel>> Install(
      const KernelRegistry::Kernel& kernel) = 0;
};

}  // namespace flaggems

#endif  // FLAGGEMS_REGISTRAR_REGISTRAR_H_
