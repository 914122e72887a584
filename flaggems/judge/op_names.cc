#include "flaggems/judge/op_names.h"

#include "absl/algorithm/container.h"
#include "absl/strings/strip.h"

namespace flaggems {

bool HasOp(absl::Span<const absl::string_view> names, absl::string_view name) {
  return absl::c_linear_search(names, absl::StripSuffix(name, "_"));
}

}  // namespace flaggems
