#include "tools/precision/selftest/selftest_case.h"

#include <ATen/ATen.h>

#include <iterator>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "flaggems/reference/native_cpu_reference.h"

namespace flaggems::selftest {
namespace {

// The dispatcher materializes such bits before it calls the CPU kernel of an
// operator that does not handle them.
bool Handles(const c10::OperatorHandle& op, c10::DispatchKey bit) {
  return op.hasKernelForDispatchKey(bit);
}

}  // namespace

NativeCall::NativeCall(c10::OperatorHandle op,
                       std::shared_ptr<const c10::SafeKernelFunction> kernel)
    : op_(std::move(op)), kernel_(std::move(kernel)) {}

absl::StatusOr<NativeCall> NativeCall::Of(const char* op) {
  const std::string full_name = op;
  const size_t dot = full_name.find('.');
  const std::string overload =
      dot == std::string::npos ? "" : full_name.substr(dot + 1);
  const std::optional<c10::OperatorHandle> handle =
      c10::Dispatcher::singleton().findOp({full_name.substr(0, dot), overload});
  if (!handle.has_value() || !handle->hasSchema()) {
    return absl::NotFoundError(
        absl::StrCat("libtorch has no operator ", op,
                     "; name one of its own, with its overload"));
  }
  std::shared_ptr<const c10::SafeKernelFunction> kernel =
      NativeKernel(*handle, c10::DispatchKey::CPU);
  if (kernel == nullptr) {
    return absl::NotFoundError(
        absl::StrCat(op, " has no CPU kernel; name an operator that has one"));
  }
  return NativeCall(*handle, std::move(kernel));
}

void NativeCall::operator()(Stack* stack) const {
  for (c10::IValue& argument : *stack) {
    if (!argument.isTensor() || !argument.toTensor().defined()) continue;
    const at::Tensor tensor = argument.toTensor();
    if (tensor.is_conj() && !Handles(op_, c10::DispatchKey::Conjugate)) {
      argument = tensor.resolve_conj();
    }
    if (tensor.is_neg() && !Handles(op_, c10::DispatchKey::Negative)) {
      argument = argument.toTensor().resolve_neg();
    }
  }
  kernel_->callBoxed(kernel_->opHandle(),
                     c10::DispatchKeySet(c10::DispatchKey::CPU), stack);
}

void RunKernel(const SelftestCase& selftest_case, const NativeCall& native,
               Stack* stack) {
  const size_t count = native.op().schema().arguments().size();
  Stack own(std::make_move_iterator(stack->end() - count),
            std::make_move_iterator(stack->end()));
  stack->erase(stack->end() - count, stack->end());
  selftest_case.kernel(native, &own);
  stack->insert(stack->end(), std::make_move_iterator(own.begin()),
                std::make_move_iterator(own.end()));
}

}  // namespace flaggems::selftest
