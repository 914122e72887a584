#ifndef FLAGGEMS_ATEN_FIND_ARGUMENT_H_
#define FLAGGEMS_ATEN_FIND_ARGUMENT_H_

#include <ATen/core/function_schema.h>
#include <ATen/core/ivalue.h>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"

namespace flaggems {

// The value of the argument of that name; null if the schema has none.
// `arguments` has one value an argument.
const c10::IValue* FindArgument(const c10::FunctionSchema& schema,
                                absl::Span<const c10::IValue> arguments,
                                absl::string_view name);

}  // namespace flaggems

#endif  // FLAGGEMS_ATEN_FIND_ARGUMENT_H_
