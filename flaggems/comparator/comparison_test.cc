#include "flaggems/comparator/comparison.h"

#include <cmath>
#include <cstdint>
#include <limits>
#include <ostream>
#include <tuple>
#include <vector>

#include "flaggems/core/verdict.h"
#include "gtest/gtest.h"

namespace flaggems {

bool operator==(const PartialComparison& a, const PartialComparison& b) {
  const auto tie = [](const PartialComparison& p) {
    return std::tie(p.numel, p.value_mismatches, p.special_mismatches,
                    p.want_nans, p.nan_mismatch, p.max_abs_diff, p.max_rel_diff,
                    p.score, p.worst_score, p.first_special, p.flushed);
  };
  return tie(a) == tie(b) && a.finite_numbers == b.finite_numbers &&
         a.ulp_errors == b.ulp_errors &&
         a.ulp_error_squares == b.ulp_error_squares;
}

void PrintTo(const PartialComparison& p, std::ostream* os) {
  *os << "numel " << p.numel << " score " << p.score << " at " << p.worst_score
      << " special at " << p.first_special;
}

namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();

// Parts at different positions: equal scores, Inf scores, specials, none.
std::vector<PartialComparison> Parts() {
  std::vector<PartialComparison> parts(6);
  parts[1] = {10, 0, 0, 0, false, 1.0, 0.5, 0.25, 40, -1, 3};
  parts[2] = {5, 1, 0, 2, false, 0.5, 3.0, 0.25, 20, -1, 6};
  parts[3] = {7, 2, 3, 0, true, 2.0, 0.0, kInf, 63, 61, 9};
  parts[4] = {7, 2, 1, 0, false, kInf, kInf, kInf, 71, 70, 12};
  parts[5] = {4, 0, 0, 4, false, 0, 0, 0, 0, -1, 15};
  for (size_t i = 1; i < parts.size(); ++i) {
    parts[i].finite_numbers = static_cast<int64_t>(i);
    parts[i].ulp_errors = i % 2 == 0 ? -1024 : 1000;
    parts[i].ulp_error_squares = Int128{1} << (20 * i);
  }
  return parts;
}

TEST(MergeTest, AssociativeAndCommutative) {
  const std::vector<PartialComparison> parts = Parts();
  for (const PartialComparison& a : parts) {
    for (const PartialComparison& b : parts) {
      EXPECT_EQ(Merge(a, b), Merge(b, a));
      for (const PartialComparison& c : parts) {
        EXPECT_EQ(Merge(Merge(a, b), c), Merge(a, Merge(b, c)));
      }
    }
  }
}

// The largest error 2^40 times, then as many of the other sign.
TEST(MergeTest, SumsOfErrorsDoNotOverflow) {
  PartialComparison up;
  up.finite_numbers = 1;
  up.ulp_errors = 1 << 26;
  up.ulp_error_squares = int64_t{1} << 52;
  PartialComparison down = up;
  down.ulp_errors = -up.ulp_errors;
  for (int i = 0; i < 40; ++i) {
    up = Merge(up, up);
    down = Merge(down, down);
  }
  EXPECT_EQ(Finish(up).mean_error_ulps, 65536);
  EXPECT_EQ(Finish(up).rms_error_ulps, 65536);
  EXPECT_EQ(Finish(down).mean_error_ulps, -65536);
  EXPECT_EQ(Finish(Merge(up, down)).mean_error_ulps, 0);
  EXPECT_EQ(Finish(Merge(up, down)).rms_error_ulps, 65536);
}

TEST(MergeTest, NothingIsNeutral) {
  for (const PartialComparison& part : Parts()) {
    EXPECT_EQ(Merge(part, PartialComparison{}), part);
  }
}

TEST(MergeTest, AddsCountsAndKeepsTheLowestPosition) {
  const std::vector<PartialComparison> parts = Parts();
  const PartialComparison joined = Merge(parts[1], parts[2]);
  EXPECT_EQ(joined.numel, 15);
  EXPECT_EQ(joined.value_mismatches, 1);
  EXPECT_EQ(joined.want_nans, 2);
  EXPECT_EQ(joined.max_abs_diff, 1.0);
  EXPECT_EQ(joined.max_rel_diff, 3.0);
  EXPECT_EQ(joined.worst_score, 20);
  EXPECT_EQ(Merge(parts[4], parts[3]).first_special, 61);
  EXPECT_EQ(Merge(parts[4], parts[3]).worst_score, 63);
}

TEST(FinishTest, SpecialWinsAndHidesFiniteNumbers) {
  const std::vector<PartialComparison> parts = Parts();
  const Comparison nan = Finish(parts[3]);
  EXPECT_EQ(nan.verdict, Verdict::kFailSpecial);
  EXPECT_TRUE(std::isnan(nan.max_abs_diff));
  EXPECT_EQ(nan.worst, 61);
  EXPECT_EQ(Finish(parts[4]).max_rel_diff, kInf);
}

TEST(FinishTest, Verdicts) {
  const std::vector<PartialComparison> parts = Parts();
  EXPECT_EQ(Finish(parts[0]).verdict, Verdict::kUntrustedEmpty);
  EXPECT_EQ(Finish(parts[0]).worst, -1);
  EXPECT_EQ(Finish(parts[1]).verdict, Verdict::kPass);
  EXPECT_EQ(Finish(parts[2]).verdict, Verdict::kFailValue);
  EXPECT_EQ(Finish(parts[5]).verdict, Verdict::kUntrustedAllNan);
}

}  // namespace
}  // namespace flaggems
