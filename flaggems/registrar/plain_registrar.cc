#include "flaggems/registrar/plain_registrar.h"

#include <utility>

#include "flaggems/core/status_macros.h"
#include "flaggems/reference/native_cpu_reference.h"
#include "flaggems/registrar/dispatcher_slot.h"
#include "flaggems/registrar/native_fallback.h"

namespace flaggems {
namespace {

class InstalledPlainKernel : public InstalledKernel {
 public:
  explicit InstalledPlainKernel(std::unique_ptr<DispatcherSlot> slot)
      : slot_(std::move(slot)) {}

 private:
  const std::unique_ptr<DispatcherSlot> slot_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<InstalledKernel>> PlainRegistrar::Install(
    const KernelRegistry::Kernel& kernel) {
  FG_ASSIGN_OR_RETURN(
      std::unique_ptr<DispatcherSlot> slot,
      DispatcherSlot::Reserve(kernel.key, DispatchKeyOf(kernel.entry->backend),
                              KernelOrigin(*kernel.entry)));
  // Captured now, so that a later observer still finds the native kernel.
  auto native = FallbackTo(
      slot->op(),
      NativeKernel(slot->op(), DispatchKeyOf(kernel.entry->backend)));
  FG_RETURN_IF_ERROR(slot->Fill(kernel.entry->make_plain(std::move(native))));
  return std::make_unique<InstalledPlainKernel>(std::move(slot));
}

}  // namespace flaggems
