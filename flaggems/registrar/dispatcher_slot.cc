#include "flaggems/registrar/dispatcher_slot.h"

#include <c10/util/Exception.h>

#include <optional>
#include <set>
#include <string>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "flaggems/aten/op_traits_of.h"
#include "flaggems/aten/status_of_exception.h"

namespace flaggems {
namespace {

// The dispatcher is one per process, so this list is too.
class ReservedSlots {
 public:
  static ReservedSlots& Instance() {
    static ReservedSlots& instance = *new ReservedSlots();
    return instance;
  }
  bool Add(const KernelRegistry::Kernel& kernel) {
    absl::MutexLock lock(&mutex_);
    return slots_.emplace(kernel.key, kernel.entry->backend).second;
  }
  void Remove(const KernelRegistry::Kernel& kernel) {
    absl::MutexLock lock(&mutex_);
    slots_.erase({kernel.key, kernel.entry->backend});
  }

 private:
  absl::Mutex mutex_;
  std::set<std::pair<OpKey, Backend>> slots_ ABSL_GUARDED_BY(mutex_);
};

class OverrideWarningFilter : public c10::WarningHandler {
 public:
  void process(const c10::Warning& warning) override {
    if (absl::StrContains(warning.msg(),
                          "Overriding a previously registered")) {
      return;
    }
    c10::WarningHandler::process(warning);
  }
};

}  // namespace

absl::StatusOr<std::unique_ptr<DispatcherSlot>> DispatcherSlot::Reserve(
    const KernelRegistry::Kernel& kernel) {
  const std::optional<c10::OperatorHandle> op = FindOperator(kernel.key);
  if (!op) {
    return absl::NotFoundError(absl::StrCat(
        "torch has no operator ", kernel.key.ToString(), " (registered at ",
        kernel.entry->file, ":", kernel.entry->line,
        "); check name and overload, or define its schema first"));
  }
  if (!ReservedSlots::Instance().Add(kernel)) {
    return absl::AlreadyExistsError(absl::StrCat(
        kernel.key.ToString(), " on ", BackendName(kernel.entry->backend),
        " is enabled already; destroy the Registration that enabled it first"));
  }
  return std::unique_ptr<DispatcherSlot>(new DispatcherSlot(kernel, *op));
}

DispatcherSlot::DispatcherSlot(KernelRegistry::Kernel kernel,
                               c10::OperatorHandle op)
    : kernel_(std::move(kernel)), op_(std::move(op)) {}

DispatcherSlot::~DispatcherSlot() {
  registration_.reset();
  ReservedSlots::Instance().Remove(kernel_);
}

absl::Status DispatcherSlot::Fill(InstallableKernel kernel) {
  OverrideWarningFilter filter;
  const c10::WarningUtils::WarningHandlerGuard guard(&filter);
  const absl::Status status = StatusOrOf([&] {
    registration_ = std::make_unique<c10::RegistrationHandleRAII>(
        c10::Dispatcher::singleton().registerImpl(
            op_.operator_name(), DispatchKeyOf(kernel_.entry->backend),
            std::move(kernel.function), kernel.signature,
            std::move(kernel.inferred_schema),
            absl::StrCat("flaggems, registered at ", kernel_.entry->file, ":",
                         kernel_.entry->line)));
    return absl::OkStatus();
  });
  if (status.ok()) return status;
  return absl::InvalidArgumentError(
      absl::StrCat(kernel_.entry->file, ":", kernel_.entry->line,
                   ": torch refuses this kernel for ", kernel_.key.ToString(),
                   ": ", status.message()));
}

}  // namespace flaggems
