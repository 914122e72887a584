#ifndef FLAGGEMS_REFERENCE_DEVICE_WIDENER_H_
#define FLAGGEMS_REFERENCE_DEVICE_WIDENER_H_

// Float64 copies of elements that lie in a device's memory, made there.

#include <ATen/core/Tensor.h>

#include <cstdint>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "flaggems/reference/reference_arguments.h"

namespace flaggems {

struct WidenRequest {
  at::Tensor from;  // 1-d, contiguous
  at::Tensor to;    // float64 or complex128, of the same size and device
  // What becomes of the elements; the numbers are those of the host's copies,
  // to the bit.
  ReferenceArgumentOptions::Elements elements;
  bool negative;  // of a magnitude
  double step;    // of kPerturb
  uint64_t seed;
};

class DeviceWidener {
 public:
  virtual ~DeviceWidener() = default;

  // Puts the copies into the current stream of their device. Thread-safe; does
  // not throw. kUnimplemented: a dtype or device that it does not know.
  virtual absl::Status Widen(absl::Span<const WidenRequest> requests) const = 0;
};

// The one of this program; null if none was linked. `widener` outlives the
// process. Thread-safe.
void RegisterDeviceWidener(const DeviceWidener* widener);
const DeviceWidener* RegisteredDeviceWidener();

}  // namespace flaggems

#endif  // FLAGGEMS_REFERENCE_DEVICE_WIDENER_H_
