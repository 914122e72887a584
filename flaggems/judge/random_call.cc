#include "flaggems/judge/random_call.h"

#include "absl/strings/string_view.h"
#include "flaggems/aten/find_argument.h"

namespace flaggems {

std::optional<double> DropoutOf(const c10::FunctionSchema& schema,
                                absl::Span<const c10::IValue> arguments) {
  for (const absl::string_view name : {"dropout_p", "dropout"}) {
    const c10::IValue* const p = FindArgument(schema, arguments, name);
    if (p != nullptr && p->isDouble()) return p->toDouble();
  }
  return std::nullopt;
}

}  // namespace flaggems
