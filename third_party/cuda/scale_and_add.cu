#include "third_party/cuda/scale_and_add.h"

namespace {

__global__ void ScaleAndAdd(float factor, const float* x, float* y, int count) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) y[i] += factor * x[i];
}

}  // namespace

cudaError_t LaunchScaleAndAdd(float factor, const float* x, float* y, int count,
                              cudaStream_t stream) {
  constexpr int kThreads = 128;
  ScaleAndAdd<<<(count + kThreads - 1) / kThreads, kThreads, 0, stream>>>(
      factor, x, y, count);
  return cudaGetLastError();
}
