#include "flaggems/statistics/tail_bounds.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <ostream>
#include <random>
#include <string>

#include "gtest/gtest.h"

namespace flaggems {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kInf = std::numeric_limits<double>::infinity();

// log of the binomial coefficient.
double LogChoose(double n, double k) {
  return std::lgamma(n + 1) - std::lgamma(k + 1) - std::lgamma(n - k + 1);
}

// The exact tails, term by term.
double BinomialTwoSidedExact(int k, int n, double p) {
  double lower = 0;
  double upper = 0;
  for (int i = 0; i <= n; ++i) {
    const double log_term = LogChoose(n, i) + (i > 0 ? i * std::log(p) : 0) +
                            (i < n ? (n - i) * std::log1p(-p) : 0);
    if (i <= k) lower += std::exp(log_term);
    if (i >= k) upper += std::exp(log_term);
  }
  return std::min(1.0, 2 * std::min(lower, upper));
}

double PoissonTwoSidedExact(int k, double mu) {
  double lower = 0;
  double upper = 0;
  for (int i = 0; i < 2000; ++i) {
    const double term = std::exp(i * std::log(mu) - mu - std::lgamma(i + 1.0));
    if (i <= k) lower += term;
    if (i >= k) upper += term;
  }
  return std::min(1.0, 2 * std::min(lower, upper));
}

// ---- Bounds: never below the exact value, nor far above it.

TEST(BoundedSumTwoSidedTest, BoundsTheExactBinomial) {
  for (const double p : {1e-4, 0.1, 0.5, 0.9, 0.9999}) {
    for (const int n : {1, 2, 10, 100, 1000}) {
      for (int k = 0; k <= n; k += 1 + n / 50) {
        const double exact = BinomialTwoSidedExact(k, n, p);
        const double bound = BoundedSumTwoSided(k, n, p);
        EXPECT_GE(bound, exact * (1 - 1e-9)) << k << " of " << n << ", " << p;
        // In logarithms the bound costs log(n) at most.
        EXPECT_LE(std::log(bound), std::log(exact) + std::log(n) + 4)
            << k << " of " << n << ", " << p;
      }
    }
  }
}

TEST(PoissonTwoSidedTest, BoundsTheExactPoisson) {
  for (const double mu : {0.01, 1.0, 30.0, 300.0}) {
    for (int k = 0; k < 800; k += 1 + k / 10) {
      const double exact = PoissonTwoSidedExact(k, mu);
      // What the sum of terms cannot resolve.
      if (exact < 1e-12) continue;
      EXPECT_GE(PoissonTwoSided(k, mu), exact * (1 - 1e-9)) << k << ", " << mu;
      EXPECT_LE(std::log(PoissonTwoSided(k, mu)), std::log(exact) + 5)
          << k << ", " << mu;
    }
  }
}

TEST(ChiSquareTest, BoundsTheExactTailOfEvenDegreesOfFreedom) {
  // With dof = 2 m, P(X >= x) is P(a Poisson count with mean x / 2 is < m).
  for (const int m : {1, 5, 100}) {
    for (const double ratio : {0.2, 0.5, 0.9, 1.1, 1.5, 2.0, 4.0}) {
      const double x = 2 * m * ratio;
      double upper = 0;
      for (int i = 0; i < m; ++i) {
        upper += std::exp(i * std::log(x / 2) - x / 2 - std::lgamma(i + 1.0));
      }
      EXPECT_GE(ChiSquareUpper(x, 2 * m), upper * (1 - 1e-9)) << x << ", " << m;
      EXPECT_GE(ChiSquareLower(x, 2 * m), (1 - upper) * (1 - 1e-9) - 1e-13)
          << x << ", " << m;
    }
  }
}

// ---- Known values.

struct ValueCase {
  std::string name;
  double got;
  double want;
};

void PrintTo(const ValueCase& c, std::ostream* os) { *os << c.name; }

class KnownValueTest : public testing::TestWithParam<ValueCase> {};

TEST_P(KnownValueTest, IsAsTabulated) {
  EXPECT_NEAR(GetParam().got, GetParam().want, 1e-9 + 1e-6 * GetParam().want);
}

INSTANTIATE_TEST_SUITE_P(
    All, KnownValueTest,
    testing::Values(
        ValueCase{"NormalAtZero", NormalTwoSided(0), 1},
        ValueCase{"NormalAt196", NormalTwoSided(1.959963984540054), 0.05},
        ValueCase{"NormalAtMinus6", NormalTwoSided(-6) * 1e9, 1.973175290},
        ValueCase{"NormalInf", NormalTwoSided(kInf), 0},
        ValueCase{"NormalNan", NormalTwoSided(kNan), 1},
        // 2 * 0.5^10
        ValueCase{"AllHeads", BoundedSumTwoSided(10, 10, 0.5), 2.0 / 1024},
        ValueCase{"AsExpected", BoundedSumTwoSided(5, 10, 0.5), 1},
        ValueCase{"WithinSlack", BoundedSumTwoSided(600, 1000, 0.5, 0.1), 1},
        ValueCase{"ZeroIsImpossible", BoundedSumTwoSided(1, 10, 0), 0},
        ValueCase{"OneIsCertain", BoundedSumTwoSided(9, 10, 1), 0},
        ValueCase{"NoneOfZero", BoundedSumTwoSided(0, 10, 0), 1},
        ValueCase{"MoreThanAll", BoundedSumTwoSided(11, 10, 0.5), 0},
        ValueCase{"NoDraws", BoundedSumTwoSided(0, 0, 0.5), 1},
        ValueCase{"SumNan", BoundedSumTwoSided(kNan, 10, 0.5), 1},
        ValueCase{"MeanNan", BoundedSumTwoSided(1, 10, kNan), 1},
        ValueCase{"PoissonNever", PoissonUpper(1, 0), 0},
        ValueCase{"PoissonNone", PoissonLower(0, 5), std::exp(-5)},
        ValueCase{"PoissonMean", PoissonUpper(5, 5), 1},
        ValueCase{"PoissonNan", PoissonUpper(kNan, 5), 1},
        ValueCase{"ChiSquareAtMean", ChiSquareTwoSided(7, 7), 1},
        ValueCase{"ChiSquareZero", ChiSquareTwoSided(0, 7), 0},
        ValueCase{"ChiSquareNan", ChiSquareTwoSided(kNan, 7), 1},
        ValueCase{"ChiSquareNoDof", ChiSquareTwoSided(3, 0), 1},
        // 2 exp(-2 * 1000 * 0.01)
        ValueCase{"Massart", KolmogorovSmirnovUpper(0.1, 1000) * 1e9,
                  2e9 * std::exp(-20)},
        ValueCase{"MassartZero", KolmogorovSmirnovUpper(0, 1000), 1},
        ValueCase{"MassartNan", KolmogorovSmirnovUpper(kNan, 1000), 1}),
    [](const auto& info) { return info.param.name; });

// ---- False alarms: a fixed seed, and three sigma of what alpha allows.

constexpr double kAlpha = 1e-3;
constexpr int kRuns = 200'000;
// kRuns * kAlpha = 200 alarms at most are expected.
constexpr int kMaxAlarms = 243;

TEST(FalseAlarmTest, BinomialCounts) {
  std::mt19937_64 engine(20261129);
  for (const double p : {0.01, 0.5, 0.97}) {
    std::binomial_distribution<int> draw(300, p);
    int alarms = 0;
    for (int run = 0; run < kRuns; ++run) {
      alarms += BoundedSumTwoSided(draw(engine), 300, p) < kAlpha;
    }
    EXPECT_LE(alarms, kMaxAlarms) << p;
    EXPECT_GE(alarms, 1) << p;  // the test does reject
  }
}

TEST(FalseAlarmTest, PoissonCounts) {
  std::mt19937_64 engine(20261129);
  for (const double mu : {0.5, 20.0}) {
    std::poisson_distribution<int> draw(mu);
    int alarms = 0;
    for (int run = 0; run < kRuns; ++run) {
      alarms += PoissonTwoSided(draw(engine), mu) < kAlpha;
    }
    EXPECT_LE(alarms, kMaxAlarms) << mu;
    EXPECT_GE(alarms, 1) << mu;
  }
}

TEST(FalseAlarmTest, ChiSquare) {
  std::mt19937_64 engine(20261129);
  for (const double dof : {0.5, 1.0, 10.0}) {
    std::chi_squared_distribution<double> draw(dof);
    int alarms = 0;
    for (int run = 0; run < kRuns; ++run) {
      alarms += ChiSquareTwoSided(draw(engine), dof) < kAlpha;
    }
    EXPECT_LE(alarms, kMaxAlarms) << dof;
    EXPECT_GE(alarms, 1) << dof;
  }
}

}  // namespace
}  // namespace flaggems
