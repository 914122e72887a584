#include "flaggems/aten/cuda_driver.h"

#include <dlfcn.h>

namespace flaggems {

void* CudaDriverSymbol(const char* name) noexcept {
  static void* const driver = dlopen("libcuda.so.1", RTLD_LAZY | RTLD_NOLOAD);
  return driver == nullptr ? nullptr : dlsym(driver, name);
}

}  // namespace flaggems
