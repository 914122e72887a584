#include "flaggems/comparator/strided_reader.h"

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <ostream>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "flaggems/core/array_view.h"
#include "flaggems/core/dtype.h"
#include "flaggems/core/status_testutil.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace flaggems {
namespace {

struct Case {
  std::string name;
  int64_t first;
  std::vector<int64_t> sizes;
  std::vector<int64_t> strides;
};

void PrintTo(const Case& c, std::ostream* os) { *os << c.name; }

class StridedReaderTest : public testing::TestWithParam<Case> {};

// The memory holds its own offsets, so a read element says where it came from.
TEST_P(StridedReaderTest, ReadsInRowMajorOrderFromAnyPositionInAnyPieces) {
  const Case& c = GetParam();
  std::vector<int32_t> memory(200);
  std::iota(memory.begin(), memory.end(), 0);
  const ArrayView view{memory.data() + c.first, DType::kInt32, c.sizes,
                       c.strides};
  ASSERT_THAT(ValidateView(view), IsOk());
  const int64_t numel = view.numel();
  std::vector<int32_t> expected;
  for (int64_t p = 0; p < numel; ++p) {
    expected.push_back(static_cast<int32_t>(c.first + OffsetOf(view, p)));
  }
  for (int64_t begin = 0; begin < numel; ++begin) {
    for (int64_t piece : {1, 2, 3, 7, 1000}) {
      StridedReader reader(view, begin);
      std::vector<int32_t> read(numel - begin, -1);
      for (int64_t p = begin; p < numel; p += piece) {
        reader.Read(std::min(piece, numel - p), &read[p - begin]);
      }
      ASSERT_EQ(read,
                std::vector<int32_t>(expected.begin() + begin, expected.end()))
          << "from " << begin << " in pieces of " << piece;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(
    Layouts, StridedReaderTest,
    testing::Values(Case{"scalar", 5, {}, {}}, Case{"ones", 0, {1, 1}, {9, 7}},
                    Case{"contiguous", 0, {2, 3, 4}, {12, 4, 1}},
                    Case{"transposed", 0, {4, 3}, {1, 4}},
                    Case{"channels_last", 0, {2, 3, 2, 2}, {12, 1, 6, 3}},
                    Case{"expanded", 3, {3, 4}, {0, 1}},
                    Case{"all_expanded", 3, {3, 4}, {0, 0}},
                    Case{"reversed", 11, {3, 4}, {-4, -1}},
                    Case{"gaps", 1, {3, 4}, {40, 5}},
                    Case{"joined_but_for_a_gap", 0, {2, 2, 3}, {10, 3, 1}}),
    [](const auto& info) { return info.param.name; });

TEST(OffsetOfTest, LastDimensionMovesFirst) {
  const int64_t sizes[] = {2, 3}, strides[] = {100, -7};
  const int32_t data[1] = {};
  const ArrayView view{data, DType::kInt32, sizes, strides};
  EXPECT_EQ(OffsetOf(view, 0), 0);
  EXPECT_EQ(OffsetOf(view, 2), -14);
  EXPECT_EQ(OffsetOf(view, 3), 100);
}

TEST(ValidateViewTest, EmptyArraysNeedNoMemory) {
  const int64_t sizes[] = {int64_t{1} << 40, int64_t{1} << 40, 0},
                strides[] = {0, 0, 1};
  EXPECT_THAT(ValidateView({nullptr, DType::kInt8, sizes, strides}), IsOk());
}

TEST(ValidateViewTest, MessagesNameTheFault) {
  const int64_t one[] = {1}, minus[] = {-4};
  const absl::Status lengths = ValidateView({nullptr, DType::kInt8, one, {}});
  EXPECT_EQ(lengths.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_NE(lengths.message().find("1 sizes but 0 strides"),
            absl::string_view::npos);
  EXPECT_NE(ValidateView({nullptr, DType::kInt8, minus, one})
                .message()
                .find("size -4"),
            absl::string_view::npos);
  EXPECT_NE(ValidateView({nullptr, DType::kInt8, one, one})
                .message()
                .find("no memory"),
            absl::string_view::npos);
}

}  // namespace
}  // namespace flaggems
