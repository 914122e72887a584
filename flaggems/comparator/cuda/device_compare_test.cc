// The comparator on a GPU finds what that of the host finds, to the bit.

#include <cuda_runtime_api.h>

#include <cstdint>
#include <cstring>
#include <utility>
#include <vector>

#include "flaggems/comparator/compare_budget.h"
#include "flaggems/comparator/compare_range.h"
#include "flaggems/comparator/cuda/device_compare_launch.h"
#include "flaggems/comparator/cuda/testutil.h"
#include "flaggems/comparator/tolerance.h"
#include "gtest/gtest.h"

namespace flaggems {
namespace {

bool HasGpu() {
  int count = 0;
  return cudaGetDeviceCount(&count) == cudaSuccess && count > 0;
}

// A copy of host memory, as aligned as that.
class DeviceBytes {
 public:
  DeviceBytes(const void* bytes, size_t size) {
    EXPECT_EQ(cudaMalloc(&data_, size + 1), cudaSuccess);
    EXPECT_EQ(cudaMemcpy(data_, bytes, size, cudaMemcpyHostToDevice),
              cudaSuccess);
    // From pageable memory it may return before it has arrived, and the test's
    // stream does not wait for the default one.
    EXPECT_EQ(cudaDeviceSynchronize(), cudaSuccess);
  }
  ~DeviceBytes() { cudaFree(data_); }
  DeviceBytes(const DeviceBytes&) = delete;
  DeviceBytes& operator=(const DeviceBytes&) = delete;

  void* get() const { return data_; }

 private:
  void* data_ = nullptr;
};

// On a stream of its own, with a scratch that all tests of a process share.
class OnGpu : public testing::Test {
 protected:
  void SetUp() override {
    if (!HasGpu()) GTEST_SKIP() << "this machine has no GPU";
    static void* const scratch = [] {
      void* memory = nullptr;
      const auto size = static_cast<size_t>(DeviceCompareScratchBytes());
      EXPECT_EQ(cudaMalloc(&memory, size), cudaSuccess);
      EXPECT_EQ(cudaMemset(memory, 0, size), cudaSuccess);
      EXPECT_EQ(cudaDeviceSynchronize(), cudaSuccess);
      return memory;
    }();
    scratch_ = scratch;
    ASSERT_EQ(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking),
              cudaSuccess);
    ASSERT_EQ(cudaMallocHost(&pinned_, sizeof(FoundWords)), cudaSuccess);
  }
  void TearDown() override {
    if (pinned_ != nullptr) cudaFreeHost(pinned_);
    if (stream_ != nullptr) cudaStreamDestroy(stream_);
  }

  FoundWords* result() const { return static_cast<FoundWords*>(pinned_); }
  // What the stream wrote to the host's memory.
  DeviceComparison Awaited() const {
    EXPECT_EQ(cudaStreamSynchronize(stream_), cudaSuccess);
    return ComparisonOf(*result());
  }

  void* scratch_ = nullptr;
  cudaStream_t stream_ = nullptr;

