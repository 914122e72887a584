#include "flaggems/judge/kernel_call.h"

#include "flaggems/aten/op_traits_of.h"

namespace flaggems {

JudgedOp::JudgedOp(const c10::OperatorHandle& op)
    : handle(op), traits(OpTraitsOf(op)), writable(WritableArguments(op)) {}

const c10::IValue* FindArgument(const KernelCall& call,
                                absl::string_view name) {
  const auto& arguments = call.op.handle.schema().arguments();
  for (size_t i = 0; i < arguments.size(); ++i) {
    if (arguments[i].name() == name) return &call.before.arguments()[i];
  }
  return nullptr;
}

}  // namespace flaggems
