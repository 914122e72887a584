#include "flaggems/kernels/cuda/launch.h"

#include <ATen/core/op_registration/adaption.h>
#include <c10/cuda/CUDACachingAllocator.h>
#include <c10/cuda/CUDAException.h>
#include <c10/cuda/CUDAFunctions.h>
#include <c10/cuda/CUDAStream.h>
#include <c10/util/Exception.h>

#include <array>
#include <atomic>

namespace flaggems {
namespace kernels {
namespace cuda {
namespace {

int Attribute(cudaDeviceAttr attribute, int device) {
  int value = 0;
  C10_CUDA_CHECK(cudaDeviceGetAttribute(&value, attribute, device));
  return value;
}

DeviceLimits ReadLimits(int device) {
  return {Attribute(cudaDevAttrMultiProcessorCount, device),
          10 * Attribute(cudaDevAttrComputeCapabilityMajor, device) +
              Attribute(cudaDevAttrComputeCapabilityMinor, device)};
}

}  // namespace

void ThrowNotImplemented(at::ScalarType dtype, const char* op) {
  TORCH_CHECK_NOT_IMPLEMENTED(false, '"', op, "\" not implemented for '",
                              c10::toString(dtype), "'");
}

std::optional<Element> TryElementOf(at::ScalarType dtype) {
  switch (dtype) {
    case at::kFloat:
      return Element::kFloat32;
    case at::kHalf:
      return Element::kFloat16;
    case at::kBFloat16:
      return Element::kBFloat16;
    case at::kDouble:
      return Element::kFloat64;
    case at::kLong:
      return Element::kInt64;
    case at::kInt:
      return Element::kInt32;
    case at::kShort:
      return Element::kInt16;
    case at::kChar:
      return Element::kInt8;
    case at::kByte:
      return Element::kUInt8;
    case at::kBool:
      return Element::kBool;
    default:
      return std::nullopt;
  }
}

Element ElementOf(at::ScalarType dtype, const char* op) {
  const std::optional<Element> element = TryElementOf(dtype);
  if (!element.has_value()) ThrowNotImplemented(dtype, op);
  return *element;
}

void CheckLaunch(cudaError_t error, at::ScalarType dtype, const char* op) {
  if (C10_LIKELY(error == cudaSuccess)) return;
  if (error == cudaErrorNotSupported) ThrowNotImplemented(dtype, op);
  C10_CUDA_CHECK(error);
}

int CurrentDevice(const char* op) {
  const int device = c10::cuda::current_device();
  TORCH_CHECK(device < kMaxDevices, op, *op == 0 ? "" : ": ",
              "device cuda:", device, " is beyond the ", kMaxDevices,
              " devices that kernels support");
  return device;
}

const DeviceLimits& CurrentDeviceLimits() {
  // One pointer a device, set once; a race reads the same numbers twice.
  static std::array<std::atomic<const DeviceLimits*>, kMaxDevices> limits{};
  const int device = CurrentDevice("");
  const DeviceLimits* known = limits[device].load(std::memory_order_acquire);
  if (known == nullptr) {
    const DeviceLimits* read = new DeviceLimits(ReadLimits(device));
    if (limits[device].compare_exchange_strong(known, read,
                                               std::memory_order_acq_rel)) {
      return *read;
    }
    delete read;
  }
  return *known;
}

DeviceStream::DeviceStream(const at::Tensor& tensor)
    : guard_(tensor.device()),
      stream_(c10::cuda::getCurrentCUDAStream(tensor.device().index())) {}

Scratch::Scratch(size_t bytes)
    : data_(c10::cuda::CUDACachingAllocator::get()->allocate(bytes)) {}

void CheckSameDevice(const char* op,
                     std::initializer_list<Argument> arguments) {
  std::optional<at::Device> common;
  for (const Argument& argument : arguments) {
    c10::impl::check_and_update_common_device(common, argument.tensor, op,
                                              argument.name);
  }
}

}  // namespace cuda
}  // namespace kernels
}  // namespace flaggems
