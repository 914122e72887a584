#ifndef FLAGGEMS_THIRD_PARTY_CUDA_SCALE_AND_ADD_H_
#define FLAGGEMS_THIRD_PARTY_CUDA_SCALE_AND_ADD_H_

#include <cuda_runtime_api.h>

// y[i] += factor * x[i] for i < count, on `stream`. Both point to device
// memory. Returns the error of the launch; the kernel may still be running.
cudaError_t LaunchScaleAndAdd(float factor, const float* x, float* y, int count,
                              cudaStream_t stream);

#endif  // FLAGGEMS_THIRD_PARTY_CUDA_SCALE_AND_ADD_H_
