#include "flaggems/policy/look_pace.h"

#include <cstdint>
#include <limits>
#include <set>
#include <thread>
#include <vector>

#include "gtest/gtest.h"

namespace flaggems {
namespace {

constexpr int64_t kUs = 1'000;
constexpr int64_t kMs = 1'000'000;
constexpr int64_t kPeriod = 20 * kMs;

// An operator whose calls are `gap` apart.
class Program {
 public:
  explicit Program(LookPace& pace) : pace_(pace) {}

  // The next call is looked at; those that are passed over after it go by.
  int64_t Look(int64_t gap) {
    const int64_t n = pace_.CallsToPassOver(++call_, now_ += gap, kPeriod);
    call_ += n;
    now_ += n * gap;
    return n;
  }

 private:
  LookPace& pace_;
  int64_t call_ = 0;
  int64_t now_ = 0;
};

TEST(LookPaceTest, TheFirstLookOnlyMeasures) {
  LookPace pace(1);
  EXPECT_EQ(pace.CallsToPassOver(1, 5, kPeriod), 0);
  EXPECT_GT(pace.CallsToPassOver(2, 10, kPeriod), 0);
  pace.Reset();
  EXPECT_EQ(pace.CallsToPassOver(1, 5, kPeriod), 0);
}

TEST(LookPaceTest, LooksAreAboutAPeriodApart) {
  LookPace pace(1);
  Program program(pace);
  for (int i = 0; i < 10; ++i) program.Look(20 * kUs);
  std::set<int64_t> different;
  int64_t sum = 0;
  for (int i = 0; i < 200; ++i) {
    const int64_t n = program.Look(20 * kUs);
    EXPECT_GE(n, 700);
    EXPECT_LE(n, 1300);
    different.insert(n);
    sum += n;
  }
  EXPECT_NEAR(static_cast<double>(sum) / 200, 1000, 50);
  EXPECT_GT(different.size(), 100u);
}

TEST(LookPaceTest, GrowsAtMostEightfold) {
  LookPace pace(1);
  Program program(pace);
  program.Look(1);
  int64_t most = 1;
  for (int i = 0; i < 12; ++i) {
    most *= 8;
    EXPECT_LE(program.Look(1), 1.25 * static_cast<double>(most));
  }
  // One call a ns would be 20 million.
  EXPECT_GE(program.Look(1), LookPace::kMostCalls * 3 / 4);
  for (int i = 0; i < 20; ++i) {
    EXPECT_LE(program.Look(1), LookPace::kMostCalls);
  }
}

TEST(LookPaceTest, RareCallsAreAllLookedAt) {
  LookPace pace(1);
  Program program(pace);
  for (int i = 0; i < 20; ++i) EXPECT_EQ(program.Look(kPeriod), 0);
}

TEST(LookPaceTest, FollowsAProgramThatCallsLessOften) {
  LookPace pace(1);
  Program program(pace);
  for (int i = 0; i < 10; ++i) program.Look(20 * kUs);
  program.Look(2 * kMs);
  for (int i = 0; i < 3; ++i) program.Look(2 * kMs);
  EXPECT_LE(program.Look(2 * kMs), 30);
}

// Calls that come in bursts are looked at as often as steady ones.
TEST(LookPaceTest, BurstsCountByTheirMean) {
  LookPace pace(1);
  int64_t call = 0;
  int64_t next_look = 1;
  int looks = 0;
  for (int64_t burst = 0; burst < 1000; ++burst) {
    for (int64_t i = 0; i < 100; ++i) {
      if (++call < next_look) continue;
      ++looks;
      next_look =
          call + 1 +
          pace.CallsToPassOver(call, burst * 10 * kMs + i * kUs, kPeriod);
    }
  }
  EXPECT_GE(looks, 350);
  EXPECT_LE(looks, 700);
}

TEST(LookPaceTest, AwkwardTimesAndNumbers) {
  LookPace pace(1);
  pace.CallsToPassOver(10, 100, kPeriod);
  // The clock stands still, goes back, and calls overtake each other.
  EXPECT_EQ(pace.CallsToPassOver(11, 100, kPeriod), 0);
  EXPECT_EQ(pace.CallsToPassOver(5, 50, kPeriod), 0);
  EXPECT_GE(pace.CallsToPassOver(12, 101, kPeriod), 0);
  EXPECT_EQ(pace.CallsToPassOver(13, std::numeric_limits<int64_t>::max() / 2,
                                 kPeriod),
            0);
  EXPECT_GE(pace.CallsToPassOver(std::numeric_limits<int64_t>::max() / 2,
                                 std::numeric_limits<int64_t>::max() / 2,
                                 std::numeric_limits<int64_t>::max()),
            0);
}

TEST(LookPaceTest, ThreadsMayLookAtOnce) {
  LookPace pace(1);
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      for (int64_t i = 0; i < 1000; ++i) {
        const int64_t n = pace.CallsToPassOver(i, i * kUs, kPeriod);
        EXPECT_GE(n, 0);
        EXPECT_LE(n, LookPace::kMostCalls);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

}  // namespace
}  // namespace flaggems
