#include "flaggems/registrar/observer.h"

#include <ATen/core/boxing/KernelFunction.h>

#include <utility>

#include "absl/strings/str_cat.h"
#include "flaggems/aten/op_traits_of.h"
#include "flaggems/check/checked_kernel.h"
#include "flaggems/core/status_macros.h"
#include "flaggems/reference/native_cpu_reference.h"
#include "flaggems/reference/reference_source.h"
#include "flaggems/registrar/dispatcher_slot.h"
#include "flaggems/registrar/installed_check.h"
#include "flaggems/registry/gate.h"

namespace flaggems {
namespace {

// The kernel that was there, which the dispatcher hands out boxed only.
class ForwardingKernel final : public c10::OperatorKernel {
 public:
  explicit ForwardingKernel(c10::SafeKernelFunction kernel)
      : kernel_(std::move(kernel)) {}

  void operator()(const c10::OperatorHandle& op, c10::DispatchKeySet keys,
                  torch::jit::Stack* stack) {
    kernel_.callBoxed(op, keys, stack);
  }

 private:
  const c10::SafeKernelFunction kernel_;
};

class ObservedKernel final : public c10::OperatorKernel {
 public:
  explicit ObservedKernel(std::shared_ptr<const CheckedOp> op)
      : op_(std::move(op)) {}

  void operator()(const c10::OperatorHandle& handle, c10::DispatchKeySet keys,
                  torch::jit::Stack* stack) {
    if (op_->gate->TryForward()) {
      op_->kernel.callBoxed(handle, keys, stack);
    } else {
      op_->gate->checked_kernel().callBoxed(handle, keys, stack);
    }
  }

 private:
  const std::shared_ptr<const CheckedOp> op_;
};

}  // namespace

bool IsObservable(const c10::OperatorHandle& op, c10::DispatchKey key) {
  if (!op.hasSchema() || !op.hasComputedKernelForDispatchKey(key)) return false;
  return op.hasKernelForDispatchKey(key) ||
         op.hasKernelForDispatchKey(
             c10::DispatchKey::CompositeExplicitAutograd) ||
         op.hasKernelForDispatchKey(
             c10::DispatchKey::CompositeExplicitAutogradNonFunctional);
}

absl::StatusOr<std::unique_ptr<InstalledKernel>> InstallObserver(
    const c10::OperatorHandle& handle, c10::DispatchKey key,
    CheckRuntime* runtime) {
  const OpKey op_key = OpKeyOf(handle);
  if (!handle.hasComputedKernelForDispatchKey(key)) {
    return absl::NotFoundError(absl::StrCat(
        op_key.ToString(), " has no kernel for ", c10::toString(key)));
  }
  FG_ASSIGN_OR_RETURN(std::unique_ptr<DispatcherSlot> slot,
                      DispatcherSlot::Reserve(op_key, key, "an observer"));
  c10::SafeKernelFunction kernel = handle.getComputedKernelForDispatchKey(key);
  auto op = std::make_shared<CheckedOp>(handle);
  op->native = NativeKernel(handle, key);
  op->judged.native = op->native != nullptr &&
                      op->native->debug() == kernel.debug() &&
                      IsTorchsOwn(kernel.debug());
  op->judged.reference = ReferenceFor(handle, key, kernel.debug());
  op->ledger = runtime->ledgers().Get(op_key);
  op->gate = std::make_shared<Gate>(
      handle, op->ledger->counter(Verdict::kSkipDisabled));
  op->kernel = c10::KernelFunction::makeFromBoxedFunctor(
      std::make_unique<ForwardingKernel>(std::move(kernel)));
  op->gate->set_checked_kernel(MakeCheckedKernel(op, runtime));
  FG_RETURN_IF_ERROR(slot->Fill(c10::KernelFunction::makeFromBoxedFunctor(
      std::make_unique<ObservedKernel>(op))));
  runtime->Add(op);
  return std::make_unique<InstalledCheck>(std::move(slot), op, runtime);
}

}  // namespace flaggems
