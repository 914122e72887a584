#include "flaggems/screen/sample_quantile.h"

#include <cmath>
#include <cstdint>
#include <limits>
#include <set>
#include <vector>

#include "flaggems/screen/conditions_formula.h"
#include "gtest/gtest.h"

namespace flaggems {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

TEST(SamplePositionTest, OneInEachOfEqualParts) {
  for (const int64_t n :
       {int64_t{1025}, int64_t{2048}, int64_t{1000003}, int64_t{1} << 33,
        std::numeric_limits<int64_t>::max()}) {
    ASSERT_EQ(SampleSize(n), kConditionsSample);
    int64_t before = -1;
    for (int64_t i = 0; i < kConditionsSample; ++i) {
      const int64_t at = SamplePosition(n, i);
      EXPECT_GT(at, before) << n;
      EXPECT_LT(at, n);
      const double part =
          static_cast<double>(at) / static_cast<double>(n) * kConditionsSample;
      EXPECT_GE(part, static_cast<double>(i) - 1) << n;
      EXPECT_LE(part, static_cast<double>(i) + 2) << n;
      before = at;
    }
  }
}

TEST(SamplePositionTest, AllOfAFewElements) {
  EXPECT_EQ(SampleSize(0), 0);
  EXPECT_EQ(SampleSize(1), 0);
  for (const int64_t n : {2, 3, 1023, 1024}) {
    ASSERT_EQ(SampleSize(n), n);
    for (int64_t i = 0; i < n; ++i) EXPECT_EQ(SamplePosition(n, i), i);
  }
}

TEST(SamplePositionTest, NotOneColumnOfRows) {
  std::set<int64_t> columns;
  for (int64_t i = 0; i < kConditionsSample; ++i) {
    columns.insert(SamplePosition(1024 * 1024, i) % 1024);
  }
  EXPECT_GT(columns.size(), 500u);
}

TEST(QuantileRankTest, NeverAboveTheMedian) {
  for (int count = 1; count <= kConditionsSample; ++count) {
    EXPECT_GE(QuantileRank(count), 0);
    EXPECT_LE(QuantileRank(count), count / 2);
  }
}

struct Sampled {
  SampledValue which;
  bool pointwise;
  double w;
  double p;
  bool has;
  double value;
};

TEST(ValueOfSampleTest, LeavesOutWhatSaysNothing) {
  const Sampled cases[] = {
      {SampledValue::kChange, false, 2, 3, true, 3},
      {SampledValue::kChange, false, 2, 0, true, 0},
      {SampledValue::kChange, true, 2, 3, false, 0},
      {SampledValue::kChanged, false, 2, 3, true, 3},
      {SampledValue::kChanged, false, 2, 0, false, 0},
      {SampledValue::kChanged, true, 2, 3, false, 0},
      {SampledValue::kRatio, false, 2, 3, true, 1.5},
      {SampledValue::kRatio, true, 2, 3, true, 1.5},
      {SampledValue::kRatio, false, 0, 3, false, 0},
      {SampledValue::kChange, false, kInf, 3, false, 0},
      {SampledValue::kChange, false, 2, kInf, false, 0},
      {SampledValue::kRatio, false, kNan, 3, false, 0},
  };
  for (const Sampled& c : cases) {
    double value = 0;
    EXPECT_EQ(ValueOfSample(c.which, c.pointwise, c.w, c.p, &value), c.has);
    if (c.has) {
      EXPECT_EQ(value, c.value);
    }
  }
}

struct Element {
  double w;
  double p;
  double condition;
};

TEST(ConditionOfTest, IsTheDocumentedFormula) {
  ConditionsFormula formula;
  formula.scale = 2;
  formula.underflow = 0x1p-100;
  formula.unit_roundoff = 0x1p-24;
  const Quantiles quantiles{0x1p-30, 0x1p-28, 0x1p-26};
  const Element cases[] = {
      {0, 0, 0x1p-5},           // the quantile of all changes
      {0, 0x1p-40, 0x1p-3},     // of those that are not 0
      {0, 1, 0x1p25},           // the element's own
      {4, 0x1p-40, 4 + 0x1p1},  // by the ratio
      {kInf, 0, kInf},         {kInf, kInf, kInf},
  };
  for (const Element& c : cases) {
    EXPECT_EQ(ConditionOf(formula, quantiles, c.w, c.p), c.condition);
  }
  EXPECT_TRUE(std::isnan(ConditionOf(formula, quantiles, kNan, 1)));
  // Nothing changed anywhere.
  EXPECT_EQ(ConditionOf(formula, Quantiles(), 3, 0), 3 + 0x1p-76);
}

}  // namespace
}  // namespace flaggems
