#include "flaggems/aten/stream_capture.h"

#include <c10/core/Stream.h>
#include <c10/core/impl/DeviceGuardImplInterface.h>

#include "flaggems/aten/cuda_driver.h"

namespace flaggems {
namespace {

// Of the CUDA driver API, which is the same for all versions of CUDA: enough of
// its types to call two functions without its header. (CUDA Driver API, "Stream
// Management".)
using StreamIsCapturing = int(void* stream, int* status);
using ThreadExchangeStreamCaptureMode = int(int* mode);
constexpr int kSuccess = 0;             // CUDA_SUCCESS
constexpr int kCaptureStatusNone = 0;   // CU_STREAM_CAPTURE_STATUS_NONE
constexpr int kCaptureModeRelaxed = 2;  // CU_STREAM_CAPTURE_MODE_RELAXED

ThreadExchangeStreamCaptureMode* ExchangeMode() {
  static auto* const function =
      reinterpret_cast<ThreadExchangeStreamCaptureMode*>(
          CudaDriverSymbol("cuThreadExchangeStreamCaptureMode"));
  return function;
}

}  // namespace

bool IsCapturing(const c10::Device& device) noexcept {
  if (!device.is_cuda()) return false;
  static auto* const is_capturing = reinterpret_cast<StreamIsCapturing*>(
      CudaDriverSymbol("cuStreamIsCapturing"));
  if (is_capturing == nullptr) return false;
  try {
    const c10::Stream stream =
        c10::impl::getDeviceGuardImpl(device.type())->getStream(device);
    int status = kCaptureStatusNone;
    return is_capturing(stream.native_handle(), &status) == kSuccess &&
           status != kCaptureStatusNone;
  } catch (...) {
    return false;
  }
}

CaptureTolerance::CaptureTolerance(bool active) noexcept
    : active_(active && ExchangeMode() != nullptr), mode_(kCaptureModeRelaxed) {
  if (active_) ExchangeMode()(&mode_);
}

CaptureTolerance::~CaptureTolerance() {
  if (active_) ExchangeMode()(&mode_);
}

}  // namespace flaggems
