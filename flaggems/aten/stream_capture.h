#ifndef FLAGGEMS_ATEN_STREAM_CAPTURE_H_
#define FLAGGEMS_ATEN_STREAM_CAPTURE_H_

#include <c10/core/Device.h>

namespace flaggems {

// Whether the current stream of a CUDA device is being captured into a graph:
// its work is recorded and not run, so that there is no result to look at, and
// a copy to the host would end the capture. False for other devices, and
// without a driver. Does not throw.
bool IsCapturing(const c10::Device& device) noexcept;

// While it lives, and if `active`, what this thread does does not end a capture
// that another thread has begun on a stream of its own. Costs a few
// nanoseconds; nothing without a driver.
class CaptureTolerance {
 public:
  explicit CaptureTolerance(bool active) noexcept;
  ~CaptureTolerance();
  CaptureTolerance(const CaptureTolerance&) = delete;
  CaptureTolerance& operator=(const CaptureTolerance&) = delete;

 private:
  const bool active_;
  int mode_;  // what it was before
};

}  // namespace flaggems

#endif  // FLAGGEMS_ATEN_STREAM_CAPTURE_H_
