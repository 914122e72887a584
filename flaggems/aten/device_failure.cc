#include "flaggems/aten/device_failure.h"

#include <c10/core/Stream.h>
#include <c10/core/impl/DeviceGuardImplInterface.h>

#include <atomic>
#include <cstddef>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "flaggems/aten/cuda_driver.h"

namespace flaggems {
namespace {

struct FailureRow {
  int code;  // CUresult, and cudaError_t with the same meaning
  absl::string_view reason;
};

// After these the process can do nothing more on the device (CUDA Driver API,
// "Data types used by CUDA driver", CUresult: "any further CUDA work will
// return the same error"). What a program can go on after is not here, such as
// a launch that was refused, or no memory.
constexpr FailureRow kFailures[] = {
    {4, "the driver has shut down"},
    {214, "memory of the device has an error that cannot be corrected (ECC)"},
    {220,
     "a link of the device has an error that cannot be corrected "
     "(NVLink)"},
    {226,
     "memory of the device has an error that cannot be corrected, and "
     "that was contained (ECC)"},
    {700, "a kernel read or wrote memory that is not there (illegal address)"},
    {702, "a kernel ran too long (launch timeout)"},
    {709, "the context of the device was destroyed, as by cudaDeviceReset()"},
    {710, "an assertion in a kernel failed"},
    {714, "the call stack of a kernel is broken"},
    {715, "a kernel came to an illegal instruction"},
    {716, "a kernel read or wrote at an address that is not aligned"},
    {717, "a kernel used an address of the wrong address space"},
    {718, "the program counter of a kernel went astray"},
    {719, "a kernel failed while it ran (launch failure)"},
    {721, "a kernel did not free its tensor memory"},
    {810, "the server of the device ended this client (MPS)"},
    {911, "a device outside CUDA failed that kernels wait for"},
    {999, "the driver does not know what"},
};

const FailureRow* FindFailure(int code) {
  for (const FailureRow& row : kFailures) {
    if (row.code == code) return &row;
  }
  return nullptr;
}

// Enough of the types of the driver to call it without its header. Versioned
// names are those that the header gives to the plain ones.
using Handle = void*;
constexpr int kSuccess = 0;
constexpr int kCaptureStatusNone = 0;        // CU_STREAM_CAPTURE_STATUS_NONE
constexpr unsigned kEventWithoutTiming = 2;  // CU_EVENT_DISABLE_TIMING

template <typename... Arguments>
class DriverFunction {
 public:
  explicit DriverFunction(const char* name)
      : function_(
            reinterpret_cast<int (*)(Arguments...)>(CudaDriverSymbol(name))) {}
  // Of a driver that does not have it: success.
  int operator()(Arguments... arguments) const {
    return function_ == nullptr ? kSuccess : function_(arguments...);
  }

 private:
  int (*const function_)(Arguments...);
};

// In the current context. A stream whose work cannot go on says so first;
// others may not know yet.
int AskContext(Handle stream) {
  static const DriverFunction<Handle, int*> capturing("cuStreamIsCapturing");
  static const DriverFunction<Handle> query("cuStreamQuery");
  static const DriverFunction<size_t*, size_t*> memory("cuMemGetInfo_v2");
  static const DriverFunction<Handle*, unsigned> make_event("cuEventCreate");
  static const DriverFunction<Handle> end_event("cuEventDestroy_v2");
  int status = kCaptureStatusNone;
  int code = capturing(stream, &status);
  // To ask for its work would end a capture.
  const bool may_ask = code == kSuccess && status == kCaptureStatusNone;
  if (FindFailure(code) != nullptr) return code;
  if (may_ask) {
    code = query(stream);
    if (code != kSuccess) return code;
  }
  size_t free = 0;
  size_t total = 0;
  code = memory(&free, &total);
  if (code != kSuccess) return code;
  Handle event = nullptr;
  code = make_event(&event, kEventWithoutTiming);
  if (code == kSuccess && event != nullptr) end_event(event);
  return code;
}

// In the context that the runtime, and so torch, uses for the device: this
// thread may have another one, or none.
int AskDriver(const c10::Device& device) {
  if (!device.is_cuda()) return kSuccess;
  static const DriverFunction<int*, int> get("cuDeviceGet");
  static const DriverFunction<int, unsigned*, int*> state(
      "cuDevicePrimaryCtxGetState");
  static const DriverFunction<Handle*, int> retain("cuDevicePrimaryCtxRetain");
  static const DriverFunction<int> release("cuDevicePrimaryCtxRelease_v2");
  static const DriverFunction<Handle> push("cuCtxPushCurrent_v2");
  static const DriverFunction<Handle*> pop("cuCtxPopCurrent_v2");
  const auto* const impl = c10::impl::getDeviceGuardImpl(device.type());
  const c10::Device known = device.has_index() ? device : impl->getDevice();
  const c10::Stream stream = impl->getStream(known);
  int id = 0;
  if (const int code = get(&id, known.index()); code != kSuccess) return code;
  unsigned flags = 0;
  int active = 0;
  if (const int code = state(id, &flags, &active); code != kSuccess) {
    return code;
  }
  if (active == 0) return kSuccess;
  Handle context = nullptr;
  // Where that is refused the context that this thread has must do.
  if (retain(&context, id) != kSuccess) {
    return AskContext(stream.native_handle());
  }
  const bool pushed = push(context) == kSuccess;
  const int code = AskContext(stream.native_handle());
  if (pushed) pop(&context);
  release(id);
  return code;
}

std::atomic<DeviceProbe> probe_for_testing{nullptr};

}  // namespace

std::optional<std::string> DeviceFailure(const c10::Device& device) noexcept {
  try {
    DeviceProbe probe = probe_for_testing.load(std::memory_order_acquire);
    if (probe == nullptr) probe = &AskDriver;
    const int code = probe(device);
    const FailureRow* const row = FindFailure(code);
    // Twice, as the first may have been told of something that is over.
    if (row == nullptr || probe(device) != code) return std::nullopt;
    return absl::StrCat("CUDA error ", code, ", ", row->reason);
  } catch (...) {
    return std::nullopt;
  }
}

void SetDeviceProbeForTesting(DeviceProbe probe) {
  probe_for_testing.store(probe, std::memory_order_release);
}

}  // namespace flaggems
