#include "flaggems/core/value_desc.h"

#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "flaggems/core/dtype.h"
#include "gtest/gtest.h"

namespace flaggems {
namespace {

using ::testing::TestParamInfo;
using ::testing::TestWithParam;
using ::testing::ValuesIn;

struct ShapeCase {
  std::string name;
  std::vector<int64_t> sizes;
  std::string want;
};

void PrintTo(const ShapeCase& c, std::ostream* os) { *os << c.name; }

class FormatShapeTest : public TestWithParam<ShapeCase> {};

TEST_P(FormatShapeTest, IsPythonTuple) {
  EXPECT_EQ(FormatShape(GetParam().sizes), GetParam().want);
}

INSTANTIATE_TEST_SUITE_P(Shapes, FormatShapeTest,
                         ValuesIn(std::vector<ShapeCase>{
                             {"Empty1d", {0}, "(0,)"},
                             {"ZeroD", {}, "()"},
                             {"OneD", {5}, "(5,)"},
                             {"TwoD", {2, 3}, "(2, 3)"},
                             {"FiveD", {1, 2, 0, 4, 5}, "(1, 2, 0, 4, 5)"},
                             {"Largest",
                              {std::numeric_limits<int64_t>::max()},
                              "(9223372036854775807,)"},
                         }),
                         [](const TestParamInfo<ShapeCase>& info) {
                           return info.param.name;
                         });

const ValueDesc kNone;
const ValueDesc kF16 = ValueDesc::Tensor(DType::kFloat16, {2, 3});
const ValueDesc kScalar = ValueDesc::Tensor(DType::kInt64, {});

struct ValueCase {
  std::string name;
  ValueDesc value;
  std::string want;
};

void PrintTo(const ValueCase& c, std::ostream* os) { *os << c.name; }

class FormatValueTest : public TestWithParam<ValueCase> {};

TEST_P(FormatValueTest, IsAsTheOriginalLogsIt) {
  EXPECT_EQ(FormatValue(GetParam().value), GetParam().want);
}

INSTANTIATE_TEST_SUITE_P(
    Values, FormatValueTest,
    ValuesIn(std::vector<ValueCase>{
        {"None", kNone, "None"},
        {"EmptyList", ValueDesc::List({}), "[]"},
        {"ListOfNone", ValueDesc::List({kNone}), "[]"},
        {"NoneAndEmptyLeftOut",
         ValueDesc::List({kNone, kF16, ValueDesc::List({}), kScalar}),
         "[(2, 3):torch.float16, ():torch.int64]"},
        {"Tensor", kF16, "(2, 3):torch.float16"},
        {"ZeroD", kScalar, "():torch.int64"},
        {"Nested",
         ValueDesc::List({ValueDesc::List({kF16, ValueDesc::List({kScalar})}),
                          kF16}),
         "[[(2, 3):torch.float16, [():torch.int64]], (2, 3):torch.float16]"},
    }),
    [](const TestParamInfo<ValueCase>& info) { return info.param.name; });

}  // namespace
}  // namespace flaggems
