#include "flaggems/core/dtype.h"

#include <set>
#include <string>

#include "gtest/gtest.h"

namespace flaggems {
namespace {

using ::testing::TestParamInfo;
using ::testing::TestWithParam;
using ::testing::ValuesIn;

struct Case {
  std::string name;
  DType dtype;
  size_t size;
  bool floating;
  bool complex;
  bool integral;
  bool half;
};

void PrintTo(const Case& c, std::ostream* os) { *os << c.name; }

// In enum order; the names are those of print(torch.<dtype>).
const Case kCases[] = {
    {"bool", DType::kBool, 1, false, false, true, false},
    {"uint8", DType::kUInt8, 1, false, false, true, false},
    {"int8", DType::kInt8, 1, false, false, true, false},
    {"int16", DType::kInt16, 2, false, false, true, false},
    {"int32", DType::kInt32, 4, false, false, true, false},
    {"int64", DType::kInt64, 8, false, false, true, false},
    {"uint16", DType::kUInt16, 2, false, false, true, false},
    {"uint32", DType::kUInt32, 4, false, false, true, false},
    {"uint64", DType::kUInt64, 8, false, false, true, false},
    {"float16", DType::kFloat16, 2, true, false, false, true},
    {"bfloat16", DType::kBFloat16, 2, true, false, false, true},
    {"float32", DType::kFloat32, 4, true, false, false, false},
    {"float64", DType::kFloat64, 8, true, false, false, false},
    {"complex32", DType::kComplex32, 4, false, true, false, false},
    {"complex64", DType::kComplex64, 8, false, true, false, false},
    {"complex128", DType::kComplex128, 16, false, true, false, false},
    {"float8_e4m3fn", DType::kFloat8E4M3FN, 1, true, false, false, false},
    {"float8_e5m2", DType::kFloat8E5M2, 1, true, false, false, false},
    {"float8_e4m3fnuz", DType::kFloat8E4M3FNUZ, 1, true, false, false, false},
    {"float8_e5m2fnuz", DType::kFloat8E5M2FNUZ, 1, true, false, false, false},
    {"float8_e8m0fnu", DType::kFloat8E8M0FNU, 1, true, false, false, false},
    {"qint8", DType::kQInt8, 1, false, false, false, false},
    {"quint8", DType::kQUInt8, 1, false, false, false, false},
    {"qint32", DType::kQInt32, 4, false, false, false, false},
    {"unknown", DType::kOther, 0, false, false, false, false},
};

class DTypeTest : public TestWithParam<Case> {};

TEST_P(DTypeTest, HasNameSizeAndKind) {
  const Case& c = GetParam();
  EXPECT_EQ(TorchName(c.dtype), "torch." + c.name);
  EXPECT_EQ(ElementSize(c.dtype), c.size);
  EXPECT_EQ(IsFloating(c.dtype), c.floating);
  EXPECT_EQ(IsComplex(c.dtype), c.complex);
  EXPECT_EQ(IsIntegral(c.dtype), c.integral);
  EXPECT_EQ(IsHalfPrecision(c.dtype), c.half);
}

INSTANTIATE_TEST_SUITE_P(All, DTypeTest, ValuesIn(kCases),
                         [](const TestParamInfo<Case>& info) {
                           return info.param.name;
                         });

TEST(DTypeTableTest, CasesAboveCoverTheEnum) {
  ASSERT_EQ(std::size(kCases), static_cast<size_t>(kNumDTypes));
  for (int i = 0; i < kNumDTypes; ++i) {
    EXPECT_EQ(kCases[i].dtype, static_cast<DType>(i)) << kCases[i].name;
  }
}

TEST(DTypeTableTest, ValueOutsideTheEnumIsOther) {
  EXPECT_EQ(TorchName(static_cast<DType>(kNumDTypes)), "torch.unknown");
  EXPECT_EQ(ElementSize(static_cast<DType>(255)), 0u);
}

}  // namespace
}  // namespace flaggems
