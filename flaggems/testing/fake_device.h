#ifndef FLAGGEMS_TESTING_FAKE_DEVICE_H_
#define FLAGGEMS_TESTING_FAKE_DEVICE_H_

// A device for tests: the PrivateUse1 backend over host memory. Linking this
// library registers its allocator and the few operators that moving tensors to
// it and back takes. Kernels under test run on the CPU alias of a tensor.

#include <ATen/core/Tensor.h>

#include <cstdint>

namespace flaggems {

// A copy of `tensor` on the fake device, strides kept as torch keeps them.
at::Tensor ToFakeDevice(const at::Tensor& tensor);

// A CPU tensor over the same memory as `tensor`, which is on the fake device.
at::Tensor CpuAliasOf(const at::Tensor& tensor);

// While one lives, the device does not get to what is put into streams of the
// pool: copies to the host that do not block, and events. A wait for one of
// them, Release() and the end let it do everything. One at a time.
class HeldFakeDevice {
 public:
  HeldFakeDevice();
  HeldFakeDevice(const HeldFakeDevice&) = delete;
  HeldFakeDevice& operator=(const HeldFakeDevice&) = delete;
  ~HeldFakeDevice();
  static void Release();
};

// How often memory was copied from the fake device to the host.
int64_t FakeDeviceToHostCopies();

}  // namespace flaggems

#endif  // FLAGGEMS_TESTING_FAKE_DEVICE_H_
