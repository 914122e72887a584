#include "flaggems/core/array_view.h"

#include <cstdint>
#include <string>
#include <vector>

#include "flaggems/core/dtype.h"
#include "gtest/gtest.h"

namespace flaggems {
namespace {

using ::testing::TestParamInfo;
using ::testing::TestWithParam;
using ::testing::ValuesIn;

struct Case {
  std::string name;
  std::vector<int64_t> sizes;
  std::vector<int64_t> strides;
  int64_t numel;
  bool contiguous;
};

void PrintTo(const Case& c, std::ostream* os) { *os << c.name; }

class ArrayViewTest : public TestWithParam<Case> {};

TEST_P(ArrayViewTest, NumelAndContiguity) {
  ArrayView view;
  view.dtype = DType::kFloat32;
  view.sizes = GetParam().sizes;
  view.strides = GetParam().strides;
  EXPECT_EQ(view.numel(), GetParam().numel);
  EXPECT_EQ(view.is_contiguous(), GetParam().contiguous);
}

INSTANTIATE_TEST_SUITE_P(
    Layouts, ArrayViewTest,
    ValuesIn(std::vector<Case>{
        {"NoElementsAnyStride", {3, 0, 2}, {7, -1, 9}, 0, true},
        {"Expanded", {4, 3}, {0, 1}, 12, false},
        {"ExpandedScalar", {4}, {0}, 4, false},
        {"Reversed", {4}, {-1}, 4, false},
        {"SizeOneAnyStride", {2, 1, 3}, {3, 99, 1}, 6, true},
        {"ZeroD", {}, {}, 1, true},
        {"RowMajor", {2, 3}, {3, 1}, 6, true},
        {"Transposed", {3, 2}, {1, 3}, 6, false},
        {"EverySecond", {5}, {2}, 5, false},
    }),
    [](const TestParamInfo<Case>& info) { return info.param.name; });

}  // namespace
}  // namespace flaggems
