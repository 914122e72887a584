// The threads of a device, run one after the other on the host: what they find
// and merge is what the host's comparator finds.

#include "flaggems/comparator/cuda/device_walk.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <iterator>
#include <random>
#include <utility>
#include <vector>

#include "flaggems/comparator/budget.h"
#include "flaggems/comparator/compare_budget.h"
#include "flaggems/comparator/compare_range.h"
#include "flaggems/comparator/cuda/device_plan.h"
#include "flaggems/comparator/cuda/found_words.h"
#include "flaggems/comparator/cuda/testutil.h"
#include "flaggems/comparator/tolerance.h"
#include "gtest/gtest.h"

namespace flaggems {
namespace {

using internal_device::BlockMaxima;
using internal_device::DirectFeed;
using internal_device::Found;
using internal_device::GridMaxima;
using internal_device::kWarp;
using internal_device::Planned;

// In the order of a device: the upper half into the lower one, again and again.
FoundWords MergeTree(std::vector<FoundWords> found) {
  for (size_t count = found.size(); count > 1;) {
    const size_t half = (count + 1) / 2;
    for (size_t i = 0; half + i < count; ++i) {
      found[i] = internal_device::Merge(found[i], found[half + i]);
    }
    count = half;
  }
  return found[0];
}

// What threads know of each other.
enum class Sharing {
  kInOrder,   // all that threads before have found, in all blocks
  kBackward,  // the same, the last thread first
  kNone,
};

constexpr int64_t kWarps = 8;  // of a block
constexpr int64_t kThreads = kWarps * kWarp;

template <typename Walk>
DeviceComparison WalkAll(const Walk& walk, int64_t blocks, Sharing sharing) {
  std::vector<FoundWords> found;
  GridMaxima grid = {0, 0, 0};
  for (int64_t block = 0; block < blocks; ++block) {
    std::vector<FoundWords> threads(kThreads);
    const auto feed_of = [&](int64_t thread) {
      return DirectFeed(block * kWarps + thread / kWarp, blocks * kWarps);
    };
    BlockMaxima maxima;
    maxima.Clear(&grid);
    for (int64_t thread = 0; thread < kThreads; ++thread) {
      DirectFeed feed = feed_of(thread);
      walk.Prepare(feed, static_cast<int>(thread % kWarp), &maxima);
    }
    Tell(&maxima);
    for (int64_t i = 0; i < kThreads; ++i) {
      const int64_t thread =
          sharing == Sharing::kBackward ? kThreads - 1 - i : i;
      BlockMaxima own;
      own.Clear(nullptr);
      DirectFeed feed = feed_of(thread);
      Found one;
      walk.Walk(feed, static_cast<int>(thread % kWarp),
                sharing == Sharing::kNone ? &own : &maxima, &one);
      threads[static_cast<size_t>(thread)] = WordsOf(one);
    }
    found.push_back(MergeTree(std::move(threads)));
  }
  return ComparisonOf(MergeTree(std::move(found)));
}

struct Visitor {
  int64_t blocks;
  Sharing sharing;
  DeviceComparison* found;

