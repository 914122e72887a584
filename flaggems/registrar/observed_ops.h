#ifndef FLAGGEMS_REGISTRAR_OBSERVED_OPS_H_
#define FLAGGEMS_REGISTRAR_OBSERVED_OPS_H_

// Which operators a list of names and patterns selects for observation.

#include <ATen/core/dispatch/Dispatcher.h>

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "flaggems/core/op_key.h"

namespace flaggems {

struct Observed {
  OpKey key;
  c10::OperatorHandle handle;
  bool named = false;  // by a name and not only by a pattern
};

// "*" in `pattern` stands for any text, also none; all of `text` has to match.
bool GlobMatches(absl::string_view pattern, absl::string_view text);

// Sorted by key. A word with "*" is matched against the full name
// ("aten::add.Tensor"), other words are names as in OnlyEnable(); both are for
// operators with a CPU kernel (IsObservable; a name also selects a kernel that
// only calls other operators, if it was registered for the CPU). Errors: see
// Observe() in precision.h.
absl::StatusOr<std::vector<Observed>> SelectObserved(
    const std::vector<std::string>& include,
    const std::vector<std::string>& exclude);

}  // namespace flaggems

#endif  // FLAGGEMS_REGISTRAR_OBSERVED_OPS_H_
