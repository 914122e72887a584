#include <cfloat>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <limits>
#include <map>
#include <string>
#include <vector>

#include "flaggems/comparator/compare.h"
#include "flaggems/comparator/element.h"
#include "flaggems/comparator/testutil.h"
#include "flaggems/core/array_view.h"
#include "flaggems/core/dtype.h"
#include "gtest/gtest.h"

namespace flaggems {
namespace {

template <typename Stored>
std::string Format(DType dtype, Stored stored) {
  return FormatElement({&stored, dtype, {}, {}}, 0);
}

TEST(FormatElementTest, Float32) {
  EXPECT_EQ(Format(DType::kFloat32, 1.0000001f), "1.0000001");
  EXPECT_EQ(Format(DType::kFloat32, 0.1f), "0.1");
  EXPECT_EQ(Format(DType::kFloat32, 1.0f), "1");
  EXPECT_EQ(Format(DType::kFloat32, -0.0f), "-0");
  EXPECT_EQ(Format(DType::kFloat32, FLT_MAX), "3.4028235e+38");
  EXPECT_EQ(Format(DType::kFloat32, 1.4e-45f), "1e-45");
  EXPECT_EQ(Format(DType::kFloat32, -NAN), "nan");
  EXPECT_EQ(Format(DType::kFloat32, -HUGE_VALF), "-inf");
}

TEST(FormatElementTest, Float64) {
  EXPECT_EQ(Format(DType::kFloat64, 0.1), "0.1");
  EXPECT_EQ(Format(DType::kFloat64, 0.1 + 0.2), "0.30000000000000004");
  EXPECT_EQ(Format(DType::kFloat64, HUGE_VAL), "inf");
}

TEST(FormatElementTest, SixteenBitTypesInTheirOwnDigits) {
  EXPECT_EQ(Format<uint16_t>(DType::kFloat16, 0x2e66), "0.1");
  EXPECT_EQ(Format<uint16_t>(DType::kFloat16, 0x3c01), "1.001");
  EXPECT_EQ(Format<uint16_t>(DType::kFloat16, 0x5640), "100");
  EXPECT_EQ(Format<uint16_t>(DType::kFloat16, 0x0001), "6e-08");
  EXPECT_EQ(Format<uint16_t>(DType::kFloat16, 0xfc00), "-inf");
  EXPECT_EQ(Format<uint16_t>(DType::kBFloat16, 0x3f80), "1");
  EXPECT_EQ(Format<uint16_t>(DType::kBFloat16, 0xbf81), "-1.01");
  EXPECT_EQ(Format<uint16_t>(DType::kBFloat16, 0x7fc0), "nan");
}

// Each text belongs to one value, and is nearer to it than to all others.
template <DType kDType>
void ExpectAllDistinct(int bits) {
  std::map<std::string, double> seen;
  for (uint32_t pattern = 0; pattern < (1u << bits); ++pattern) {
    const auto stored = static_cast<StoredOf<kDType>>(pattern);
    const double value = Element<kDType>::Load(stored);
    const std::string text = Format(kDType, stored);
    if (std::isnan(value)) {
      ASSERT_EQ(text, "nan");
      continue;
    }
    const auto [it, is_new] = seen.emplace(text, value);
    ASSERT_TRUE(is_new) << text << " is " << it->second << " and " << value;
    if (!std::isfinite(value)) continue;
    const double parsed = std::strtod(text.c_str(), nullptr);
    for (int step : {-1, 1}) {
      const double next =
          Element<kDType>::Load(static_cast<StoredOf<kDType>>(pattern + step));
      if (!std::isfinite(next)) continue;
      ASSERT_LT(std::fabs(parsed - value), std::fabs(parsed - next)) << text;
    }
  }
}

TEST(FormatElementTest, EveryFloat16IsToldFromItsNeighbours) {
  ExpectAllDistinct<DType::kFloat16>(16);
}
TEST(FormatElementTest, EveryBFloat16IsToldFromItsNeighbours) {
  ExpectAllDistinct<DType::kBFloat16>(16);
}
TEST(FormatElementTest, EveryFloat8IsToldFromItsNeighbours) {
  ExpectAllDistinct<DType::kFloat8E4M3FN>(8);
  ExpectAllDistinct<DType::kFloat8E5M2>(8);
  ExpectAllDistinct<DType::kFloat8E4M3FNUZ>(8);
  ExpectAllDistinct<DType::kFloat8E5M2FNUZ>(8);
  ExpectAllDistinct<DType::kFloat8E8M0FNU>(8);
}

TEST(FormatElementTest, IntegersAndBools) {
  EXPECT_EQ(Format<int64_t>(DType::kInt64, INT64_MIN), "-9223372036854775808");
  EXPECT_EQ(Format<uint64_t>(DType::kUInt64, UINT64_MAX),
            "18446744073709551615");
  EXPECT_EQ(Format<int8_t>(DType::kInt8, -7), "-7");
  EXPECT_EQ(Format<uint8_t>(DType::kUInt8, 65), "65");
  EXPECT_EQ(Format<uint8_t>(DType::kBool, 1), "True");
  EXPECT_EQ(Format<uint8_t>(DType::kBool, 0), "False");
  EXPECT_EQ(Format<uint8_t>(DType::kBool, 2), "True");
}

TEST(FormatElementTest, Complex) {
  struct C64 {
    float re, im;
  };
  struct C32 {
    uint16_t re, im;
  };
  EXPECT_EQ(Format(DType::kComplex64, C64{1, -2}), "(1-2j)");
  EXPECT_EQ(Format(DType::kComplex64, C64{-0.0f, 0.1f}), "(-0+0.1j)");
  EXPECT_EQ(Format(DType::kComplex64, C64{NAN, HUGE_VALF}), "(nan+infj)");
  EXPECT_EQ(Format(DType::kComplex32, C32{0x2e66, 0xbc00}), "(0.1-1j)");
}

TEST(FormatElementTest, QuantisedAndUnknown) {
  EXPECT_EQ(Format<int8_t>(DType::kQInt8, -3), "-3");
  EXPECT_EQ(Format<uint8_t>(DType::kQUInt8, 200), "200");
  EXPECT_EQ(Format<int32_t>(DType::kQInt32, -70000), "-70000");
  EXPECT_EQ(Format<int32_t>(DType::kOther, 1), "?");
}

TEST(FormatElementTest, PositionIsRowMajorWhateverTheStrides) {
  const TestArray<int32_t> transposed{
      DType::kInt32, {0, 1, 2, 3, 4, 5}, {2, 3}, {1, 2}};
  EXPECT_EQ(FormatElement(transposed.view(), 1), "2");
  EXPECT_EQ(FormatElement(transposed.view(), 5), "5");
  EXPECT_EQ(FormatElement(transposed.view(), 6), "?");
  EXPECT_EQ(FormatElement(transposed.view(), -1), "?");
}

}  // namespace
}  // namespace flaggems