  template <typename Walk>
  void operator()(const Walk& walk) const {
    // As a launch: no block without a tile, but for one.
    const int64_t most = (walk.tiles() + kWarps - 1) / kWarps;
    *found =
        WalkAll(walk, std::max<int64_t>(1, std::min(blocks, most)), sharing);
  }
};

struct Division {
  int64_t blocks;
  Sharing sharing;
};
constexpr Division kDivisions[] = {{1, Sharing::kInOrder},
                                   {3, Sharing::kBackward},
                                   {396, Sharing::kInOrder},
                                   {396, Sharing::kNone}};

class BudgetWalkTest : public testing::TestWithParam<PairCase> {};

TEST_P(BudgetWalkTest, FindsWhatTheHostFinds) {
  ConditionArray conditions;
  const std::vector<NamedBudget> budgets = BudgetsFor(GetParam(), &conditions);
  for (const Contents contents : ContentsFor(GetParam())) {
    const ArrayPair pair(GetParam(), contents);
    const bool nonzero = pair.got_nonzero();
    for (const NamedBudget& budget : budgets) {
      ASSERT_TRUE(ValidateBudget(pair.got(), pair.want(), budget.budget).ok());
      const PartialComparison want = CompareBudgetRange(
          pair.got(), pair.want(), budget.budget, 0, pair.want().numel());
      for (const Division& division : kDivisions) {
        SCOPED_TRACE(testing::Message()
                     << "contents " << static_cast<int>(contents)
                     << ", condition " << budget.name << ", " << division.blocks
                     << " blocks");
        DeviceComparison found;
        ASSERT_EQ(internal_device::VisitBudgetWalk(
                      pair.got(), pair.want(), budget.budget,
                      Visitor{division.blocks, division.sharing, &found}),
                  Planned::kYes);
        ExpectSame(found, want, nonzero);
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Cases, BudgetWalkTest,
                         testing::ValuesIn(BudgetCases()),
                         [](const auto& info) { return NameOf(info.param); });

// Errors that are equal, or nearly so, in spacings, at many magnitudes and
// under many budgets: which of them is the worst is a matter of the last bit.
TEST(EqualErrorsTest, FindTheFirstOfEquals) {
  std::mt19937_64 random(20261130);
  const auto fraction = [&] {
    return static_cast<double>(random() >> 11) * 0x1p-53;
  };
  const double spacings[] = {0.3, 0.5, 0.75, 1, 1.1, 2};
  const std::vector<int64_t> strides = {1};
  for (int round = 0; round < 300; ++round) {
    SCOPED_TRACE(testing::Message() << "round " << round);
    const auto numel = static_cast<size_t>(1 + random() % 5000);
    const std::vector<int64_t> sizes = {static_cast<int64_t>(numel)};
    // Subnormal numbers too.
    const int exponent =
        round % 5 == 0 ? -1070 : static_cast<int>(random() % 40) - 20;
    const uint64_t exponents = 1 + random() % 6;
    const uint64_t steps = 1 + random() % 4;  // in halves of a spacing
    std::vector<double> got(numel), want(numel), conditions(numel);
    for (size_t i = 0; i < numel; ++i) {
      const double x = std::ldexp(
          1 + fraction(), exponent + static_cast<int>(random() % exponents));
      const double spacing = std::nextafter(x, 2 * x) - x;
      want[i] = x;
      got[i] = x + (static_cast<double>(random() % (2 * steps + 1)) / 2 -
                    static_cast<double>(steps) / 2) *
                       spacing;
      conditions[i] = x * static_cast<double>(random() % 4);
    }
    Budget budget;
    budget.h = spacings[random() % std::size(spacings)];
    budget.unit_roundoff = 0x1p-53;
    budget.a = static_cast<double>(random() % 4);
    budget.n = 1 + static_cast<double>(random() % 100);
    budget.condition = static_cast<Budget::Condition>(random() % 4);
    budget.constant = std::ldexp(fraction(), exponent);
    budget.flush_subnormals = random() % 2 == 0;
    if (budget.condition == Budget::Condition::kArray) {
      // In some rounds such that every error is the same share of its limit,
      // but for roundings.
      for (size_t i = 0; round % 2 == 0 && budget.a > 0 && i < numel; ++i) {
        const double spacing = std::nextafter(want[i], 2 * want[i]) - want[i];
        const double limit = std::fabs(got[i] - want[i]) / 0.7;
        conditions[i] = (limit - budget.h * spacing) / budget.Factor();
      }
      budget.conditions = {conditions.data(), DType::kFloat64, sizes, strides};
    }
    const ArrayView got_view{got.data(), DType::kFloat64, sizes, strides};
    const ArrayView want_view{want.data(), DType::kFloat64, sizes, strides};
    const PartialComparison expected =
        CompareBudgetRange(got_view, want_view, budget, 0, sizes[0]);
    for (const Division& division : kDivisions) {
      DeviceComparison found;
      ASSERT_EQ(internal_device::VisitBudgetWalk(
                    got_view, want_view, budget,
                    Visitor{division.blocks, division.sharing, &found}),
                Planned::kYes);
      ExpectSame(found, expected, true);
    }
  }
}

class ExactWalkTest : public testing::TestWithParam<PairCase> {};

TEST_P(ExactWalkTest, FindsWhatTheHostFinds) {
  for (const Contents contents : ContentsFor(GetParam())) {
    const ArrayPair pair(GetParam(), contents);
    const bool nonzero = pair.got_nonzero();
    const PartialComparison want = CompareRange(
        pair.got(), pair.want(), Tolerance{0, 0}, 0, pair.want().numel());
    for (const Division& division : kDivisions) {
      SCOPED_TRACE(testing::Message()
                   << "contents " << static_cast<int>(contents) << ", "
                   << division.blocks << " blocks");
      DeviceComparison found;
      ASSERT_EQ(internal_device::VisitExactWalk(
                    pair.got(), pair.want(),
                    Visitor{division.blocks, division.sharing, &found}),
                Planned::kYes);
      ExpectSame(found, want, nonzero);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Cases, ExactWalkTest, testing::ValuesIn(ExactCases()),
                         [](const auto& info) { return NameOf(info.param); });

// ---- What has no walk.

TEST(DevicePlanTest, RefusesWhatItHasNoRuleFor) {
  const std::vector<int64_t> sizes = {4, 2};
  const std::vector<int64_t> other_sizes = {4, 3};
  const std::vector<int64_t> strides = {2, 1};
  const auto view = [&](DType dtype) {
    return ArrayView{nullptr, dtype, sizes, strides};
  };
  const auto nothing = [](const auto&) { ADD_FAILURE() << "visited"; };
  const struct {
    DType got;
    DType want;
    bool budget;
    bool exact;
  } cases[] = {{DType::kComplex64, DType::kComplex128, false, false},
               {DType::kComplex64, DType::kComplex64, false, false},
               {DType::kFloat32, DType::kFloat32, false, true},
               {DType::kInt32, DType::kFloat64, false, false},
               {DType::kQInt8, DType::kQInt8, false, false},
               {DType::kOther, DType::kOther, false, false},
               {DType::kInt32, DType::kInt64, false, false}};
  for (const auto& c : cases) {
    if (!c.budget) {
      EXPECT_EQ(internal_device::VisitBudgetWalk(view(c.got), view(c.want),
                                                 Budget(), nothing),
                Planned::kNoRule);
    }
    if (!c.exact) {
      EXPECT_EQ(
          internal_device::VisitExactWalk(view(c.got), view(c.want), nothing),
          Planned::kNoRule);
    }
  }
  ArrayView other = view(DType::kFloat64);
  other.sizes = other_sizes;
  EXPECT_EQ(internal_device::VisitBudgetWalk(view(DType::kFloat32), other,
                                             Budget(), nothing),
            Planned::kSizesDiffer);
  Budget budget;
  budget.condition = Budget::Condition::kArray;
  budget.conditions = other;
  EXPECT_EQ(internal_device::VisitBudgetWalk(
                view(DType::kFloat32), view(DType::kFloat64), budget, nothing),
            Planned::kBadConditions);
}

TEST(DevicePlanTest, RefusesMoreDimensionsThanItHas) {
  const std::vector<int64_t> sizes(9, 2);
  std::vector<int64_t> rows(9), columns(9);
  for (size_t d = 0; d < 9; ++d) {
    rows[d] = int64_t{1} << (8 - d);
    columns[d] = int64_t{1} << d;
  }
  const std::vector<double> data(512);
  const ArrayView got{data.data(), DType::kFloat64, sizes, columns};
  const ArrayView want{data.data(), DType::kFloat64, sizes, rows};
  EXPECT_EQ(
      internal_device::VisitBudgetWalk(
          got, want, Budget(), [](const auto&) { ADD_FAILURE() << "visited"; }),
      Planned::kTooManyDimensions);
}

}  // namespace
}  // namespace flaggems
