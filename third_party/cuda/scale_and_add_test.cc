#include "third_party/cuda/scale_and_add.h"

#include <cuda_runtime_api.h>

#include <vector>

#include "gtest/gtest.h"

namespace {

int DeviceCount() {
  int count = 0;
  return cudaGetDeviceCount(&count) == cudaSuccess ? count : 0;
}

TEST(ScaleAndAddTest, LinksTheRuntimeOfTheHeaders) {
  int version = 0;
  ASSERT_EQ(cudaRuntimeGetVersion(&version), cudaSuccess);
  EXPECT_EQ(version, CUDART_VERSION);
}

TEST(ScaleAndAddTest, LaunchFailsCleanlyWithoutADevice) {
  if (DeviceCount() > 0) GTEST_SKIP() << "there is a CUDA device";
  EXPECT_NE(LaunchScaleAndAdd(2.0f, nullptr, nullptr, 1, nullptr), cudaSuccess);
}

TEST(ScaleAndAddTest, ComputesOnTheDevice) {
  if (DeviceCount() == 0) GTEST_SKIP() << "no CUDA device";
  constexpr int kCount = 1001;
  std::vector<float> x(kCount), y(kCount, 1.0f), want(kCount);
  for (int i = 0; i < kCount; ++i) {
    x[i] = static_cast<float>(i);
    want[i] = 1.0f + 2.0f * x[i];
  }
  const size_t bytes = kCount * sizeof(float);
  void* device_x = nullptr;
  void* device_y = nullptr;
  ASSERT_EQ(cudaMalloc(&device_x, bytes), cudaSuccess);
  ASSERT_EQ(cudaMalloc(&device_y, bytes), cudaSuccess);
  ASSERT_EQ(cudaMemcpy(device_x, x.data(), bytes, cudaMemcpyHostToDevice),
            cudaSuccess);
  ASSERT_EQ(cudaMemcpy(device_y, y.data(), bytes, cudaMemcpyHostToDevice),
            cudaSuccess);
  ASSERT_EQ(LaunchScaleAndAdd(2.0f, static_cast<float*>(device_x),
                              static_cast<float*>(device_y), kCount, nullptr),
            cudaSuccess);
  ASSERT_EQ(cudaMemcpy(y.data(), device_y, bytes, cudaMemcpyDeviceToHost),
            cudaSuccess);
  EXPECT_EQ(y, want);
  EXPECT_EQ(cudaFree(device_x), cudaSuccess);
  EXPECT_EQ(cudaFree(device_y), cudaSuccess);
}

}  // namespace
