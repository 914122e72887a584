#include "tools/precision/kernel_flags.h"

#include "absl/flags/flag.h"
#include "flaggems/config/flags.h"

ABSL_FLAG(std::vector<std::string>, include, {},
          "only these operators: names without namespace, separated by commas; "
          "\"add\" is every overload, \"add.Tensor\" one; default: all");
ABSL_FLAG(std::vector<std::string>, exclude, {},
          "not these operators; names as in --include");

namespace flaggems {

absl::StatusOr<PrecisionOptions> CommandLineOptions() {
  return OptionsFromFlags(PrecisionOptions::Strict());
}

}  // namespace flaggems
