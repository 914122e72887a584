// Between at::Tensor and the launch functions: what every op_<name>.cc of this
// folder needs.

#ifndef FLAGGEMS_KERNELS_CUDA_LAUNCH_H_
#define FLAGGEMS_KERNELS_CUDA_LAUNCH_H_

#include <ATen/core/Tensor.h>
#include <c10/core/ScalarType.h>
#include <c10/cuda/CUDAGuard.h>
#include <cuda_runtime_api.h>

#include <cstddef>
#include <initializer_list>
#include <optional>

#include "flaggems/kernels/cuda/element.h"

namespace flaggems {
namespace kernels {
namespace cuda {

// Throws NotImplementedError, as native aten does, naming the operator:
// "\"exp_cuda\" not implemented for 'ComplexFloat'".
[[noreturn]] void ThrowNotImplemented(at::ScalarType dtype, const char* op);

// The Element of a dtype; nullopt for one that no kernel here has (complex,
// float8, uint16 and wider, quantised).
std::optional<Element> TryElementOf(at::ScalarType dtype);

// The same; throws ThrowNotImplemented's error.
Element ElementOf(at::ScalarType dtype, const char* op);

// Throws what a launch returned: nothing for cudaSuccess, ThrowNotImplemented's
// error for cudaErrorNotSupported (the dtype is not among the kernel's),
// torch's c10::AcceleratorError otherwise. Costs one comparison; never
// synchronises.
void CheckLaunch(cudaError_t error, at::ScalarType dtype, const char* op);

// What is kept for each device has so many places.
inline constexpr int kMaxDevices = 64;

// The current device; throws if it is beyond kMaxDevices, naming `op` unless
// that is empty.
int CurrentDevice(const char* op);

// Multiprocessors, and other numbers that choose a launch; read once a device.
struct DeviceLimits {
  int multiprocessors;
  int capability;  // 90 for 9.0
};
const DeviceLimits& CurrentDeviceLimits();

// Makes `tensor`'s device current and holds the stream that the launch goes to.
//
//   const DeviceStream on(self);
//   CheckLaunch(LaunchExp(..., on.stream()), dtype, "exp_cuda");
class DeviceStream {
 public:
  explicit DeviceStream(const at::Tensor& tensor);
  cudaStream_t stream() const { return stream_; }

 private:
  c10::cuda::OptionalCUDAGuard guard_;
  cudaStream_t stream_;
};

// Scratch memory of the caching allocator, in the order of the current stream;
// given back (to the allocator, not the driver) when the object goes.
class Scratch {
 public:
  explicit Scratch(size_t bytes);
  void* data() const { return data_.get(); }

 private:
  at::DataPtr data_;
};

// A tensor argument and its name in the schema; an undefined tensor is none.
struct Argument {
  const at::Tensor& tensor;
  const char* name;
};

// Throws native aten's error ("Expected all tensors to be on the same device,
// but got index is on cpu, different from other tensors on cuda:0 ...") unless
// all are on one device, as the generated code in front of native kernels does.
// For kernels without TensorIterator, which checks by itself.
void CheckSameDevice(const char* op, std::initializer_list<Argument> arguments);

}  // namespace cuda
}  // namespace kernels
}  // namespace flaggems

#endif  // FLAGGEMS_KERNELS_CUDA_LAUNCH_H_
