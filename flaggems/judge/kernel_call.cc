#include "flaggems/judge/kernel_call.h"

#include "flaggems/aten/op_traits_of.h"

namespace flaggems {

JudgedOp::JudgedOp(const c10::OperatorHandle& op)
    : handle(op), traits(OpTraitsOf(op)), writable(WritableArguments(op)) {}

}  // namespace flaggems
