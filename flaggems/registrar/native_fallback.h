#ifndef FLAGGEMS_REGISTRAR_NATIVE_FALLBACK_H_
#define FLAGGEMS_REGISTRAR_NATIVE_FALLBACK_H_

// What a partial kernel leaves to the kernel that was there before it.

#include <ATen/core/dispatch/Dispatcher.h>

#include <memory>

#include "flaggems/registry/kernel_entry.h"

namespace flaggems {

// Null if `native` is.
std::shared_ptr<const NativeFallback> FallbackTo(
    const c10::OperatorHandle& op,
    std::shared_ptr<const c10::SafeKernelFunction> native);

}  // namespace flaggems

#endif  // FLAGGEMS_REGISTRAR_NATIVE_FALLBACK_H_
