#include "flaggems/statistics/kolmogorov_smirnov.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <ostream>
#include <random>
#include <string>
#include <vector>

#include "gtest/gtest.h"

namespace flaggems {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

TEST(KolmogorovSmirnovTest, NothingSaysNothing) {
  KolmogorovSmirnov test(0);
  EXPECT_EQ(test.Distance(), 0);
  EXPECT_EQ(test.PValue(), 1);
}

TEST(KolmogorovSmirnovTest, DrawsThatSayNothingCountAsDraws) {
  KolmogorovSmirnov test(100);
  for (int i = 0; i < 100; ++i) {
    test.Add(0, 1);
    test.Add(kNan, kNan);
    test.Add(0.7, 0.3);
    test.Add(-3, 5);
  }
  EXPECT_EQ(test.count(), 400);
  EXPECT_EQ(test.Distance(), 0);
}

TEST(KolmogorovSmirnovTest, OneValueIsHalfAwayAtLeast) {
  for (const double u : {0.0, 0.25, 0.5, 1.0}) {
    KolmogorovSmirnov test(64);
    for (int i = 0; i < 64; ++i) test.Add(u, u);
    EXPECT_NEAR(test.Distance(), std::max(u, 1 - u), 1.0 / 256) << u;
    EXPECT_LT(test.PValue(), 1e-12) << u;
  }
}

TEST(KolmogorovSmirnovTest, IsNeverLargerThanTheDistanceOfTheDraws) {
  std::mt19937_64 engine(20261129);
  std::uniform_real_distribution<double> uniform(0, 1);
  for (const int n : {1, 10, 1000, 30'000}) {
    std::vector<double> draws(n);
    for (double& u : draws) u = uniform(engine);
    KolmogorovSmirnov exact(n);
    KolmogorovSmirnov rounded(n);
    for (const double u : draws) {
      exact.Add(u, u);
      rounded.Add(std::floor(u * 10) / 10, std::ceil(u * 10) / 10);
    }
    std::sort(draws.begin(), draws.end());
    double distance = 0;
    for (int i = 0; i < n; ++i) {
      distance = std::max({distance, draws[i] - static_cast<double>(i) / n,
                           static_cast<double>(i + 1) / n - draws[i]});
    }
    EXPECT_LE(exact.Distance(), distance + 1e-12) << n;
    EXPECT_GE(exact.Distance(), distance - 1.0 / 256) << n;
    EXPECT_LE(rounded.Distance(), exact.Distance() + 1.0 / 256) << n;
  }
}

// What the draws are, and the interval that each says.
struct DrawCase {
  std::string name;
  std::function<void(double u, KolmogorovSmirnov&)> add;
};

void PrintTo(const DrawCase& c, std::ostream* os) { *os << c.name; }

class RightDrawsTest : public testing::TestWithParam<DrawCase> {};

TEST_P(RightDrawsTest, AlarmNoMoreOftenThanAlpha) {
  std::mt19937_64 engine(20261129);
  std::uniform_real_distribution<double> uniform(0, 1);
  int alarms = 0;
  for (int run = 0; run < 200'000; ++run) {
    KolmogorovSmirnov test(16);
    for (int i = 0; i < 16; ++i) GetParam().add(uniform(engine), test);
    alarms += test.PValue() < 1e-3;
  }
  EXPECT_LE(alarms, 240);  // 1.2e-3
}

INSTANTIATE_TEST_SUITE_P(
    All, RightDrawsTest,
    testing::Values(DrawCase{"Exact",
                             [](double u, KolmogorovSmirnov& test) {
                               test.Add(u, u);
                             }},
                    DrawCase{"Rounded",
                             [](double u, KolmogorovSmirnov& test) {
                               const double x = std::nearbyint(u * 8) / 8;
                               test.Add(x - 1.0 / 16, x + 1.0 / 16);
                             }},
                    DrawCase{"Bernoulli",
                             [](double u, KolmogorovSmirnov& test) {
                               if (u < 0.3) {
                                 test.Add(0, 0.3);
                               } else {
                                 test.Add(0.3, 1);
                               }
                             }}),
    [](const auto& info) { return info.param.name; });

class WrongDrawsTest : public testing::TestWithParam<DrawCase> {};

TEST_P(WrongDrawsTest, Alarm) {
  std::mt19937_64 engine(20261129);
  std::uniform_real_distribution<double> uniform(0, 1);
  KolmogorovSmirnov test(100'000);
  for (int i = 0; i < 100'000; ++i) GetParam().add(uniform(engine), test);
  EXPECT_LT(test.PValue(), 1e-7);
}

INSTANTIATE_TEST_SUITE_P(
    All, WrongDrawsTest,
    testing::Values(DrawCase{"TopMissing",
                             [](double u, KolmogorovSmirnov& test) {
                               test.Add(u * 0.99, u * 0.99);
                             }},
                    DrawCase{"BottomMissing",
                             [](double u, KolmogorovSmirnov& test) {
                               test.Add(0.01 + u * 0.99, 0.01 + u * 0.99);
                             }},
                    DrawCase{"Squared",
                             [](double u, KolmogorovSmirnov& test) {
                               test.Add(u * u, u * u);
                             }},
                    DrawCase{"BernoulliOfAnotherP",
                             [](double u, KolmogorovSmirnov& test) {
                               if (u < 0.28) {
                                 test.Add(0, 0.3);
                               } else {
                                 test.Add(0.3, 1);
                               }
                             }}),
    [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace flaggems
