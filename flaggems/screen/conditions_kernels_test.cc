#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "flaggems/screen/conditions_formula.h"
#include "flaggems/screen/conditions_launch.h"
#include "flaggems/screen/cuda_testutil.h"
#include "flaggems/screen/sample_quantile.h"
#include "gtest/gtest.h"

namespace flaggems {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

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

using EffectTest = GpuTest;

TEST_F(EffectTest, EffectIsTheLargestChange) {
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

class ConditionsTest : public GpuTest,
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
