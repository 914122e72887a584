#ifndef FLAGGEMS_SCREEN_DEVICE_WORK_LAUNCH_H_
#define FLAGGEMS_SCREEN_DEVICE_WORK_LAUNCH_H_

// What a screen does to whole arrays of a CUDA device: copies them, widens
// them to float64, looks whether two are the same. A launch costs the host more
// than most arrays cost the device, so one launch does many of them.

#include <cuda_runtime_api.h>

#include <cstdint>

#include "absl/types/span.h"
#include "flaggems/core/dtype.h"

namespace flaggems {

// One array, flat and contiguous, in the current device's memory and aligned as
// its elements are.
struct DeviceWork {
  enum class Kind : uint8_t {
    // dst[i] = in float64, to the bit as ReferenceArguments()
    // (reference/reference_arguments.h) makes it on the host:
    kWiden,           // src[i]
    kMagnitude,       // |src[i]|
    kMinusMagnitude,  // -|src[i]|
    kPerturb,  // src[i] * (1 + step * Draw(seed, i)); reference/perturbation.h
    // dst = src
    kCopy,
    // *different = 1 if a byte of dst is not that of src, else it stays as it
    // is. May be pinned memory of the host.
    kSameBytes,
  };

  Kind kind = Kind::kCopy;
  // Of what is widened: a real floating type, an integer or bool. kWiden and
  // kPerturb of complex numbers are those of twice as many real ones.
  DType dtype = DType::kOther;
  const void* src = nullptr;
  // Only read by kSameBytes. What is written overlaps nothing else of the same
  // launch.
  void* dst = nullptr;
  int64_t n = 0;  // elements to widen; bytes to copy or to compare
  double step = 0;
  uint64_t seed = 0;
  int32_t* different = nullptr;
};

inline constexpr int kDeviceWorkPerLaunch = 16;

// Puts the work into `stream`, kDeviceWorkPerLaunch items a launch; does not
// allocate or wait. `work` is copied during the call. Bytes go fastest where
// addresses are multiples of 16. Thread-safe.
// cudaErrorNotSupported: a dtype without real elements is to be widened;
//                        nothing was launched.
// Others:                of the launch.
cudaError_t LaunchDeviceWork(absl::Span<const DeviceWork> work,
                             cudaStream_t stream);

}  // namespace flaggems

#endif  // FLAGGEMS_SCREEN_DEVICE_WORK_LAUNCH_H_
