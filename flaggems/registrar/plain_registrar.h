#ifndef FLAGGEMS_REGISTRAR_PLAIN_REGISTRAR_H_
#define FLAGGEMS_REGISTRAR_PLAIN_REGISTRAR_H_

#include <memory>

#include "flaggems/registrar/registrar.h"

namespace flaggems {

// Installs kernels as they are: no gate, no check, no counts.
class PlainRegistrar : public Registrar {
 public:
  absl::StatusOr<std::unique_ptr<InstalledKernel>> Install(
      const KernelRegistry::Kernel& kernel) override;
};

}  // namespace flaggems

#endif  // FLAGGEMS_REGISTRAR_PLAIN_REGISTRAR_H_
