#include <cuda_runtime_api.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <memory>
#include <random>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "absl/types/span.h"
#include "flaggems/comparator/element.h"
#include "flaggems/core/dtype.h"
#include "flaggems/reference/perturbation.h"
#include "flaggems/screen/cuda_testutil.h"
#include "flaggems/screen/device_work_launch.h"
#include "gtest/gtest.h"

namespace flaggems {
namespace {

using Kind = DeviceWork::Kind;
using DeviceWorkTest = GpuTest;

double Made(double x, const DeviceWork& item, int64_t i) {
  switch (item.kind) {
    case Kind::kMagnitude:
      return std::fabs(x);
    case Kind::kMinusMagnitude:
      return -std::fabs(x);
    case Kind::kPerturb:
      return x * (1 + item.step * Draw(item.seed, i));
    default:
      return x;
  }
}

// Random bytes as elements of the dtype, in float64.
std::vector<double> Widened(const std::vector<char>& bytes,
                            const DeviceWork& item) {
  std::vector<double> wide;
  VisitElementType(item.dtype, [&](auto tag) {
    using E = flaggems::Element<tag.value>;
    if constexpr (!std::is_same_v<typename E::Value, ComplexValue>) {
      for (int64_t i = 0; i < item.n; ++i) {
        typename E::Stored stored;
        std::memcpy(&stored,
                    bytes.data() + i * static_cast<int64_t>(sizeof(stored)),
                    sizeof(stored));
        wide.push_back(Made(static_cast<double>(E::Load(stored)), item, i));
      }
    }
  });
  return wide;
}

std::vector<char> RandomBytes(size_t n, uint64_t seed) {
  std::mt19937_64 random(seed);
  std::vector<char> bytes(n);
  for (char& byte : bytes) byte = static_cast<char>(random());
  return bytes;
}

TEST_F(DeviceWorkTest, WidenEveryDTypeInEveryMode) {
  for (const Kind kind : {Kind::kWiden, Kind::kMagnitude, Kind::kMinusMagnitude,
                          Kind::kPerturb}) {
    std::vector<std::vector<char>> sources;
    std::vector<DeviceWork> items;
    for (int d = 0; d < kNumDTypes; ++d) {
      const auto dtype = static_cast<DType>(d);
      if (!IsFloating(dtype) && !IsIntegral(dtype)) continue;
      // Of different sizes, one of them 0; more items than one launch takes.
      const int64_t n = d == 3 ? 0 : d == 11 ? 1000003 : 977 * d + 1;
      DeviceWork item;
      item.dtype = dtype;
      item.kind = kind;
      item.n = n;
      item.step = 0x1p-20;
      item.seed = 1234567 + static_cast<uint64_t>(d);
      sources.push_back(
          RandomBytes(static_cast<size_t>(n) * ElementSize(dtype), item.seed));
      items.push_back(item);
    }
    ASSERT_GT(items.size(), static_cast<size_t>(kDeviceWorkPerLaunch));
    std::vector<std::unique_ptr<OnDevice<char>>> from;
    std::vector<std::unique_ptr<OnDevice<double>>> to;
    for (size_t i = 0; i < items.size(); ++i) {
      from.push_back(std::make_unique<OnDevice<char>>(sources[i]));
      to.push_back(std::make_unique<OnDevice<double>>(
          std::vector<double>(static_cast<size_t>(items[i].n), 17)));
      items[i].src = from[i]->get();
      items[i].dst = to[i]->get();
    }
    ASSERT_EQ(LaunchDeviceWork(items, nullptr), cudaSuccess);
    for (size_t i = 0; i < items.size(); ++i) {
      SCOPED_TRACE(testing::Message() << TorchName(items[i].dtype) << ", kind "
                                      << static_cast<int>(kind));
      ExpectSame(to[i]->Content(), Widened(sources[i], items[i]));
    }
  }
}

TEST_F(DeviceWorkTest, WidenRefusesComplexAndQuantised) {
  for (const DType dtype : {DType::kComplex64, DType::kQInt8, DType::kOther}) {
    DeviceWork item;
    item.kind = Kind::kWiden;
    item.dtype = dtype;
    EXPECT_EQ(LaunchDeviceWork({item}, nullptr), cudaErrorNotSupported);
  }
  EXPECT_EQ(LaunchDeviceWork({}, nullptr), cudaSuccess);
}

struct ByteRange {
  size_t a_offset;
  size_t b_offset;
  size_t nbytes;
};

// Sizes around words and unrolled loops, and every kind of alignment.
std::vector<ByteRange> ByteRanges() {
  std::vector<ByteRange> ranges;
  for (const size_t nbytes : {0, 1, 3, 15, 16, 17, 4096, 65537, 5000011}) {
    for (const auto& [a, b] : {std::pair<size_t, size_t>{0, 0},
                               {16, 32},
                               {4, 8},
                               {2, 0},
                               {1, 0},
                               {3, 3}}) {
      ranges.push_back({a, b, nbytes});
    }
  }
  return ranges;
}

TEST_F(DeviceWorkTest, CopyOfAllRangesInOneCall) {
  const std::vector<ByteRange> ranges = ByteRanges();
  std::vector<std::vector<char>> sources;
  std::vector<std::unique_ptr<OnDevice<char>>> from, to;
  std::vector<DeviceWork> items;
  for (size_t i = 0; i < ranges.size(); ++i) {
    const ByteRange& range = ranges[i];
    sources.push_back(RandomBytes(range.nbytes + 64, i));
    from.push_back(std::make_unique<OnDevice<char>>(sources[i]));
    to.push_back(std::make_unique<OnDevice<char>>(
        std::vector<char>(range.nbytes + 64, 'x')));
    DeviceWork& item = items.emplace_back();
    item.kind = Kind::kCopy;
    item.src = from[i]->get() + range.a_offset;
    item.dst = to[i]->get() + range.b_offset;
    item.n = static_cast<int64_t>(range.nbytes);
  }
  ASSERT_EQ(LaunchDeviceWork(items, nullptr), cudaSuccess);
  for (size_t i = 0; i < ranges.size(); ++i) {
    const ByteRange& range = ranges[i];
    std::vector<char> want(range.nbytes + 64, 'x');
    std::copy_n(sources[i].begin() + static_cast<int64_t>(range.a_offset),
                range.nbytes,
                want.begin() + static_cast<int64_t>(range.b_offset));
    EXPECT_TRUE(to[i]->Content() == want)
        << range.nbytes << " bytes from " << range.a_offset << " to "
        << range.b_offset;
  }
}

TEST_F(DeviceWorkTest, SameBytesFindsOneByte) {
  const std::vector<ByteRange> ranges = ByteRanges();
  void* memory = nullptr;
  ASSERT_EQ(cudaMallocHost(&memory, ranges.size() * sizeof(int32_t)),
            cudaSuccess);
  auto* different = static_cast<int32_t*>(memory);
  // Where the byte is: nowhere, the first, the last, outside on both sides.
  for (const std::string where : {"nowhere", "first", "last", "outside"}) {
    std::vector<std::unique_ptr<OnDevice<char>>> a, b;
    std::vector<DeviceWork> items;
    for (size_t i = 0; i < ranges.size(); ++i) {
      const ByteRange& range = ranges[i];
      const std::vector<char> bytes = RandomBytes(range.nbytes + 64, i);
      std::vector<char> moved(range.nbytes + 64, 'y');
      std::copy_n(bytes.begin() + static_cast<int64_t>(range.a_offset),
                  range.nbytes,
                  moved.begin() + static_cast<int64_t>(range.b_offset));
      if (where == "first" && range.nbytes > 0) moved[range.b_offset] ^= 1;
      if (where == "last" && range.nbytes > 0) {
        moved[range.b_offset + range.nbytes - 1] ^= 64;
      }
      if (where == "outside") {
        moved[range.b_offset + range.nbytes] ^= 1;
        if (range.b_offset > 0) moved[range.b_offset - 1] ^= 1;
      }
      a.push_back(std::make_unique<OnDevice<char>>(bytes));
      b.push_back(std::make_unique<OnDevice<char>>(moved));
      DeviceWork& item = items.emplace_back();
      item.kind = Kind::kSameBytes;
      item.src = a[i]->get() + range.a_offset;
      item.dst = b[i]->get() + range.b_offset;
      item.n = static_cast<int64_t>(range.nbytes);
      item.different = different + i;
    }
    std::fill_n(different, ranges.size(), 0);
    ASSERT_EQ(LaunchDeviceWork(items, nullptr), cudaSuccess);
    ASSERT_EQ(cudaDeviceSynchronize(), cudaSuccess);
    for (size_t i = 0; i < ranges.size(); ++i) {
      const bool differs =
          (where == "first" || where == "last") && ranges[i].nbytes > 0;
      EXPECT_EQ(different[i], differs ? 1 : 0)
          << where << ", " << ranges[i].nbytes << " bytes at "
          << ranges[i].a_offset << " and " << ranges[i].b_offset;
    }
  }
  cudaFreeHost(memory);
}

// In one launch: what a screen asks of one call.
TEST_F(DeviceWorkTest, AllKindsInOneCall) {
  const std::vector<float> x = {1, -2, 3.5, -0.0F, 5};
  const std::vector<float> y = {1, -2, 3.5, 0, 5};
  const OnDevice<float> x_there(x);
  const OnDevice<float> y_there(y);
  const OnDevice<double> wide(std::vector<double>(x.size(), 17));
  const OnDevice<float> copy(std::vector<float>(x.size(), 17));
  const OnDevice<int32_t> different(std::vector<int32_t>(2, 0));
  std::vector<DeviceWork> work(4);
  work[0].kind = Kind::kWiden;
  work[0].dtype = DType::kFloat32;
  work[0].dst = wide.get();
  work[0].n = 5;
  work[1].kind = Kind::kCopy;
  work[1].dst = copy.get();
  work[1].n = 20;
  work[2].kind = Kind::kSameBytes;
  work[2].dst = y_there.get();
  work[2].n = 20;
  work[2].different = different.get();
  work[3] = work[2];
  work[3].n = 12;
  work[3].different = different.get() + 1;
  for (DeviceWork& item : work) item.src = x_there.get();
  ASSERT_EQ(LaunchDeviceWork(work, nullptr), cudaSuccess);
  ExpectSame(wide.Content(), std::vector<double>(x.begin(), x.end()));
  EXPECT_EQ(copy.Content(), x);
  EXPECT_EQ(different.Content(), (std::vector<int32_t>{1, 0}));
}

}  // namespace
}  // namespace flaggems
