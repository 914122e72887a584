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

size_t BytesOf(int64_t numel, c10::ScalarType type) {
  return static_cast<size_t>(numel) * c10::elementSize(type);
}

at::Tensor FlatIn(c10::DataPtr data, int64_t numel, c10::ScalarType type,
                  c10::Device device, c10::Allocator* allocator) {
  c10::Storage storage(c10::Storage::use_byte_size_t(), BytesOf(numel, type),
                       std::move(data), allocator, /*resizable=*/true);
  const c10::DispatchKeySet keys(
      c10::computeDispatchKey(type, c10::kStrided, device));
  at::Tensor tensor = at::detail::make_tensor<c10::TensorImpl>(
      std::move(storage), keys, c10::scalarTypeToTypeMeta(type));
  tensor.unsafeGetTensorImpl()->set_sizes_contiguous({numel});
  return tensor;
}

}  // namespace

at::Tensor EmptyFlat(int64_t numel, c10::ScalarType type, c10::Device device) {
  if (device.is_cpu()) return at::empty({numel}, at::TensorOptions(type));
  c10::Allocator* const allocator = c10::GetAllocator(device.type());
  return FlatIn(allocator->allocate(BytesOf(numel, type)), numel, type, device,
                allocator);
}

struct FlatArena::Block {
  c10::DataPtr data;
  std::atomic<int64_t> users;  // the arena, and each tensor
};

int64_t FlatArena::RoomFor(int64_t nbytes) {
  // As allocators of devices align.
  constexpr int64_t kAlignment = 512;
  return (nbytes + kAlignment - 1) / kAlignment * kAlignment;
}

void FlatArena::Leave(void* block) {
  auto* const left = static_cast<Block*>(block);
  if (left->users.fetch_sub(1, std::memory_order_acq_rel) == 1) delete left;
}

FlatArena::~FlatArena() {
  if (block_ != nullptr) Leave(block_);
}

at::Tensor FlatArena::Take(int64_t numel, c10::ScalarType type) {
  // Of more, an allocation takes a small part of the time, and a tensor that
  // outlives the others would hold too much.
  constexpr int64_t kMaxRoom = int64_t{8} << 20;
  const int64_t room = RoomFor(static_cast<int64_t>(BytesOf(numel, type)));
  const bool alone = block_ == nullptr && room >= room_;
  if (device_.is_cpu() || numel == 0 || alone || room_ > kMaxRoom ||
      room > room_ - taken_) {
    return EmptyFlat(numel, type, device_);
  }
  c10::Allocator* const allocator = c10::GetAllocator(device_.type());
  if (block_ == nullptr) {
    block_ = new Block{allocator->allocate(static_cast<size_t>(room_)), 1};
  }
  void* const data = static_cast<char*>(block_->data.get()) + taken_;
  taken_ += room;
  block_->users.fetch_add(1, std::memory_order_relaxed);
  return FlatIn(c10::DataPtr(data, block_, &Leave, device_), numel, type,
                device_, allocator);
}

void RegisterDeviceCopier(c10::DeviceType type, const DeviceCopier* copier) {
  copiers[static_cast<size_t>(type)].store(copier, std::memory_order_release);
}

const DeviceCopier* DeviceCopierFor(c10::DeviceType type) {
  return copiers[static_cast<size_t>(type)].load(std::memory_order_acquire);
}

}  // namespace flaggems
