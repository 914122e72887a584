// The kernels of a screen against plain loops of the host, to the bit.

#include <cuda_runtime_api.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
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
#include "flaggems/screen/conditions_formula.h"
#include "flaggems/screen/sample_quantile.h"
#include "flaggems/screen/screen_kernels_launch.h"
#include "gtest/gtest.h"

namespace flaggems {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
using Mode = WidenItem::Mode;

bool HasGpu() {
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
void ExpectSame(const std::vector<double>& got,
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

class ScreenKernelsTest : public testing::Test {
 protected:
  void SetUp() override {
    if (!HasGpu()) GTEST_SKIP() << "this machine has no GPU";
  }
};

// ---- Widen.

double Made(double x, const WidenItem& item, int64_t i) {
  switch (item.mode) {
    case Mode::kKeep:
      return x;
    case Mode::kMagnitude:
      return std::fabs(x);
    case Mode::kMinusMagnitude:
      return -std::fabs(x);
    case Mode::kPerturb:
      return x * (1 + item.step * Draw(item.seed, i));
  }
  return x;
}

// Random bytes as elements of the dtype, in float64.
std::vector<double> Widened(const std::vector<char>& bytes,
                            const WidenItem& item) {
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

TEST_F(ScreenKernelsTest, WidenEveryDTypeInEveryMode) {
  for (const Mode mode :
       {Mode::kKeep, Mode::kMagnitude, Mode::kMinusMagnitude, Mode::kPerturb}) {
    std::vector<std::vector<char>> sources;
    std::vector<WidenItem> items;
    for (int d = 0; d < kNumDTypes; ++d) {
      const auto dtype = static_cast<DType>(d);
      if (!IsFloating(dtype) && !IsIntegral(dtype)) continue;
      // Of different sizes, one of them 0; more items than one launch takes.
      const int64_t n = d == 3 ? 0 : d == 11 ? 1000003 : 977 * d + 1;
      WidenItem item;
      item.dtype = dtype;
      item.mode = mode;
      item.n = n;
      item.step = 0x1p-20;
      item.seed = 1234567 + static_cast<uint64_t>(d);
      sources.push_back(
          RandomBytes(static_cast<size_t>(n) * ElementSize(dtype), item.seed));
      items.push_back(item);
    }
    ASSERT_GT(items.size(), static_cast<size_t>(kScreenBatch));
    std::vector<std::unique_ptr<OnDevice<char>>> from;
    std::vector<std::unique_ptr<OnDevice<double>>> to;
    for (size_t i = 0; i < items.size(); ++i) {
      from.push_back(std::make_unique<OnDevice<char>>(sources[i]));
      to.push_back(std::make_unique<OnDevice<double>>(
          std::vector<double>(static_cast<size_t>(items[i].n), 17)));
      items[i].src = from[i]->get();
      items[i].dst = to[i]->get();
    }
    ASSERT_EQ(LaunchWiden(items, nullptr), cudaSuccess);
    for (size_t i = 0; i < items.size(); ++i) {
      SCOPED_TRACE(testing::Message() << TorchName(items[i].dtype) << ", mode "
                                      << static_cast<int>(mode));
      ExpectSame(to[i]->Content(), Widened(sources[i], items[i]));
    }
  }
}

TEST_F(ScreenKernelsTest, WidenRefusesComplexAndQuantised) {
  for (const DType dtype : {DType::kComplex64, DType::kQInt8, DType::kOther}) {
    WidenItem item;
    item.dtype = dtype;
    EXPECT_EQ(LaunchWiden({item}, nullptr), cudaErrorNotSupported);
  }
  EXPECT_EQ(LaunchWiden({}, nullptr), cudaSuccess);
}

// ---- Bytes.

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

TEST_F(ScreenKernelsTest, CopyOfAllRangesInOneCall) {
  const std::vector<ByteRange> ranges = ByteRanges();
  std::vector<std::vector<char>> sources;
  std::vector<std::unique_ptr<OnDevice<char>>> from, to;
  std::vector<CopyItem> items;
  for (size_t i = 0; i < ranges.size(); ++i) {
    const ByteRange& range = ranges[i];
    sources.push_back(RandomBytes(range.nbytes + 64, i));
    from.push_back(std::make_unique<OnDevice<char>>(sources[i]));
    to.push_back(std::make_unique<OnDevice<char>>(
        std::vector<char>(range.nbytes + 64, 'x')));
    items.push_back({from[i]->get() + range.a_offset,
                     to[i]->get() + range.b_offset,
                     static_cast<int64_t>(range.nbytes)});
  }
  ASSERT_EQ(LaunchCopy(items, nullptr), cudaSuccess);
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

TEST_F(ScreenKernelsTest, SameBytesFindsOneByte) {
  const std::vector<ByteRange> ranges = ByteRanges();
  void* memory = nullptr;
  ASSERT_EQ(cudaMallocHost(&memory, ranges.size() * sizeof(int32_t)),
            cudaSuccess);
  auto* different = static_cast<int32_t*>(memory);
  // Where the byte is: nowhere, the first, the last, outside on both sides.
  for (const std::string where : {"nowhere", "first", "last", "outside"}) {
    std::vector<std::unique_ptr<OnDevice<char>>> a, b;
    std::vector<SameBytesItem> items;
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
      items.push_back({a[i]->get() + range.a_offset,
                       b[i]->get() + range.b_offset,
                       static_cast<int64_t>(range.nbytes)});
    }
    std::fill_n(different, ranges.size(), 0);
    ASSERT_EQ(LaunchSameBytes(items, different, nullptr), cudaSuccess);
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

// ---- Conditions.

std::vector<double> RandomValues(size_t n, uint64_t seed, bool specials) {
  std::mt19937_64 random(seed);
  std::vector<double> values;
  for (size_t i = 0; i < n; ++i) {
    const double x = std::ldexp(static_cast<double>(random() >> 11), -50) - 4;
    values.push_back(!specials           ? x
                     : random() % 50 > 3 ? x
                     : random() % 3 == 0 ? kNan
                     : random() % 2 == 0 ? -kInf
                                         : 0);
  }
  return values;
}

constexpr size_t kSizes[] = {0, 1, 2, 3, 1000, 1024, 1025, 100003, 3000001};

TEST_F(ScreenKernelsTest, EffectIsTheLargestChange) {
  for (const size_t n : kSizes) {
    const std::vector<double> want = RandomValues(n, 1, true);
    const OnDevice<double> want_there(want);
    const OnDevice<double> effect(std::vector<double>(n, kNan));
    std::vector<double> expected(n, 0);
    for (int draw = 0; draw < 3; ++draw) {
      const std::vector<double> moved =
          RandomValues(n, 2 + static_cast<uint64_t>(draw), true);
      const OnDevice<double> moved_there(moved);
      for (size_t i = 0; i < n; ++i) {
        const double change = std::fabs(moved[i] - want[i]);
        if (change > expected[i]) expected[i] = change;
      }
      ASSERT_EQ(LaunchEffect(want_there.get(), moved_there.get(), effect.get(),
                             static_cast<int64_t>(n), draw == 0, nullptr),
                cudaSuccess);
      SCOPED_TRACE(testing::Message() << n << " elements, draw " << draw);
      ExpectSame(effect.Content(), expected);
    }
  }
}

double SampleQuantile(SampledValue which, bool pointwise,
                      const std::vector<double>& want,
                      const std::vector<double>& effect) {
  const auto n = static_cast<int64_t>(want.size());
  std::vector<double> values;
  for (int64_t i = 0; i < SampleSize(n); ++i) {
    const auto at = static_cast<size_t>(SamplePosition(n, i));
    double value = 0;
    if (ValueOfSample(which, pointwise, std::fabs(want[at]), effect[at],
                      &value)) {
      values.push_back(value);
    }
  }
  if (values.empty()) return 0;
  std::sort(values.begin(), values.end());
  return values[static_cast<size_t>(
      QuantileRank(static_cast<int>(values.size())))];
}

struct ConditionsCase {
  std::string name;
  bool pointwise;
  bool specials;
  double share_of_zeros;  // among the effects
};

class ConditionsTest : public ScreenKernelsTest,
                       public testing::WithParamInterface<ConditionsCase> {};

TEST_P(ConditionsTest, AreTheDocumentedFormula) {
  const ConditionsCase& c = GetParam();
  ConditionsFormula formula;
  formula.pointwise = c.pointwise;
  formula.scale = 1.7;
  formula.underflow = 0x1p-119;
  for (const size_t n : kSizes) {
    const std::vector<double> want = RandomValues(n, 5, c.specials);
    std::vector<double> effect = RandomValues(n, 6, c.specials);
    std::mt19937_64 random(8);
    for (double& p : effect) {
      p = std::isnan(p) ? 0 : std::fabs(p) * 0x1p-20;
      if (static_cast<double>(random() % 1000) < 1000 * c.share_of_zeros) p = 0;
    }
    const Quantiles quantiles{
        SampleQuantile(SampledValue::kChange, c.pointwise, want, effect),
        SampleQuantile(SampledValue::kChanged, c.pointwise, want, effect),
        SampleQuantile(SampledValue::kRatio, c.pointwise, want, effect)};
    std::vector<double> expected;
    for (size_t i = 0; i < n; ++i) {
      expected.push_back(
          ConditionOf(formula, quantiles, std::fabs(want[i]), effect[i]));
    }
    const OnDevice<double> want_there(want);
    const OnDevice<double> effect_there(effect);
    const OnDevice<double> scratch(std::vector<double>(3, kNan));
    ASSERT_EQ(LaunchConditions(want_there.get(), effect_there.get(),
                               static_cast<int64_t>(n), formula, scratch.get(),
                               nullptr),
              cudaSuccess);
    SCOPED_TRACE(testing::Message() << n << " elements");
    ExpectSame(effect_there.Content(), expected);
  }
}

INSTANTIATE_TEST_SUITE_P(
    Cases, ConditionsTest,
    testing::Values(ConditionsCase{"Plain", false, false, 0},
                    ConditionsCase{"Specials", false, true, 0.1},
                    ConditionsCase{"Pointwise", true, true, 0.1},
                    ConditionsCase{"MostlyZero", false, false, 0.9},
                    ConditionsCase{"NoEffect", false, false, 1}),
    [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace flaggems
