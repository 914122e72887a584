#include "flaggems/reference/reference_source.h"

#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "flaggems/aten/op_traits_of.h"
#include "flaggems/reference/goldens/shipped.h"
#include "flaggems/reference/native_cpu_reference.h"

namespace flaggems {
namespace {

// What descriptions of torch's compiled kernels begin with, "registered at
// /pytorch/", derived from operators that nearly nobody overrides, so that it
// holds for any build. Empty: not found, no kernel is torch's then.
std::string TorchPrefix() {
  for (const char* name :
       {"aten::set_.source_Storage_storage_offset", "aten::_local_scalar_dense",
        "aten::as_strided", "aten::empty.memory_format", "aten::add.Tensor"}) {
    const absl::StatusOr<OpKey> key = OpKey::Parse(name);
    const auto op = key.ok() ? FindOperator(*key) : std::nullopt;
    const auto kernel = op ? NativeKernel(*op, c10::DispatchKey::CPU) : nullptr;
    if (kernel == nullptr) continue;
    for (const char* generated :
         {"build/aten/src/ATen/RegisterCPU", "aten/src/ATen/RegisterCPU"}) {
      const size_t at = kernel->debug().find(generated);
      if (at != std::string::npos && at > 0)
        return kernel->debug().substr(0, at);
    }
  }
  return "";
}

bool IsCpuKey(c10::DispatchKey key) {
  return key == c10::DispatchKey::CPU ||
         c10::toBackendComponent(key) == c10::BackendComponent::CPUBit;
}

constexpr char kRegister[] = "register a golden function";

}  // namespace

bool IsTorchsOwn(absl::string_view kernel) {
  static const std::string& prefix = *new std::string(TorchPrefix());
  return !prefix.empty() && absl::StartsWith(kernel, prefix);
}

std::shared_ptr<const Reference> ReferenceSource::Get() const {
  if (golden_ != nullptr) {
    if (std::shared_ptr<const Reference> golden = golden_->Get()) return golden;
  }
  return fallback_;
}

std::string ReferenceSource::why_none() const {
  return Get() == nullptr ? why_none_ : "";
}

ReferenceSource ReferenceFor(const c10::OperatorHandle& op,
                             c10::DispatchKey key, absl::string_view kernel) {
  InstallShippedGoldens();
  const GoldenSlot& golden = GoldenSlot::Of(OpKeyOf(op));
  const auto captured = NativeKernel(op, c10::DispatchKey::CPU);
  if (captured == nullptr) {
    return {&golden, nullptr,
            absl::StrCat("it has no CPU kernel: ", kRegister)};
  }
  if (IsCpuKey(key) && kernel == captured->debug() && !IsTorchsOwn(kernel)) {
    return {
        &golden, nullptr,
        absl::StrCat("its only CPU kernel is the one under test, or was there "
                     "before this library: ",
                     kRegister)};
  }
  absl::StatusOr<std::shared_ptr<const Reference>> native =
      NativeCpuReference(op);
  if (!native.ok()) {
    return {&golden, nullptr,
            absl::StrCat(native.status().message(), ": ", kRegister)};
  }
  return {&golden, *std::move(native), ""};
}

std::shared_ptr<const Reference> DeviceReferenceFor(
    const c10::OperatorHandle& op, c10::DispatchKey key,
    absl::string_view kernel) {
  if (IsCpuKey(key)) return nullptr;
  const auto captured = NativeKernel(op, key);
  if (captured == nullptr) return nullptr;
  if (kernel == captured->debug() && !IsTorchsOwn(kernel)) return nullptr;
  return NativeDeviceReference(op, key);
}

}  // namespace flaggems
