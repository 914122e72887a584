#ifndef FLAGGEMS_COMPARATOR_CUDA_PROCESSORS_H_
#define FLAGGEMS_COMPARATOR_CUDA_PROCESSORS_H_

#include <cuda_runtime_api.h>

#include <atomic>

namespace flaggems {

// The multiprocessors of the current device. Thread-safe; a launch asks, so
// that each device is asked once.
inline cudaError_t Processors(int* processors) {
  constexpr int kDevices = 64;
  static std::atomic<int> known[kDevices];
  int device = 0;
  cudaError_t error = cudaGetDevice(&device);
  if (error != cudaSuccess) return error;
  const bool kept = device < kDevices;
  if (kept) *processors = known[device].load(std::memory_order_relaxed);
  if (kept && *processors > 0) return cudaSuccess;
  error = cudaDeviceGetAttribute(processors, cudaDevAttrMultiProcessorCount,
                                 device);
  if (error == cudaSuccess && kept) {
    known[device].store(*processors, std::memory_order_relaxed);
  }
  return error;
}

}  // namespace flaggems

#endif  // FLAGGEMS_COMPARATOR_CUDA_PROCESSORS_H_
