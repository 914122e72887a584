#ifndef FLAGGEMS_TOOLS_PRECISION_KERNEL_FLAGS_H_
#define FLAGGEMS_TOOLS_PRECISION_KERNEL_FLAGS_H_

// Flags that several commands share: which kernels.

#include <string>
#include <vector>

#include "absl/flags/declare.h"

ABSL_DECLARE_FLAG(std::vector<std::string>, include);
ABSL_DECLARE_FLAG(std::vector<std::string>, exclude);

#endif  // FLAGGEMS_TOOLS_PRECISION_KERNEL_FLAGS_H_
