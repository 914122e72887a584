#ifndef FLAGGEMS_REGISTRAR_OBSERVED_KEY_H_
#define FLAGGEMS_REGISTRAR_OBSERVED_KEY_H_

#include <c10/core/DispatchKey.h>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace flaggems {

// The dispatch key at which kernels of a device are registered: of a device
// type as torch spells it ("cpu", "cuda", a renamed "privateuseone"), or the
// key by its own name ("SparseCPU", "QuantizedCUDA").
//
// kInvalidArgument  torch has no such device or key, or kernels there compute
//                   nothing (Meta, autograd, functorch); says what there is
absl::StatusOr<c10::DispatchKey> ObservedKey(absl::string_view device);

// Whether this process has a device of that type. The CPU always is there; keys
// of other functionality count as those of their backend's.
bool HasDevice(c10::DispatchKey key);

}  // namespace flaggems

#endif  // FLAGGEMS_REGISTRAR_OBSERVED_KEY_H_
