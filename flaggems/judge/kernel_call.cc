#include "flaggems/judge/kernel_call.h"

#include "flaggems/aten/find_argument.h"
#include "flaggems/aten/op_traits_of.h"

namespace flaggems {

JudgedOp::JudgedOp(const c10::OperatorHandle& op)
    : handle(op), traits(OpTraitsOf(op)), writable(WritableArguments(op)) {}

const c10::IValue* FindArgument(const KernelCall& call,
                                absl::string_view name) {
  return FindArgument(call.op.handle.schema(), call.before.arguments(), name);
}

}  // namespace flaggems
