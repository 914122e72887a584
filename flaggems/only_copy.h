#ifndef FLAGGEMS_ONLY_COPY_H_
#define FLAGGEMS_ONLY_COPY_H_

#include "absl/status/status.h"

namespace flaggems {

// kFailedPrecondition in all copies of this library in the process but the
// first that asks: torch's dispatcher is one, and a second copy would take the
// wrappers of the first for kernels of torch's. Names both. Thread-safe.
absl::Status CheckOnlyCopy();

}  // namespace flaggems

#endif  // FLAGGEMS_ONLY_COPY_H_
