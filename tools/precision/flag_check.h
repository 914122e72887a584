#ifndef FLAGGEMS_TOOLS_PRECISION_FLAG_CHECK_H_
#define FLAGGEMS_TOOLS_PRECISION_FLAG_CHECK_H_

#include <string>
#include <vector>

#include "absl/status/status.h"

namespace flaggems {

// Finds what absl::ParseCommandLine would end the process for: unknown flags,
// bad values, flag files that cannot be read. absl exits with 1, which means
// "failures found" here; callers report the error as a usage error instead.
// kInvalidArgument, naming the flag (and the nearest known one).
absl::Status CheckFlags(const std::vector<std::string>& arguments);

}  // namespace flaggems

#endif  // FLAGGEMS_TOOLS_PRECISION_FLAG_CHECK_H_
