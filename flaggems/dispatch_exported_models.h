#ifndef FLAGGEMS_DISPATCH_EXPORTED_MODELS_H_
#define FLAGGEMS_DISPATCH_EXPORTED_MODELS_H_

// For programs that run torch.export packages (.pt2) from C++.

#include "absl/status/status.h"

namespace flaggems {

// Makes models that are loaded from torch.export packages afterwards call their
// operators through torch's dispatcher.
//
// libtorch's runner for such packages has hard-wired calls of native CPU
// kernels for some 350 operators (torch 2.11); kernels that are registered with
// the dispatcher are never reached for these. It looks them up in a registry
// when a model is loaded; emptied, the runner falls back to the dispatcher.
// kInternal if the registry cannot be emptied. Thread-safe.
absl::Status DispatchExportedModels();

}  // namespace flaggems

#endif  // FLAGGEMS_DISPATCH_EXPORTED_MODELS_H_
