#include "flaggems/comparator/ulp_error.h"

#include <algorithm>
#include <cfloat>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <ostream>
#include <random>
#include <string>

#include "flaggems/comparator/ulp.h"
#include "flaggems/core/dtype.h"
#include "gtest/gtest.h"

namespace flaggems {
namespace {

constexpr double kTiny = std::numeric_limits<double>::denorm_min();
constexpr int64_t kMost = 65536 * 1024;

struct Case {
  std::string name;
  DType dtype;
  double got;
  double want;
  int64_t units;
};

void PrintTo(const Case& c, std::ostream* os) { *os << c.name; }

class UlpErrorCaseTest : public testing::TestWithParam<Case> {};

TEST_P(UlpErrorCaseTest, CountsUnits) {
  const Case& c = GetParam();
  const UlpErrorFunction ulp_error = UlpErrorOf(c.dtype);
  EXPECT_EQ(ulp_error(c.got, c.want), c.units);
  EXPECT_EQ(ulp_error(-c.got, -c.want), -c.units);
}

INSTANTIATE_TEST_SUITE_P(
    Cases, UlpErrorCaseTest,
    testing::ValuesIn<Case>({
        {"Equal", DType::kFloat32, 3, 3, 0},
        {"OneSpacing", DType::kFloat32, 1 + 0x1p-23, 1, 1024},
        {"HalfASpacing", DType::kBFloat16, 1, 1 + 0x1p-8, -512},
        {"ComplexByParts", DType::kComplex64, 1 + 0x1p-23, 1, 1024},
        {"Float64", DType::kFloat64, 1 + 0x1p-52, 1, 1024},
        // The spacing is that above a power of two, at want.
        {"BelowAPowerOfTwo", DType::kFloat16, 1 - 0x1p-11, 1, -512},
        {"AboveAPowerOfTwo", DType::kFloat16, 1, 1 - 0x1p-11, 1024},
        {"TiesToEven", DType::kFloat32, 1 + 0x1p-34, 1, 0},
        {"TiesToEvenUp", DType::kFloat32, 1 + 0x3p-34, 1, 2},
        {"LastUnit", DType::kFloat32, 1 + 0x1.8p-34, 1, 1},
        {"WantIsZero", DType::kFloat32, 0x1p-149, 0, 1024},
        {"WantIsSubnormal", DType::kFloat16, 0x1p-24, 0x1p-25, 512},
        {"Float64Subnormal", DType::kFloat64, 3 * kTiny, kTiny, 2048},
        {"SmallestNormalFloat64", DType::kFloat64, DBL_MIN, DBL_MIN + kTiny,
         -1024},
        {"LargestFloat64", DType::kFloat64, DBL_MAX, std::nextafter(DBL_MAX, 0),
         1024},
        {"BeyondFloat32", DType::kFloat32, 0x1p200 + 0x1p177, 0x1p200, 1024},
        {"AtTheClamp", DType::kFloat32, 1 + 0x1p-7, 1, kMost},
        {"BelowTheClamp", DType::kFloat32, 1 + 0x1p-7 - 0x1p-23, 1,
         kMost - 1024},
        {"Clamped", DType::kFloat32, 2, 1, kMost},
        {"ClampedAtZero", DType::kBFloat16, -1e30, 0, -kMost},
        {"UnitsOverflow", DType::kFloat64, DBL_MAX, kTiny, kMost},
        {"DifferenceOverflows", DType::kFloat64, DBL_MAX, -DBL_MAX, kMost},
    }),
    [](const auto& info) { return info.param.name; });

// Against the definition, with the library's functions.
TEST(UlpErrorTest, IsTheErrorInSpacings) {
  std::mt19937_64 random(3);
  for (const DType dtype :
       {DType::kFloat16, DType::kBFloat16, DType::kFloat32, DType::kFloat64,
        DType::kFloat8E4M3FN, DType::kFloat8E5M2, DType::kFloat8E4M3FNUZ,
        DType::kFloat8E5M2FNUZ, DType::kFloat8E8M0FNU}) {
    const FloatFormat format = *FloatFormatOf(dtype);
    const UlpErrorFunction ulp_error(format);
    for (int i = 0; i < 20000; ++i) {
      const uint64_t bits = random();
      double want;
      std::memcpy(&want, &bits, sizeof(want));
      if (!std::isfinite(want)) continue;
      const double ulp = Ulp(format, std::fabs(want));
      const double spacings =
          std::ldexp(static_cast<double>(random() >> 11) * 0x1p-52 - 1,
                     static_cast<int>(random() % 40) - 20);
      const double got = want + spacings * ulp;
      if (!std::isfinite(got)) continue;
      const double units =
          std::ldexp(got - want, kUlpErrorBits - std::ilogb(ulp));
      ASSERT_EQ(ulp_error(got, want),
                std::nearbyint(std::clamp(units, -0x1p26, 0x1p26)))
          << TorchName(dtype) << " " << got << " " << want;
    }
  }
}

TEST(UlpErrorTest, OtherTypesHaveNoFormat) {
  EXPECT_EQ(UlpErrorOf(DType::kInt32).scale(), 0);
}

}  // namespace
}  // namespace flaggems
