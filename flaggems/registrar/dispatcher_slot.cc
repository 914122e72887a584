#include "flaggems/registrar/dispatcher_slot.h"

#include <optional>
#include <set>
#include <string>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/strings/str_cat.h"
#include "flaggems/aten/op_traits_of.h"
#include "flaggems/aten/status_of_exception.h"
#include "flaggems/core/mutex.h"
#include "flaggems/registrar/override_warning.h"

namespace flaggems {
namespace {

// The dispatcher is one per process, so this list is too.
class ReservedSlots {
 public:
  static ReservedSlots& Instance() {
    static ReservedSlots& instance = *new ReservedSlots();
    return instance;
  }
  bool Add(const OpKey& op, c10::DispatchKey key) {
    const MutexLock lock(&mutex_);
    return slots_.emplace(op, key).second;
  }
  void Remove(const OpKey& op, c10::DispatchKey key) {
    const MutexLock lock(&mutex_);
    slots_.erase({op, key});
  }

 private:
  Mutex mutex_;
  std::set<std::pair<OpKey, c10::DispatchKey>> slots_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace

absl::StatusOr<std::unique_ptr<DispatcherSlot>> DispatcherSlot::Reserve(
    const OpKey& op_key, c10::DispatchKey key, std::string origin) {
  const std::optional<c10::OperatorHandle> op = FindOperator(op_key);
  if (!op) {
    return absl::NotFoundError(absl::StrCat(
        "torch has no operator ", op_key.ToString(), " (registered at ", origin,
        "); check name and overload, or define its schema first"));
  }
  if (!ReservedSlots::Instance().Add(op_key, key)) {
    return absl::AlreadyExistsError(absl::StrCat(
        op_key.ToString(), " on ", c10::toString(key),
        " is enabled already; destroy the Registration that enabled it first "
        "(flaggems.disable() in Python)"));
  }
  return std::unique_ptr<DispatcherSlot>(
      new DispatcherSlot(op_key, key, std::move(origin), *op));
}

DispatcherSlot::DispatcherSlot(OpKey op_key, c10::DispatchKey key,
                               std::string origin, c10::OperatorHandle op)
    : op_key_(std::move(op_key)),
      key_(key),
      origin_(std::move(origin)),
      op_(std::move(op)) {}

DispatcherSlot::~DispatcherSlot() {
  registration_.reset();
  ReservedSlots::Instance().Remove(op_key_, key_);
}

absl::Status DispatcherSlot::Fill(InstallableKernel kernel) {
  return Register(std::move(kernel.function), kernel.signature,
                  std::move(kernel.inferred_schema));
}

absl::Status DispatcherSlot::Fill(c10::KernelFunction kernel) {
  return Register(std::move(kernel), std::nullopt, nullptr);
}

absl::Status DispatcherSlot::Register(
    c10::KernelFunction function,
    std::optional<c10::impl::CppSignature> signature,
    std::unique_ptr<c10::FunctionSchema> schema) {
  const NoOverrideWarning no_warning;
  const absl::Status status = StatusOrOf([&] {
    registration_ = std::make_unique<c10::RegistrationHandleRAII>(
        c10::Dispatcher::singleton().registerImpl(
            op_.operator_name(), key_, std::move(function), signature,
            std::move(schema),
            absl::StrCat("flaggems, registered at ", origin_)));
    return absl::OkStatus();
  });
  if (status.ok()) return status;
  return absl::InvalidArgumentError(
      absl::StrCat(origin_, ": torch refuses this kernel for ",
                   op_key_.ToString(), ": ", status.message()));
}

}  // namespace flaggems
