#include "flaggems/judge/kernel_call.h"

#include "absl/strings/match.h"
#include "flaggems/aten/find_argument.h"
#include "flaggems/aten/op_traits_of.h"

namespace flaggems {

JudgedOp::JudgedOp(const c10::OperatorHandle& op)
    : handle(op), traits(OpTraitsOf(op)), writable(WritableArguments(op)) {}

int64_t MarginOf(const JudgedOp& op) {
  // A cache line or two of any tile that a kernel may write too much.
  constexpr int64_t kBeside = 1024;
  // as_strided counts its offset from the start of the storage, whatever its
  // argument reaches of it.
  return absl::StartsWith(op.traits.key.name, "as_strided") ? kWholeStorage
                                                            : kBeside;
}

const c10::IValue* FindArgument(const KernelCall& call,
                                absl::string_view name) {
  return FindArgument(call.op.handle.schema(), call.before.arguments(), name);
}

}  // namespace flaggems
