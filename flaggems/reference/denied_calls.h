#ifndef FLAGGEMS_REFERENCE_DENIED_CALLS_H_
#define FLAGGEMS_REFERENCE_DENIED_CALLS_H_

// Calls that no reference may make: torch's own CPU kernel ends the process, or
// does not come back.

#include <ATen/core/function_schema.h>
#include <ATen/core/ivalue.h>

#include <optional>
#include <string>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "flaggems/core/op_key.h"

namespace flaggems {

// How a call is recognised by its arguments.
enum class DeniedIf {
  kEvalWithoutStatistics,   // not training, and a running_ tensor is missing
  kTrainWithoutStatistics,  // training, and a save_ tensor is missing
  kBelow,                   // an element of `argument` is below `bound`
  kAbove,                   // one is above it
};

struct DeniedRow {
  absl::string_view op;  // in-place and out forms are as their functional form
  DeniedIf condition;
  absl::string_view argument;
  double bound;
  absl::string_view why;
};

absl::Span<const DeniedRow> DeniedRows();

// Why the call must not be computed again; nullopt: it may be. `arguments` are
// on the CPU. Costs a look-up by name, and for the rows with a bound a pass
// over that argument. Does not throw; the caller holds a CheckScope.
std::optional<std::string> DeniedReason(
    const OpKey& op, const c10::FunctionSchema& schema,
    absl::Span<const c10::IValue> arguments);

}  // namespace flaggems

#endif  // FLAGGEMS_REFERENCE_DENIED_CALLS_H_
