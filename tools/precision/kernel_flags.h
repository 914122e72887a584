#ifndef FLAGGEMS_TOOLS_PRECISION_KERNEL_FLAGS_H_
#define FLAGGEMS_TOOLS_PRECISION_KERNEL_FLAGS_H_

// Flags that several commands share: which kernels.

#include <string>
#include <vector>

#include "absl/flags/declare.h"
#include "absl/status/statusor.h"
#include "flaggems/config/precision_options.h"

ABSL_DECLARE_FLAG(std::vector<std::string>, include);
ABSL_DECLARE_FLAG(std::vector<std::string>, exclude);

namespace flaggems {

// Options from flags and environment; the command line's profile is strict.
absl::StatusOr<PrecisionOptions> CommandLineOptions();

}  // namespace flaggems

#endif  // FLAGGEMS_TOOLS_PRECISION_KERNEL_FLAGS_H_
