#ifndef FLAGGEMS_REGISTRAR_OBSERVED_OPS_H_
#define FLAGGEMS_REGISTRAR_OBSERVED_OPS_H_

// Which operators a list of names and patterns selects for observation.

#include <ATen/core/dispatch/Dispatcher.h>

#include <map>
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

struct Selection {
  std::vector<Observed> observed;  // sorted by key
  // By full name: what a pattern matches and cannot be observed, and why.
  std::map<std::string, std::string> not_observed;
};

// "*" in `pattern` stands for any text, also none; all of `text` has to match.
bool GlobMatches(absl::string_view pattern, absl::string_view text);

// A word with "*" is matched against the full name ("aten::add.Tensor"), other
// words are names as in OnlyEnable(). A name also selects an operator that only
// calls others, if it has a kernel at the key itself. Errors: see Observe() in
// precision.h.
absl::StatusOr<Selection> SelectObserved(
    const std::vector<std::string>& include,
    const std::vector<std::string>& exclude, c10::DispatchKey key);

}  // namespace flaggems

#endif  // FLAGGEMS_REGISTRAR_OBSERVED_OPS_H_
