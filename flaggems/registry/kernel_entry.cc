#include "flaggems/registry/kernel_entry.h"

namespace flaggems {

c10::DispatchKey DispatchKeyOf(Backend backend) {
  switch (backend) {
    case Backend::kCpu:
      return c10::DispatchKey::CPU;
    case Backend::kCuda:
      return c10::DispatchKey::CUDA;
    case Backend::kPrivateUse1:
      return c10::DispatchKey::PrivateUse1;
  }
  return c10::DispatchKey::Undefined;
}

const char* BackendName(Backend backend) {
  return c10::toString(DispatchKeyOf(backend));
}

std::string KernelOrigin(const KernelEntry& entry) {
  return std::string(entry.file) + ":" + std::to_string(entry.line);
}

}  // namespace flaggems