 private:
  void* pinned_ = nullptr;
};

class BudgetOnGpuTest : public OnGpu,
                        public testing::WithParamInterface<PairCase> {};

TEST_P(BudgetOnGpuTest, FindsWhatTheHostFinds) {
  ConditionArray conditions;
  const std::vector<NamedBudget> budgets = BudgetsFor(GetParam(), &conditions);
  const DeviceBytes device_conditions(conditions.data.data(),
                                      conditions.data.size() * sizeof(double));
  for (const Contents contents : ContentsFor(GetParam())) {
    const ArrayPair pair(GetParam(), contents);
    const DeviceBytes got(pair.got_bytes.data(), pair.got_bytes.size());
    const DeviceBytes want(pair.want_bytes.data(), pair.want_bytes.size());
    for (const NamedBudget& named : budgets) {
      SCOPED_TRACE(testing::Message()
                   << "contents " << static_cast<int>(contents)
                   << ", condition " << named.name);
      Budget budget = named.budget;
      if (budget.condition == Budget::Condition::kArray) {
        budget.conditions.data = device_conditions.get();
      }
      ASSERT_EQ(
          LaunchCompareBudget(pair.GotAt(got.get()), pair.WantAt(want.get()),
                              budget, scratch_, result(), stream_),
          cudaSuccess);
      ExpectSame(Awaited(),
                 CompareBudgetRange(pair.got(), pair.want(), named.budget, 0,
                                    pair.want().numel()),
                 pair.got_nonzero());
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Cases, BudgetOnGpuTest,
                         testing::ValuesIn(BudgetCases()),
                         [](const auto& info) { return NameOf(info.param); });

class ExactOnGpuTest : public OnGpu,
                       public testing::WithParamInterface<PairCase> {};

TEST_P(ExactOnGpuTest, FindsWhatTheHostFinds) {
  for (const Contents contents : ContentsFor(GetParam())) {
    SCOPED_TRACE(testing::Message()
                 << "contents " << static_cast<int>(contents));
    const ArrayPair pair(GetParam(), contents);
    const DeviceBytes got(pair.got_bytes.data(), pair.got_bytes.size());
    const DeviceBytes want(pair.want_bytes.data(), pair.want_bytes.size());
    ASSERT_EQ(
        LaunchCompareExactly(pair.GotAt(got.get()), pair.WantAt(want.get()),
                             scratch_, result(), stream_),
        cudaSuccess);
    ExpectSame(Awaited(),
               CompareRange(pair.got(), pair.want(), Tolerance{0, 0}, 0,
                            pair.want().numel()),
               pair.got_nonzero());
  }
}

INSTANTIATE_TEST_SUITE_P(Cases, ExactOnGpuTest, testing::ValuesIn(ExactCases()),
                         [](const auto& info) { return NameOf(info.param); });

using LaunchTest = OnGpu;

// Several in flight on one scratch, without a wait between them.
TEST_F(LaunchTest, FollowEachOtherOnOneScratch) {
  const PairCase c{
      DType::kFloat32, DType::kFloat64, {"Large", {1000003}, {}, {}}};
  const ArrayPair pair(c, Contents::kMismatches);
  const DeviceBytes got(pair.got_bytes.data(), pair.got_bytes.size());
  const DeviceBytes want(pair.want_bytes.data(), pair.want_bytes.size());
  constexpr size_t kLaunches = 20;
  void* memory = nullptr;
  ASSERT_EQ(cudaMallocHost(&memory, kLaunches * sizeof(FoundWords)),
            cudaSuccess);
  auto* results = static_cast<FoundWords*>(memory);
  for (size_t i = 0; i < kLaunches; ++i) {
    ASSERT_EQ(
        LaunchCompareBudget(pair.GotAt(got.get()), pair.WantAt(want.get()),
                            Budget(), scratch_, &results[i], stream_),
        cudaSuccess);
  }
  ASSERT_EQ(cudaStreamSynchronize(stream_), cudaSuccess);
  const PartialComparison expected = CompareBudgetRange(
      pair.got(), pair.want(), Budget(), 0, pair.want().numel());
  for (size_t i = 0; i < kLaunches; ++i)
    ExpectSame(ComparisonOf(results[i]), expected, true);
  cudaFreeHost(memory);
}

// One difference, behind the last position that 32 bits hold.
TEST_F(LaunchTest, ReachesPositionsBeyond32Bits) {
  constexpr int64_t kNumel = (int64_t{1} << 32) + 11;
  size_t free = 0, total = 0;
  ASSERT_EQ(cudaMemGetInfo(&free, &total), cudaSuccess);
  if (free < size_t{12} << 30) GTEST_SKIP() << "needs 12 GiB of GPU memory";
  void* memory = nullptr;
  ASSERT_EQ(cudaMalloc(&memory, 2 * (kNumel + 16)), cudaSuccess);
  auto* got = static_cast<uint8_t*>(memory);
  uint8_t* want = got + kNumel / 16 * 16 + 16;
  ASSERT_EQ(cudaMemset(memory, 7, 2 * (kNumel + 16)), cudaSuccess);
  ASSERT_EQ(cudaMemset(want + kNumel - 2, 9, 1), cudaSuccess);
  ASSERT_EQ(cudaDeviceSynchronize(), cudaSuccess);
  const std::vector<int64_t> sizes = {kNumel};
  const std::vector<int64_t> ones = {1};
  const std::vector<int64_t> backward = {-1};
  ASSERT_EQ(LaunchCompareExactly({got, DType::kUInt8, sizes, ones},
                                 {want, DType::kUInt8, sizes, ones}, scratch_,
                                 result(), stream_),
            cudaSuccess);
  DeviceComparison found = Awaited();
  EXPECT_EQ(found.partial.numel, kNumel);
  EXPECT_EQ(found.partial.value_mismatches, 1);
  EXPECT_EQ(found.partial.worst_score, kNumel - 2);
  EXPECT_EQ(found.partial.max_abs_diff, 2);
  ASSERT_EQ(
      LaunchCompareExactly({got, DType::kUInt8, sizes, ones},
                           {want + kNumel - 1, DType::kUInt8, sizes, backward},
                           scratch_, result(), stream_),
      cudaSuccess);
  found = Awaited();
  EXPECT_EQ(found.partial.numel, kNumel);
  EXPECT_EQ(found.partial.value_mismatches, 1);
  EXPECT_EQ(found.partial.worst_score, 1);
  cudaFree(memory);
}

TEST_F(LaunchTest, RefuseWhatTheyHaveNoRuleFor) {
  const std::vector<int64_t> sizes = {4};
  const std::vector<int64_t> other = {5};
  const std::vector<int64_t> ones = {1};
  const ArrayView complex{nullptr, DType::kComplex64, sizes, ones};
  const ArrayView narrow{nullptr, DType::kFloat32, sizes, ones};
  const ArrayView wide{nullptr, DType::kFloat64, sizes, ones};
  const ArrayView longer{nullptr, DType::kFloat64, other, ones};
  EXPECT_EQ(
      LaunchCompareBudget(complex, wide, Budget(), scratch_, result(), stream_),
      cudaErrorNotSupported);
  EXPECT_EQ(LaunchCompareExactly(complex, complex, scratch_, result(), stream_),
            cudaErrorNotSupported);
  EXPECT_EQ(LaunchCompareExactly(narrow, wide, scratch_, result(), stream_),
            cudaErrorNotSupported);
  EXPECT_EQ(LaunchCompareBudget(narrow, longer, Budget(), scratch_, result(),
                                stream_),
            cudaErrorInvalidValue);
}

}  // namespace
}  // namespace flaggems
