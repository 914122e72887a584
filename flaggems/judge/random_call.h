#ifndef FLAGGEMS_JUDGE_RANDOM_CALL_H_
#define FLAGGEMS_JUDGE_RANDOM_CALL_H_

// Calls whose results depend on random numbers.

#include <ATen/core/function_schema.h>
#include <ATen/core/ivalue.h>

#include <optional>

#include "absl/types/span.h"

namespace flaggems {

// The argument dropout_p (or dropout); nullopt if the schema has none. With 0
// nothing is random. Else a mask is drawn, or was: backward operators draw
// again what their seed says, which only the device's own generator can.
std::optional<double> DropoutOf(const c10::FunctionSchema& schema,
                                absl::Span<const c10::IValue> arguments);

}  // namespace flaggems

#endif  // FLAGGEMS_JUDGE_RANDOM_CALL_H_
