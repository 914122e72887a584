// Checks on a GPU that runs short of memory.

#include <ATen/ATen.h>
#include <ATen/cuda/Sleep.h>
#include <c10/cuda/CUDACachingAllocator.h>
#include <c10/cuda/CUDAFunctions.h>
#include <cuda_runtime_api.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <string>

#include "flaggems/precision.h"
#include "flaggems/testutil.h"

namespace flaggems {
namespace {

namespace allocator = c10::cuda::CUDACachingAllocator;

constexpr int64_t kMiB = int64_t{1} << 20;

class DeviceMemoryTest : public CudaCheckTest {
 protected:
  DeviceMemoryTest() : CudaCheckTest(ReferencePlace::kDevice) {}

  void TearDown() override {
    if (at::hasCUDA()) allocator::setMemoryFraction(1, 0);
    CudaCheckTest::TearDown();
  }

  // Checks every call of `op`, none by some of its rows.
  void CheckWhole(const std::string& op) {
    Check({op}, [](PrecisionOptions& options) { options.memory_mb = 16384; });
  }

  static int64_t Reserved() {
    return allocator::getDeviceStats(0)
        .reserved_bytes[static_cast<size_t>(
            c10::CachingAllocator::StatType::AGGREGATE)]
        .current;
  }
  static int64_t Allocated() {
    return allocator::getDeviceStats(0)
        .allocated_bytes[static_cast<size_t>(
            c10::CachingAllocator::StatType::AGGREGATE)]
        .current;
  }

  // The allocator may take so much from the device.
  static void Allow(int64_t bytes) {
    size_t free = 0;
    size_t total = 0;
    ASSERT_EQ(cudaMemGetInfo(&free, &total), cudaSuccess);
    allocator::setMemoryFraction(
        static_cast<double>(bytes) / static_cast<double>(total), 0);
  }
};

// On any machine.
TEST(FreeMemoryTest, TheAllocatorKnowsWhomToAsk) {
  auto* const registry = c10::FreeCudaMemoryCallbacksRegistry();
  ASSERT_TRUE(registry->Has("flaggems_pending_checks"));
  // Nothing waits.
  EXPECT_FALSE(registry->Create("flaggems_pending_checks")->Execute());
}

// So many calls of relu on 64 MiB that their checks hold 128 MiB each.
constexpr int kCalls = 8;

TEST_F(DeviceMemoryTest, TheProgramGetsTheMemoryOfChecksThatWait) {
  CheckWhole("aten::relu");
  const at::Tensor x = at::randn({16 * kMiB}, Cuda());
  at::relu(x);
  ASSERT_EQ(SummaryOf("relu").passed, 1);
  c10::cuda::device_synchronize();
  allocator::emptyCache();
  const int64_t before = Allocated();
  at::cuda::sleep(int64_t{1} << 31);  // about a second
  for (int i = 0; i < kCalls; ++i) at::relu(x);
  ASSERT_GE(Allocated() - before, kCalls * 128 * kMiB);
  // More than all that is not allocated.
  const int64_t wanted = Reserved() - Allocated() + 256 * kMiB;
  Allow(Reserved());
  at::Tensor large;
  EXPECT_NO_THROW(large = at::empty({wanted}, Cuda().dtype(at::kByte)));
  allocator::setMemoryFraction(1, 0);
  large.reset();
  const OpSummary summary = SummaryOf("relu");
  EXPECT_EQ(summary.calls, 1 + kCalls);
  EXPECT_EQ(summary.failed, 0);
  EXPECT_TRUE(summary.errors.empty());
  ASSERT_EQ(summary.skipped.count("throttle"), size_t{1});
  EXPECT_EQ(summary.passed + summary.skipped.at("throttle"), 1 + kCalls);
  // Their slots in host memory are free again.
  for (int i = 0; i < kCalls; ++i) at::relu(x);
  EXPECT_EQ(SummaryOf("relu").passed, summary.passed + kCalls);
}

// What the check of a call has copied is where its result must go.
TEST_F(DeviceMemoryTest, AKernelGetsTheMemoryOfItsOwnCheck) {
  CheckWhole("aten::relu");
  const at::Tensor x = at::randn({128 * kMiB}, Cuda());  // 512 MiB
  allocator::emptyCache();
  Allow(Reserved() + 576 * kMiB);
  EXPECT_NO_THROW(at::relu(x));
  allocator::setMemoryFraction(1, 0);
  const OpSummary summary = SummaryOf("relu");
  EXPECT_EQ(summary.calls, 1);
  EXPECT_EQ(summary.skipped.count("throttle"), size_t{1});
  at::relu(x);
  EXPECT_EQ(SummaryOf("relu").passed, 1);
}

TEST_F(DeviceMemoryTest, ChecksWaitOnWhereThereIsEnough) {
  CheckWhole("aten::relu");
  const at::Tensor x = at::randn({kMiB}, Cuda());
  at::relu(x);
  PrecisionSummary();
  size_t free = 0;
  size_t total = 0;
  ASSERT_EQ(cudaMemGetInfo(&free, &total), cudaSuccess);
  if (free < total / 2) GTEST_SKIP() << "others use most of the GPU's memory";
  at::cuda::sleep(int64_t{1} << 28);
  for (int i = 0; i < kCalls; ++i) {
    at::relu(x);
    // No block of this size is there yet.
    at::empty({(100 + i) * kMiB}, Cuda().dtype(at::kByte));
  }
  EXPECT_EQ(SummaryOf("relu").passed, 1 + kCalls);
}

TEST_F(DeviceMemoryTest, ACheckWithoutMemoryIsAnErrorAndTheProgramGoesOn) {
  CheckWhole("aten::relu_");
  at::Tensor x = at::ones({64 * kMiB}, Cuda());
  allocator::emptyCache();
  Allow(Reserved() + 32 * kMiB);
  EXPECT_NO_THROW(at::relu_(x));
  allocator::setMemoryFraction(1, 0);
  const OpSummary summary = SummaryOf("relu_");
  EXPECT_EQ(summary.calls, 1);
  EXPECT_EQ(summary.errors.count("out_of_memory"), size_t{1});
  at::relu_(x);
  EXPECT_EQ(SummaryOf("relu_").passed, 1);
}

}  // namespace
}  // namespace flaggems
