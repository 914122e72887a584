#include "flaggems/comparator/element.h"

#include <cmath>
#include <cstdint>
#include <limits>
#include <ostream>
#include <string>

#include "gtest/gtest.h"

namespace flaggems {
namespace {

// An 8- or 16-bit format by its numbers; the oracle evaluates the definition
// with ldexp, the decoders shift bits.
struct Format {
  std::string name;
  int bits;
  int exponent_bits;
  int bias;
  enum { kIeee, kNanAllOnes, kNanNegativeZero } special;
  double (*decode)(uint32_t bits);
};

void PrintTo(const Format& format, std::ostream* os) { *os << format.name; }

double Oracle(const Format& format, uint32_t pattern) {
  const int fraction_bits = format.bits - 1 - format.exponent_bits;
  const int fraction = pattern % (1u << fraction_bits);
  const int exponent =
      (pattern >> fraction_bits) % (1u << format.exponent_bits);
  const bool negative = (pattern >> (format.bits - 1)) != 0;
  const int max_exponent = (1 << format.exponent_bits) - 1;
  const double sign = negative ? -1.0 : 1.0;
  if (format.special == Format::kIeee && exponent == max_exponent) {
    if (fraction != 0) return std::numeric_limits<double>::quiet_NaN();
    return sign * std::numeric_limits<double>::infinity();
  }
  if (format.special == Format::kNanAllOnes && exponent == max_exponent &&
      fraction == (1 << fraction_bits) - 1) {
    return std::numeric_limits<double>::quiet_NaN();
  }
  if (format.special == Format::kNanNegativeZero && negative && exponent == 0 &&
      fraction == 0) {
    return std::numeric_limits<double>::quiet_NaN();
  }
  const double significand =
      (exponent == 0 ? 0.0 : 1.0) + std::ldexp(fraction, -fraction_bits);
  return sign *
         std::ldexp(significand, (exponent == 0 ? 1 : exponent) - format.bias);
}

class FormatTest : public testing::TestWithParam<Format> {};

TEST_P(FormatTest, EveryBitPatternHasItsDefinedValue) {
  const Format& format = GetParam();
  for (uint32_t pattern = 0; pattern < (1u << format.bits); ++pattern) {
    const double got = format.decode(pattern);
    const double want = Oracle(format, pattern);
    if (std::isnan(want)) {
      ASSERT_TRUE(std::isnan(got)) << "pattern " << pattern << " gives " << got;
    } else {
      ASSERT_EQ(got, want) << "pattern " << pattern;
      ASSERT_EQ(std::signbit(got), std::signbit(want)) << "pattern " << pattern;
    }
  }
}

template <auto kDecode>
double Decode(uint32_t bits) {
  return kDecode(bits);
}

INSTANTIATE_TEST_SUITE_P(
    Formats, FormatTest,
    testing::Values(
        Format{"float16", 16, 5, 15, Format::kIeee, &Decode<&DecodeFloat16>},
        Format{"bfloat16", 16, 8, 127, Format::kIeee, &Decode<&DecodeBFloat16>},
        Format{"float8_e4m3fn", 8, 4, 7, Format::kNanAllOnes,
               &Decode<&DecodeFloat8E4M3FN>},
        Format{"float8_e5m2", 8, 5, 15, Format::kIeee,
               &Decode<&DecodeFloat8E5M2>},
        Format{"float8_e4m3fnuz", 8, 4, 8, Format::kNanNegativeZero,
               &Decode<&DecodeFloat8E4M3FNUZ>},
        Format{"float8_e5m2fnuz", 8, 5, 16, Format::kNanNegativeZero,
               &Decode<&DecodeFloat8E5M2FNUZ>}),
    [](const auto& info) { return info.param.name; });

TEST(DecodeFloat8E8M0FNUTest, IsAPowerOfTwo) {
  for (int pattern = 0; pattern < 255; ++pattern) {
    EXPECT_EQ(DecodeFloat8E8M0FNU(static_cast<uint8_t>(pattern)),
              std::ldexp(1.0, pattern - 127));
  }
  EXPECT_TRUE(std::isnan(DecodeFloat8E8M0FNU(255)));
}

TEST(ElementTest, StoredSizeIsTheElementSize) {
  for (int i = 0; i < kNumDTypes; ++i) {
    const DType dtype = static_cast<DType>(i);
    VisitElementType(dtype, [dtype](auto tag) {
      EXPECT_EQ(sizeof(StoredOf<tag.value>), ElementSize(dtype))
          << TorchName(dtype);
    });
  }
}

TEST(ElementTest, IntegersAreExactAtTheirEnds) {
  EXPECT_EQ(Element<DType::kInt64>::Load(INT64_MIN), INT64_MIN);
  EXPECT_EQ(Element<DType::kUInt64>::Load(UINT64_MAX), UINT64_MAX);
  EXPECT_EQ(Element<DType::kUInt32>::Load(UINT32_MAX), int64_t{UINT32_MAX});
  EXPECT_EQ(Element<DType::kInt8>::Load(-128), -128);
}

TEST(ElementTest, AnyByteButZeroIsTrue) {
  EXPECT_EQ(Element<DType::kBool>::Load(0), 0);
  EXPECT_EQ(Element<DType::kBool>::Load(1), 1);
  EXPECT_EQ(Element<DType::kBool>::Load(255), 1);
}

TEST(ElementTest, QuantisedAndUnknownTypesHaveNoElement) {
  const auto fail = [](auto) { ADD_FAILURE(); };
  EXPECT_FALSE(VisitElementType(DType::kQInt8, fail));
  EXPECT_FALSE(VisitElementType(DType::kQUInt8, fail));
  EXPECT_FALSE(VisitElementType(DType::kQInt32, fail));
  EXPECT_FALSE(VisitElementType(DType::kOther, fail));
}

}  // namespace
}  // namespace flaggems
