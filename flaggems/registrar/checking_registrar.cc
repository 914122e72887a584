#include "flaggems/registrar/checking_registrar.h"

#include <utility>

#include "flaggems/aten/op_traits_of.h"
#include "flaggems/check/checked_kernel.h"
#include "flaggems/core/status_macros.h"
#include "flaggems/reference/native_cpu_reference.h"
#include "flaggems/reference/reference_source.h"
#include "flaggems/registrar/dispatcher_slot.h"
#include "flaggems/registrar/installed_check.h"
#include "flaggems/registrar/native_fallback.h"

namespace flaggems {

CheckingRegistrar::CheckingRegistrar(CheckRuntime* runtime)
    : CheckingRegistrar(runtime, nullptr) {}

CheckingRegistrar::CheckingRegistrar(CheckRuntime* runtime,
                                     ReferenceFinder find_reference)
    : runtime_(runtime), find_reference_(std::move(find_reference)) {}

absl::StatusOr<std::unique_ptr<InstalledKernel>> CheckingRegistrar::Install(
    const KernelRegistry::Kernel& kernel) {
  FG_ASSIGN_OR_RETURN(
      std::unique_ptr<DispatcherSlot> slot,
      DispatcherSlot::Reserve(kernel.key, DispatchKeyOf(kernel.entry->backend),
                              KernelOrigin(*kernel.entry)));
  auto op = std::make_shared<CheckedOp>(slot->op());
  op->ledger = runtime_->ledgers().Get(kernel.key);
  op->gate = std::make_shared<Gate>(
      slot->op(), op->ledger->counter(Verdict::kSkipDisabled));
  op->native = NativeKernel(slot->op(), DispatchKeyOf(kernel.entry->backend));
  const auto native = FallbackTo(slot->op(), op->native);
  op->kernel = kernel.entry->make_plain(native).function;
  if (find_reference_ == nullptr) {
    op->judged.reference =
        ReferenceFor(slot->op(), DispatchKeyOf(kernel.entry->backend),
                     KernelOrigin(*kernel.entry));
    op->judged.device_reference =
        DeviceReferenceFor(slot->op(), DispatchKeyOf(kernel.entry->backend),
                           KernelOrigin(*kernel.entry));
  } else if (auto reference = find_reference_(slot->op()); reference.ok()) {
    op->judged.reference = ReferenceSource(*std::move(reference));
  }
  op->gate->set_checked_kernel(MakeCheckedKernel(op, runtime_));
  FG_RETURN_IF_ERROR(slot->Fill(kernel.entry->make_gated(op->gate, native)));
  runtime_->Add(op);
  return std::make_unique<InstalledCheck>(std::move(slot), op, runtime_);
}

}  // namespace flaggems
