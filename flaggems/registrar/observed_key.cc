#include "flaggems/registrar/observed_key.h"

#include <c10/core/Device.h>
#include <c10/core/DispatchKeySet.h>
#include <c10/core/TensorOptions.h>
#include <c10/core/impl/DeviceGuardImplInterface.h>

#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "flaggems/aten/status_of_exception.h"

namespace flaggems {
namespace {

std::optional<c10::DispatchKey> KeyByName(const std::string& name) {
  absl::StatusOr<c10::DispatchKey> key =
      StatusOrOf([&]() -> absl::StatusOr<c10::DispatchKey> {
        return c10::parseDispatchKey(name);
      });
  return key.ok() ? std::optional<c10::DispatchKey>(*key) : std::nullopt;
}

}  // namespace

absl::StatusOr<c10::DispatchKey> ObservedKey(absl::string_view device) {
  const std::string name(device);
  std::optional<c10::DispatchKey> key = KeyByName(name);
  if (!key) {
    const absl::StatusOr<c10::Device> parsed = StatusOrOf(
        [&]() -> absl::StatusOr<c10::Device> { return c10::Device(name); });
    if (!parsed.ok()) {
      return absl::InvalidArgumentError(
          absl::StrCat("device is \"", name,
                       "\"; it must be a device type (\"cpu\", \"cuda\", ...) "
                       "or a backend's "
                       "dispatch key (\"SparseCPU\", ...)"));
    }
    if (parsed->has_index()) {
      return absl::InvalidArgumentError(
          absl::StrCat("device is \"", name,
                       "\"; kernels are the same for all devices of a type: "
                       "give it without an index"));
    }
    key = c10::computeDispatchKey(std::nullopt, std::nullopt, *parsed);
  }
  if (!c10::isBackendDispatchKey(*key) || *key == c10::DispatchKey::Meta) {
    return absl::InvalidArgumentError(
        absl::StrCat("device is \"", name,
                     "\": kernels of this dispatch key compute no numbers; "
                     "give that of a backend (\"cpu\", \"cuda\", ...)"));
  }
  return *key;
}

bool HasDevice(c10::DispatchKey key) {
  const c10::DeviceType type = c10::dispatchKeyToDeviceType(key);
  if (type == c10::DeviceType::CPU) return true;
  if (!c10::impl::hasDeviceGuardImpl(type)) return false;
  return c10::impl::getDeviceGuardImpl(type)->deviceCount() > 0;
}

}  // namespace flaggems
