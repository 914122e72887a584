#include "flaggems/statistics/rounding_bias.h"

#include <cmath>
#include <cstdint>
#include <iostream>
#include <limits>
#include <ostream>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "flaggems/comparator/ulp.h"
#include "flaggems/core/dtype.h"
#include "gtest/gtest.h"

namespace flaggems {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kInf = std::numeric_limits<double>::infinity();

FloatFormat BFloat16() { return *FloatFormatOf(DType::kBFloat16); }

// A normal number rounded to the nearest value of the format, ties to even.
double Round(double value, const FloatFormat& format) {
  const double ulp = Ulp(format, std::abs(value));
  return std::nearbyint(value / ulp) * ulp;
}

// ---- RoundingStepOf()

struct StepCase {
  std::string name;
  double got;
  double want;
  double steps;
  double flip_probability;
};

void PrintTo(const StepCase& c, std::ostream* os) { *os << c.name; }

class RoundingStepTest : public testing::TestWithParam<StepCase> {};

TEST_P(RoundingStepTest, CountsFromTheCorrectlyRounded) {
  const StepCase& c = GetParam();
  const auto step = RoundingStepOf(c.got, c.want, 0x1p-12, BFloat16());
  ASSERT_TRUE(step.has_value());
  EXPECT_EQ(step->want, c.want);
  EXPECT_EQ(step->steps, c.steps);
  EXPECT_EQ(step->flip_probability, c.flip_probability);
}

// The spacing in [1, 2) is 2^-7.
INSTANTIATE_TEST_SUITE_P(
    All, RoundingStepTest,
    testing::Values(
        StepCase{"Exact", 1, 1, 0, 0x1p-4},
        StepCase{"RoundedDown", 1, 1 + 0x1p-9, 0, 0x1p-4},
        StepCase{"RoundedUp", 1 + 0x1p-7, 1 + 0x1p-7 - 0x1p-9, 0, 0x1p-4},
        StepCase{"OneUp", 1 + 0x1p-7, 1 + 0x1p-9, 1, 0x1p-4},
        StepCase{"OneDown", 1, 1 + 0x1p-7 - 0x1p-9, -1, 0x1p-4},
        StepCase{"NegativeUp", -1, -1 - 0x1p-7 + 0x1p-9, 1, 0x1p-4},
        StepCase{"NegativeDown", -1 - 0x1p-7, -1 - 0x1p-9, -1, 0x1p-4},
        StepCase{"UpToAPowerOfTwo", 2, 2 - 0x1p-7 + 0x1p-9, 1, 0x1p-4},
        StepCase{"RoundedToAPowerOfTwo", 2, 2 - 0x1p-9, 0, 0x1p-4},
        StepCase{"FourDown", 1, 1 + 0x1p-5, -4, 0x1p-4},
        StepCase{"ErrorOfAnUlp", 0x1p-7, 0x1p-7, 0, 1}),
    [](const auto& info) { return info.param.name; });

struct NoStepCase {
  std::string name;
  double got;
  double want;
  double error;
};

void PrintTo(const NoStepCase& c, std::ostream* os) { *os << c.name; }

class NoRoundingStepTest : public testing::TestWithParam<NoStepCase> {};

TEST_P(NoRoundingStepTest, SaysNothing) {
  const NoStepCase& c = GetParam();
  EXPECT_FALSE(RoundingStepOf(c.got, c.want, c.error, BFloat16()).has_value());
}

INSTANTIATE_TEST_SUITE_P(
    All, NoRoundingStepTest,
    testing::Values(
        NoStepCase{"GotNan", kNan, 1, 0}, NoStepCase{"GotInf", kInf, 1, 0},
        NoStepCase{"WantNan", 1, kNan, 0}, NoStepCase{"WantInf", kInf, kInf, 0},
        NoStepCase{"Zero", 0, 0, 0}, NoStepCase{"NegativeZero", 0, -0.0, 0},
        NoStepCase{"Subnormal", 0x1p-127, 0x1p-127, 0},
        NoStepCase{"Overflow", 0x1.fep127, 0x1.ffp127, 0},
        NoStepCase{"Middle", 1, 1 + 0x1p-8, 0},
        NoStepCase{"NegativeMiddle", -1, -1 - 0x1p-8, 0},
        NoStepCase{"NearlyTheMiddle", 1, 1 + 0x1p-8 + 0x1p-30, 0},
        NoStepCase{"ErrorNan", 1, 1, kNan},
        NoStepCase{"ErrorNegative", 1, 1, -1}),
    [](const auto& info) { return info.param.name; });

// ---- RoundingBias

TEST(RoundingBiasTest, NothingIsNotSignificant) {
  RoundingBias bias;
  bias.Add({});
  const RoundingBias::Summary summary = bias.summary();
  EXPECT_EQ(summary.counted, 0);
  EXPECT_EQ(summary.mean_ulps, 0);
  EXPECT_FALSE(summary.significant);
}

TEST(RoundingBiasTest, IsReportedOnce) {
  RoundingBias bias;
  EXPECT_TRUE(bias.MarkReported());
  EXPECT_FALSE(bias.MarkReported());
  bias.Reset();
  EXPECT_TRUE(bias.MarkReported());
}

TEST(RoundingBiasTest, NearlyEqualElementsCountOnce) {
  RoundingBias bias;
  for (int i = 0; i < 1000; ++i) {
    const std::vector<RoundingStep> steps = {{1.5 + i * 0x1p-40, 1, 1e-6}};
    bias.Add(steps);
  }
  EXPECT_EQ(bias.summary().counted, 1);
  EXPECT_EQ(bias.summary().ups, 1);
  EXPECT_FALSE(bias.summary().significant);
}

// A few values that happen to lie next to a tie.
TEST(RoundingBiasTest, AHandfulOfFlipsIsNotSignificant) {
  RoundingBias bias;
  for (int i = 0; i < 7; ++i) {
    const std::vector<RoundingStep> steps = {{1.0 + i, 1, 1e-12}};
    bias.Add(steps);
  }
  EXPECT_LT(bias.summary().p_value, 1e-9);
  EXPECT_FALSE(bias.summary().significant);
  bias.Add(std::vector<RoundingStep>{{100, 1, 1e-12}});
  EXPECT_TRUE(bias.summary().significant);
}

TEST(RoundingBiasTest, EachSideIsJudgedAlone) {
  for (const double side : {-1.0, 1.0}) {
    RoundingBias bias;
    for (int i = 0; i < 100; ++i) {
      bias.Add(std::vector<RoundingStep>{{100.0 + i, i < 20 ? side : 0, 1e-3}});
    }
    const RoundingBias::Summary summary = bias.summary();
    EXPECT_EQ(summary.ups, side > 0 ? 20 : 0);
    EXPECT_EQ(summary.downs, side < 0 ? 20 : 0);
    EXPECT_DOUBLE_EQ(summary.mean_ulps, side * 0.2);
    EXPECT_NEAR(summary.expected_flips, 0.1, 1e-12);
    EXPECT_TRUE(summary.significant);
  }
}

TEST(RoundingBiasTest, CountsNoMoreThanItsLimit) {
  RoundingBias bias;
  std::vector<RoundingStep> steps;
  for (int i = 0; i < 70'000; ++i) {
    steps.push_back({1.0 + i, 0, 0.5});
    steps.push_back({-1.0 - i, 0, 0.5});
  }
  bias.Add(steps);
  EXPECT_EQ(bias.summary().counted, RoundingBias::kMaxElements);
  EXPECT_DOUBLE_EQ(bias.summary().expected_flips,
                   RoundingBias::kMaxElements / 2.0);
}

TEST(RoundingBiasTest, CountsWhatThreadsAdd) {
  RoundingBias bias;
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([t, &bias] {
      for (int i = 0; i < 1000; ++i) {
        bias.Add(std::vector<RoundingStep>{{1.0 + 1000 * t + i, 1, 1}});
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(bias.summary().counted, 4000);
  EXPECT_EQ(bias.summary().ups, 4000);
}

// x * y + z in float32, rounded once.
TEST(RightKernelTest, StaysSilent) {
  for (const DType dtype : {DType::kBFloat16, DType::kFloat16}) {
    const FloatFormat format = *FloatFormatOf(dtype);
    std::mt19937_64 engine(20261129);
    std::normal_distribution<double> normal;
    RoundingBias bias;
    int64_t flips = 0;
    for (int i = 0; i < 1'000'000; ++i) {
      const auto x = static_cast<float>(normal(engine));
      const auto y = static_cast<float>(normal(engine));
      const auto z = static_cast<float>(normal(engine));
      const float product = x * y;
      const float sum = product + z;
      const double want = static_cast<double>(x) * y + z;
      const double error =
          0x1p-23 * (std::abs(static_cast<double>(x) * y) + std::abs(z));
      const auto step = RoundingStepOf(Round(sum, format), want, error, format);
      if (!step.has_value()) continue;
      flips += step->steps != 0;
      bias.Add({&*step, 1});
    }
    const RoundingBias::Summary summary = bias.summary();
    EXPECT_GT(summary.counted, 30'000);
    EXPECT_GT(flips, 5);  // right kernels do round the other way at times
    EXPECT_FALSE(summary.significant)
        << summary.ups << " up, " << summary.downs << " down, expected at most "
        << summary.expected_flips;
  }
}

// Data that repeat: the same few values, one of which lies next to a tie.
TEST(RightKernelTest, StaysSilentOnConstantData) {
  RoundingBias bias;
  const double next_to_a_tie = 1 + 0x1p-8 + 0x1p-25;
  for (int i = 0; i < 1'000'000; ++i) {
    const auto step = RoundingStepOf(1, next_to_a_tie, 0x1p-24, BFloat16());
    ASSERT_TRUE(step.has_value());
    ASSERT_EQ(step->steps, -1);
    bias.Add({&*step, 1});
  }
  EXPECT_EQ(bias.summary().downs, 1);
  EXPECT_FALSE(bias.summary().significant);
}

// Each call gives the mean of 4,096 numbers, divided by 4,095: too large by
// 2^-12, a thirtieth to a sixteenth of an ulp of bfloat16.
TEST(WrongKernelTest, MeanOverOneLessIsReportedAfterSomeCalls) {
  const FloatFormat format = BFloat16();
  std::mt19937_64 engine(20261129);
  std::uniform_real_distribution<double> uniform(0, 1);
  RoundingBias bias;
  int calls = 0;
  while (calls < 2000 && !bias.summary().significant) {
    ++calls;
    double sum = 0;
    for (int i = 0; i < 4096; ++i) sum += static_cast<float>(uniform(engine));
    const double want = sum / 4096;
    const double got = Round(static_cast<float>(sum / 4095), format);
    // Of a right sum in blocks: a few roundings of float32.
    const auto step = RoundingStepOf(got, want, 8 * 0x1p-24 * want, format);
    if (step.has_value()) bias.Add({&*step, 1});
  }
  RecordProperty("calls", calls);
  const RoundingBias::Summary summary = bias.summary();
  std::cout << "reported after " << calls << " calls: " << summary.ups
            << " up of " << summary.counted << ", expected at most "
            << summary.expected_flips << "\n";
  EXPECT_TRUE(summary.significant);
  EXPECT_GT(summary.ups, 0);
  EXPECT_EQ(summary.downs, 0);
  EXPECT_GT(summary.mean_ulps, 0);
}

}  // namespace
}  // namespace flaggems
