#ifndef FLAGGEMS_SCREEN_CUDA_WORK_H_
#define FLAGGEMS_SCREEN_CUDA_WORK_H_

// How the checker copies and widens arrays of a CUDA device. Linking the .cc
// registers it for Snapshot (aten/flat_memory.h) and for ReferenceArguments()
// (reference/device_widener.h).

#include <cuda_runtime_api.h>

#include "absl/container/inlined_vector.h"
#include "absl/status/status.h"
#include "flaggems/screen/device_work_launch.h"

namespace flaggems {

// OK, or what a launch said: kUnimplemented for a dtype that it does not know,
// else kInternal with the device's text.
absl::Status StatusOfLaunch(cudaError_t error, const char* what);

// While it lives, copies that this thread asks for wait, to be launched
// together with what is widened next. Not nested.
class DeviceWorkBatch {
 public:
  // What is asked for must be on the device of `stream`.
  explicit DeviceWorkBatch(cudaStream_t stream);
  // What was not launched is dropped: its call is given up.
  ~DeviceWorkBatch();
  DeviceWorkBatch(const DeviceWorkBatch&) = delete;
  DeviceWorkBatch& operator=(const DeviceWorkBatch&) = delete;

  void Add(const DeviceWork& work) { work_.push_back(work); }
  // Everything that was added since the last launch, into the stream.
  absl::Status Launch();

  // That of this thread, or null.
  static DeviceWorkBatch* Current();

 private:
  const cudaStream_t stream_;
  absl::InlinedVector<DeviceWork, kDeviceWorkPerLaunch> work_;
};

}  // namespace flaggems

#endif  // FLAGGEMS_SCREEN_CUDA_WORK_H_
