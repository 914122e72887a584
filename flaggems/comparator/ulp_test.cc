#include "flaggems/comparator/ulp.h"

#include <cfloat>
#include <cmath>
#include <cstdint>
#include <limits>
#include <ostream>
#include <string>
#include <vector>

#include "flaggems/comparator/testutil.h"
#include "flaggems/core/dtype.h"
#include "gtest/gtest.h"

namespace flaggems {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();

// ---- Types of 8 and 16 bits: against every value they have.

struct Case {
  std::string name;
  DType dtype;
};

void PrintTo(const Case& c, std::ostream* os) { *os << c.name; }

class UlpOfSmallTypesTest : public testing::TestWithParam<Case> {};

TEST_P(UlpOfSmallTypesTest, IsTheDistanceToTheNextValue) {
  const FloatFormat format = *FloatFormatOf(GetParam().dtype);
  const std::vector<double> values = FiniteValues(GetParam().dtype);
  ASSERT_GT(values.size(), 100u);
  for (size_t i = 0; i + 1 < values.size(); ++i) {
    const double gap = values[i + 1] - values[i];
    EXPECT_EQ(Ulp(format, values[i]), gap) << values[i];
    EXPECT_EQ(Ulp(format, values[i] + gap / 2), gap) << values[i];
    EXPECT_EQ(Ulp(format, std::nextafter(values[i + 1], 0)), gap) << values[i];
  }
}

TEST_P(UlpOfSmallTypesTest, OverflowsHalfASpacingAboveTheLargestValue) {
  const FloatFormat format = *FloatFormatOf(GetParam().dtype);
  const double largest = FiniteValues(GetParam().dtype).back();
  const double middle = largest + Ulp(format, largest) / 2;
  // In E4M3FN NaN takes the place of the odd value, and the tie stays.
  if (GetParam().dtype == DType::kFloat8E4M3FN) {
    EXPECT_EQ(format.overflow, std::nextafter(middle, kInf));
  } else {
    EXPECT_EQ(format.overflow, middle);
  }
}

TEST_P(UlpOfSmallTypesTest, SmallestNormalStartsTheSecondBinade) {
  const FloatFormat format = *FloatFormatOf(GetParam().dtype);
  const double normal = format.smallest_normal();
  const double smallest_gap = Ulp(format, 0);
  EXPECT_EQ(smallest_gap, std::ldexp(normal, -format.fraction_bits));
  EXPECT_EQ(Ulp(format, std::nextafter(2 * normal, 0)), smallest_gap);
  EXPECT_EQ(Ulp(format, 2 * normal), 2 * smallest_gap);
  bool found = false;
  for (double value : FiniteValues(GetParam().dtype)) found |= value == normal;
  EXPECT_TRUE(found);
}

TEST_P(UlpOfSmallTypesTest, InfinityIsAsStored) {
  EXPECT_EQ(FloatFormatOf(GetParam().dtype)->has_infinity,
            HasInfinity(GetParam().dtype));
}

INSTANTIATE_TEST_SUITE_P(
    DTypes, UlpOfSmallTypesTest,
    testing::Values(Case{"float8_e8m0fnu", DType::kFloat8E8M0FNU},
                    Case{"float8_e4m3fnuz", DType::kFloat8E4M3FNUZ},
                    Case{"float8_e5m2fnuz", DType::kFloat8E5M2FNUZ},
                    Case{"float8_e4m3fn", DType::kFloat8E4M3FN},
                    Case{"float8_e5m2", DType::kFloat8E5M2},
                    Case{"bfloat16", DType::kBFloat16},
                    Case{"float16", DType::kFloat16},
                    Case{"complex32", DType::kComplex32}),
    [](const auto& info) { return info.param.name; });

// ---- float32 and float64: against nextafter.

TEST(UlpTest, OfFloat32IsNextafters) {
  const FloatFormat format = *FloatFormatOf(DType::kFloat32);
  std::vector<float> values = {0,
                               FLT_TRUE_MIN,
                               3 * FLT_TRUE_MIN,
                               std::nextafter(FLT_MIN, 0.0f),
                               FLT_MIN,
                               std::nextafter(FLT_MIN, 1.0f),
                               std::nextafter(2 * FLT_MIN, 0.0f),
                               2 * FLT_MIN,
                               1.5f,
                               3.14159274f,
                               16777215.0f,
                               16777216.0f,
                               std::nextafter(FLT_MAX, 0.0f)};
  for (int e = -126; e < 128; ++e) {
    const float power = std::ldexp(1.0f, e);
    values.push_back(power);
    values.push_back(std::nextafter(power, 0.0f));
  }
  for (const float value : values) {
    const float next = std::nextafter(value, HUGE_VALF);
    const double gap = static_cast<double>(next) - value;
    EXPECT_EQ(Ulp(format, value), gap) << value;
    // A double in between has the spacing of the value below it.
    EXPECT_EQ(Ulp(format, value + 0.75 * gap), gap) << value;
    EXPECT_EQ(Ulp(format, std::nextafter(double{next}, 0)), gap) << value;
  }
  EXPECT_EQ(Ulp(format, 5e-324), FLT_TRUE_MIN);
  EXPECT_EQ(Ulp(format, FLT_MAX), 0x1p104);
  EXPECT_EQ(Ulp(format, 0x1p128), 0x1p105);  // as if there were more exponents
  EXPECT_EQ(Ulp(format, DBL_MAX), 0x1p1000);
  EXPECT_EQ(format.smallest_normal(), double{FLT_MIN});
  // The smallest double that a conversion takes to Inf.
  EXPECT_EQ(format.overflow, FLT_MAX + 0x1p103);
  EXPECT_TRUE(std::isinf(static_cast<float>(format.overflow)));
  EXPECT_EQ(static_cast<float>(std::nextafter(format.overflow, 0)), FLT_MAX);
}

TEST(UlpTest, OfFloat64IsNextafters) {
  const FloatFormat format = *FloatFormatOf(DType::kFloat64);
  std::vector<double> values = {0,
                                DBL_TRUE_MIN,
                                3 * DBL_TRUE_MIN,
                                std::nextafter(DBL_MIN, 0.0),
                                DBL_MIN,
                                std::nextafter(2 * DBL_MIN, 0.0),
                                2 * DBL_MIN,
                                std::nextafter(1.0, 0.0),
                                1,
                                1.5,
                                9007199254740991.0,
                                9007199254740992.0,
                                std::nextafter(DBL_MAX, 0.0)};
  for (const double value : values) {
    EXPECT_EQ(Ulp(format, value), std::nextafter(value, kInf) - value) << value;
  }
  EXPECT_EQ(Ulp(format, DBL_MAX), 0x1p971);
  EXPECT_EQ(format.smallest_normal(), DBL_MIN);
  EXPECT_EQ(format.overflow, kInf);
}

TEST(FloatFormatTest, OfComplexIsThatOfItsParts) {
  EXPECT_EQ(FloatFormatOf(DType::kComplex64)->fraction_bits, 23);
  EXPECT_EQ(FloatFormatOf(DType::kComplex128)->fraction_bits, 52);
}

TEST(FloatFormatTest, ExactlyFloatingTypesHaveOne) {
  for (int i = 0; i < kNumDTypes; ++i) {
    const DType dtype = static_cast<DType>(i);
    EXPECT_EQ(FloatFormatOf(dtype).has_value(),
              IsFloating(dtype) || IsComplex(dtype))
        << TorchName(dtype);
  }
}

}  // namespace
}  // namespace flaggems
