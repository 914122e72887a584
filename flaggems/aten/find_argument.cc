#include "flaggems/aten/find_argument.h"

namespace flaggems {

const c10::IValue* FindArgument(const c10::FunctionSchema& schema,
                                absl::Span<const c10::IValue> arguments,
                                absl::string_view name) {
  for (size_t i = 0; i < arguments.size(); ++i) {
    if (schema.arguments()[i].name() == name) return &arguments[i];
  }
  return nullptr;
}

}  // namespace flaggems
