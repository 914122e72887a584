#include "flaggems/core/python_float.h"

#include <cstdint>
#include <cstring>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "absl/strings/numbers.h"
#include "gtest/gtest.h"

namespace flaggems {
namespace {

using ::testing::TestParamInfo;
using ::testing::TestWithParam;
using ::testing::ValuesIn;

constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

struct Case {
  std::string name;
  double value;
  std::string want;  // what Python 3.11 prints
};

void PrintTo(const Case& c, std::ostream* os) { *os << c.want; }

class FormatPythonFloatTest : public TestWithParam<Case> {};

TEST_P(FormatPythonFloatTest, IsRepr) {
  EXPECT_EQ(FormatPythonFloat(GetParam().value), GetParam().want);
}

INSTANTIATE_TEST_SUITE_P(
    Numbers, FormatPythonFloatTest,
    ValuesIn(std::vector<Case>{
        {"Nan", kNan, "nan"},
        {"NegativeNan", -kNan, "nan"},
        {"Inf", kInf, "inf"},
        {"NegativeInf", -kInf, "-inf"},
        {"Zero", 0.0, "0.0"},
        {"NegativeZero", -0.0, "-0.0"},
        {"SmallestSubnormal", 5e-324, "5e-324"},
        {"Largest", 1.7976931348623157e308, "1.7976931348623157e+308"},
        {"LastPlainSmall", 0.0001, "0.0001"},
        {"FirstExponentSmall", 1e-5, "1e-05"},
        {"SmallDigits", 0.00012345, "0.00012345"},
        {"SmallDigitsExponent", 1.2345e-5, "1.2345e-05"},
        {"LastPlainLarge", 9999999999999998.0, "9999999999999998.0"},
        {"FirstExponentLarge", 1e16, "1e+16"},
        {"LargeDigitsExponent", 1.5e16, "1.5e+16"},
        {"ThreeDigitExponent", 1e100, "1e+100"},
        {"Hundred", 100.0, "100.0"},
        {"MiddlePoint", 123.456, "123.456"},
        {"Negative", -1.5, "-1.5"},
        {"Hundredth", 0.01, "0.01"},
        {"Shortest", 0.1 + 0.2, "0.30000000000000004"},
        {"One", 1.0, "1.0"},
    }),
    [](const TestParamInfo<Case>& info) { return info.param.name; });

TEST(FormatPythonFloatRandomTest, ReadsBackAsTheSameDouble) {
  constexpr uint64_t kSeed = 20261129;
  std::mt19937_64 random(kSeed);
  for (int i = 0; i < 20000; ++i) {
    const uint64_t bits = random();
    double value;
    std::memcpy(&value, &bits, sizeof(value));
    if (value != value || value == kInf || value == -kInf) continue;
    double back = 0;
    ASSERT_TRUE(absl::SimpleAtod(FormatPythonFloat(value), &back));
    ASSERT_EQ(back, value) << FormatPythonFloat(value) << ", seed " << kSeed;
  }
}

}  // namespace
}  // namespace flaggems
