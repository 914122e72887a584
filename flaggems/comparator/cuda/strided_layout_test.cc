#include "flaggems/comparator/cuda/strided_layout.h"

#include <cstdint>
#include <limits>
#include <vector>

#include "gtest/gtest.h"

namespace flaggems {
namespace {

template <typename Index>
void ExpectQuotients(const std::vector<Index>& numbers) {
  for (const Index divisor : numbers) {
    if (divisor == 0) continue;
    const FastDivisor<Index> fast(divisor);
    for (const Index n : numbers) {
      EXPECT_EQ(fast.Quotient(n), n / divisor) << n << " / " << divisor;
    }
  }
}

// Around the powers of two and some primes, below half the range.
template <typename Index>
std::vector<Index> Numbers() {
  std::vector<Index> numbers = {0, 1, 2, 3, 5, 7, 10, 641, 65521, 1000003};
  const Index most = std::numeric_limits<Index>::max() / 2;
  for (Index power = 4; power != 0 && power - 1 <= most; power *= 2) {
    numbers.push_back(power - 1);
    if (power > most) break;
    numbers.push_back(power);
    numbers.push_back(power + 1);
    numbers.push_back(power / 3 * 2);
  }
  return numbers;
}

TEST(FastDivisorTest, Of32Bits) {
  ExpectQuotients<uint32_t>(Numbers<uint32_t>());
}
TEST(FastDivisorTest, Of64Bits) {
  ExpectQuotients<uint64_t>(Numbers<uint64_t>());
}

struct Views {
  std::vector<int64_t> sizes, got_strides, want_strides;
  JoinedDimensions Joined() const {
    return JoinDimensions({nullptr, DType::kFloat32, sizes, got_strides},
                          {nullptr, DType::kFloat64, sizes, want_strides});
  }
};

TEST(JoinDimensionsTest, JoinsWhatOneStrideCoversInBoth) {
  EXPECT_EQ((Views{{}, {}, {}}).Joined().rank, 0);
  EXPECT_EQ((Views{{1, 1}, {5, 3}, {9, 9}}).Joined().rank, 0);
  EXPECT_EQ((Views{{2, 3, 4}, {12, 4, 1}, {12, 4, 1}}).Joined().rank, 1);
  EXPECT_EQ((Views{{2, 3, 4}, {12, 4, 1}, {24, 4, 1}}).Joined().rank, 2);
  EXPECT_EQ((Views{{2, 3, 4}, {0, 0, 0}, {12, 4, 1}}).Joined().rank, 1);
  EXPECT_EQ((Views{{2, 3}, {1, 2}, {1, 2}}).Joined().rank, 2);
}

TEST(StridedLayoutTest, OffsetsBeyond32Bits) {
  // 3 x 2^31 elements, transposed against rows of 2^31.
  constexpr int64_t kRow = int64_t{1} << 31;
  const Views views{{3, kRow}, {1, 3}, {2 * kRow, -2}};
  const StridedLayout<uint64_t> layout(views.Joined());
  for (const int64_t position :
       {int64_t{0}, kRow - 1, kRow, kRow + 7, 3 * kRow - 1}) {
    int64_t got = 0, want = 0;
    layout.Offsets(position, &got, &want);
    EXPECT_EQ(got, position / kRow + position % kRow * 3);
    EXPECT_EQ(want, position / kRow * 2 * kRow - position % kRow * 2);
  }
}

}  // namespace
}  // namespace flaggems
