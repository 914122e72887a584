#include "flaggems/aten/flat_memory.h"

#include <ATen/ops/empty.h>
#include <c10/core/Allocator.h>
#include <c10/core/Storage.h>
#include <c10/core/TensorImpl.h>

#include <array>
#include <atomic>
#include <utility>

namespace flaggems {
namespace {

std::array<std::atomic<const DeviceCopier*>,
           static_cast<size_t>(c10::COMPILE_TIME_MAX_DEVICE_TYPES)>
    copiers{};

}  // namespace

at::Tensor EmptyFlat(int64_t numel, c10::ScalarType type, c10::Device device) {
  if (device.is_cpu()) return at::empty({numel}, at::TensorOptions(type));
  c10::Allocator* const allocator = c10::GetAllocator(device.type());
  const auto nbytes = static_cast<size_t>(numel) * c10::elementSize(type);
  c10::Storage storage(c10::Storage::use_byte_size_t(), nbytes,
                       allocator->allocate(nbytes), allocator,
                       /*resizable=*/true);
  const c10::DispatchKeySet keys(
      c10::computeDispatchKey(type, c10::kStrided, device));
  at::Tensor tensor = at::detail::make_tensor<c10::TensorImpl>(
      std::move(storage), keys, c10::scalarTypeToTypeMeta(type));
  tensor.unsafeGetTensorImpl()->set_sizes_contiguous({numel});
  return tensor;
}

void RegisterDeviceCopier(c10::DeviceType type, const DeviceCopier* copier) {
  copiers[static_cast<size_t>(type)].store(copier, std::memory_order_release);
}

const DeviceCopier* DeviceCopierFor(c10::DeviceType type) {
  return copiers[static_cast<size_t>(type)].load(std::memory_order_acquire);
}

}  // namespace flaggems
