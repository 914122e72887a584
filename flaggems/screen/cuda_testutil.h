#ifndef FLAGGEMS_SCREEN_CUDA_TESTUTIL_H_
#define FLAGGEMS_SCREEN_CUDA_TESTUTIL_H_

// For tests of kernels against plain loops of the host, to the bit.

#include <cuda_runtime_api.h>

#include <cmath>
#include <cstddef>
#include <vector>

#include "gtest/gtest.h"

namespace flaggems {

inline bool HasGpu() {
  int count = 0;
  return cudaGetDeviceCount(&count) == cudaSuccess && count > 0;
}

// Device memory with the content of a vector.
template <typename T>
class OnDevice {
 public:
  explicit OnDevice(const std::vector<T>& content) : size_(content.size()) {
    EXPECT_EQ(cudaMalloc(&data_, bytes() + 1), cudaSuccess);
    EXPECT_EQ(
        cudaMemcpy(data_, content.data(), bytes(), cudaMemcpyHostToDevice),
        cudaSuccess);
    EXPECT_EQ(cudaDeviceSynchronize(), cudaSuccess);
  }
  ~OnDevice() { cudaFree(data_); }
  OnDevice(const OnDevice&) = delete;
  OnDevice& operator=(const OnDevice&) = delete;

  T* get() const { return static_cast<T*>(data_); }
  std::vector<T> Content() const {
    std::vector<T> content(size_);
    EXPECT_EQ(cudaDeviceSynchronize(), cudaSuccess);
    EXPECT_EQ(
        cudaMemcpy(content.data(), data_, bytes(), cudaMemcpyDeviceToHost),
        cudaSuccess);
    return content;
  }

 private:
  size_t bytes() const { return size_ * sizeof(T); }

  size_t size_;
  void* data_ = nullptr;
};

// NaN counts as equal to NaN, whatever its bits.
inline void ExpectSame(const std::vector<double>& got,
                       const std::vector<double>& want) {
  ASSERT_EQ(got.size(), want.size());
  for (size_t i = 0; i < got.size(); ++i) {
    if (std::isnan(want[i])) {
      ASSERT_TRUE(std::isnan(got[i])) << "element " << i;
    } else {
      ASSERT_EQ(got[i], want[i]) << "element " << i;
      ASSERT_EQ(std::signbit(got[i]), std::signbit(want[i])) << "element " << i;
    }
  }
}

class GpuTest : public testing::Test {
 protected:
  void SetUp() override {
    if (!HasGpu()) GTEST_SKIP() << "this machine has no GPU";
  }
};

}  // namespace flaggems

#endif  // FLAGGEMS_SCREEN_CUDA_TESTUTIL_H_
