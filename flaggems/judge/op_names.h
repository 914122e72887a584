#ifndef FLAGGEMS_JUDGE_OP_NAMES_H_
#define FLAGGEMS_JUDGE_OP_NAMES_H_

#include "absl/strings/string_view.h"
#include "absl/types/span.h"

namespace flaggems {

// Whether `names`, without namespace and overload, have an operator of that
// name, or the one whose in-place form ("add_") it is.
bool HasOp(absl::Span<const absl::string_view> names, absl::string_view name);

}  // namespace flaggems

#endif  // FLAGGEMS_JUDGE_OP_NAMES_H_
