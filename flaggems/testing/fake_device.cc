#include "flaggems/testing/fake_device.h"

#include <ATen/EmptyTensor.h>
#include <ATen/NativeFunctions.h>
#include <ATen/core/CachingHostAllocator.h>
#include <ATen/core/LegacyTypeDispatch.h>
#include <ATen/detail/PrivateUse1HooksInterface.h>
#include <c10/core/Allocator.h>
#include <c10/core/CPUAllocator.h>
#include <c10/core/impl/DeviceGuardImplInterface.h>
#include <torch/library.h>

#include <atomic>
#include <cstdlib>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

namespace flaggems {
namespace {

std::atomic<int64_t> device_to_host_copies{0};

c10::Device FakeDevice() {
  return c10::Device(c10::DeviceType::PrivateUse1, 0);
}

class FakeAllocator final : public c10::Allocator {
 public:
  c10::DataPtr allocate(size_t size) override {
    void* data = size == 0 ? nullptr : std::malloc(size);
    return {data, data, &std::free, FakeDevice()};
  }
  c10::DeleterFnPtr raw_deleter() const override { return &std::free; }
  void copy_data(void* to, const void* from, size_t size) const override {
    default_copy_data(to, from, size);
  }
};

FakeAllocator fake_allocator;
REGISTER_ALLOCATOR(c10::DeviceType::PrivateUse1, &fake_allocator);

// What the device has to do while it is held, in order.
std::mutex held_mutex;
bool held = false;
std::vector<std::function<void()>> held_work;

thread_local c10::StreamId current_stream = 0;

// False: the caller does it, the device is not held.
bool HoldBack(std::function<void()> work) {
  const std::lock_guard<std::mutex> lock(held_mutex);
  if (!held) return false;
  held_work.push_back(std::move(work));
  return true;
}

using Event = std::shared_ptr<std::atomic<bool>>;  // whether it happened

class FakeGuardImpl final
    : public c10::impl::NoOpDeviceGuardImpl<c10::DeviceType::PrivateUse1> {
 public:
  c10::Device exchangeDevice(c10::Device) const override {
    return FakeDevice();
  }
  c10::Device getDevice() const override { return FakeDevice(); }
  c10::Stream getStream(c10::Device) const noexcept override {
    return StreamOf(current_stream);
  }
  c10::Stream getStreamFromGlobalPool(c10::Device, bool) const override {
    return StreamOf(1);
  }
  c10::Stream exchangeStream(c10::Stream stream) const noexcept override {
    return StreamOf(std::exchange(current_stream, stream.id()));
  }

  void record(void** event, const c10::Stream& stream, c10::DeviceIndex,
              c10::EventFlag) const override {
    if (*event == nullptr) *event = new Event();
    Event& happened = *static_cast<Event*>(*event);
    happened = std::make_shared<std::atomic<bool>>(false);
    if (stream.id() == 0 || !HoldBack([happened] { *happened = true; })) {
      *happened = true;
    }
  }
  void block(void*, const c10::Stream&) const override {}
  bool queryEvent(void* event) const override {
    return **static_cast<Event*>(event);
  }
  void synchronizeEvent(void* event) const override {
    if (!queryEvent(event)) HeldFakeDevice::Release();
  }
  void destroyEvent(void* event, c10::DeviceIndex) const noexcept override {
    delete static_cast<Event*>(event);
  }

 private:
  static c10::Stream StreamOf(c10::StreamId id) {
    return c10::Stream(c10::Stream::UNSAFE, FakeDevice(), id);
  }
};

C10_REGISTER_GUARD_IMPL(PrivateUse1, FakeGuardImpl);

at::Tensor Empty(c10::IntArrayRef size, std::optional<c10::ScalarType> dtype,
                 std::optional<c10::Layout>, std::optional<c10::Device>,
                 std::optional<bool>,
                 std::optional<c10::MemoryFormat> memory_format) {
  return at::detail::empty_generic(
      size, &fake_allocator, c10::DispatchKeySet(c10::DispatchKey::PrivateUse1),
      c10::dtype_or_default(dtype), memory_format);
}

at::Tensor EmptyStrided(c10::IntArrayRef size, c10::IntArrayRef stride,
                        std::optional<c10::ScalarType> dtype,
                        std::optional<c10::Layout>, std::optional<c10::Device>,
                        std::optional<bool>) {
  return at::detail::empty_strided_generic(
      size, stride, &fake_allocator,
      c10::DispatchKeySet(c10::DispatchKey::PrivateUse1),
      c10::dtype_or_default(dtype));
}

at::Tensor Alias(const at::Tensor& tensor) {
  return tensor.device().is_cpu() ? tensor : CpuAliasOf(tensor);
}

at::Tensor CopyFrom(const at::Tensor& self, const at::Tensor& to,
                    bool non_blocking) {
  const bool to_host = !self.device().is_cpu() && to.device().is_cpu();
  if (to_host) ++device_to_host_copies;
  if (to_host && non_blocking && current_stream != 0 && HoldBack([self, to] {
        const at::AutoDispatchBelowADInplaceOrView below_autograd;
        to.copy_(Alias(self));
      })) {
    return to;
  }
  Alias(to).copy_(Alias(self));
  return to;
}

at::Tensor AsStrided(const at::Tensor& self, c10::IntArrayRef size,
                     c10::IntArrayRef stride, std::optional<int64_t> offset) {
  return at::native::as_strided_tensorimpl(self, size, stride, offset);
}

at::Tensor View(const at::Tensor& self, c10::IntArrayRef size) {
  return at::native::view(self, size);
}

TORCH_LIBRARY_IMPL(aten, PrivateUse1, m) {
  m.impl("empty.memory_format", &Empty);
  m.impl("empty_strided", &EmptyStrided);
  m.impl("_copy_from", &CopyFrom);
  m.impl("as_strided", &AsStrided);
  m.impl("view", &View);
}

}  // namespace

at::Tensor ToFakeDevice(const at::Tensor& tensor) {
  return tensor.to(FakeDevice());
}

at::Tensor CpuAliasOf(const at::Tensor& tensor) {
  at::Tensor alias = at::detail::make_tensor<c10::TensorImpl>(
      c10::Storage(
          c10::Storage::use_byte_size_t(), tensor.storage().nbytes(),
          c10::DataPtr(tensor.storage().mutable_data(), c10::Device(c10::kCPU)),
          /*allocator=*/nullptr, /*resizable=*/false),
      c10::DispatchKeySet(c10::DispatchKey::CPU), tensor.dtype());
  alias.unsafeGetTensorImpl()->set_sizes_and_strides(
      tensor.sizes(), tensor.strides(), tensor.storage_offset());
  return alias;
}

HeldFakeDevice::HeldFakeDevice() {
  const std::lock_guard<std::mutex> lock(held_mutex);
  held = true;
}

HeldFakeDevice::~HeldFakeDevice() {
  Release();
  const std::lock_guard<std::mutex> lock(held_mutex);
  held = false;
}

void HeldFakeDevice::Release() {
  std::vector<std::function<void()>> work;
  {
    const std::lock_guard<std::mutex> lock(held_mutex);
    work.swap(held_work);
  }
  for (const auto& item : work) item();
}

int64_t FakeDeviceToHostCopies() { return device_to_host_copies; }

}  // namespace flaggems
