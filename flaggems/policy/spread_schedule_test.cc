#include "flaggems/policy/spread_schedule.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstdint>
#include <thread>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace flaggems {
namespace {

using ::testing::ElementsAre;

constexpr uint64_t kA = 17;
constexpr uint64_t kB = 18;
constexpr int kSeeds = 20;

// The numbers of the calls that are due, of `calls` calls of one signature.
std::vector<int64_t> Due(SpreadSchedule& schedule, int64_t calls,
                         int64_t max_checks, uint64_t signature = kA) {
  std::vector<int64_t> due;
  for (int64_t call = 1; call <= calls; ++call) {
    if (schedule.TryAdmit(signature, max_checks)) due.push_back(call);
  }
  return due;
}

TEST(SpreadScheduleTest, NoneWithoutChecks) {
  SpreadSchedule schedule(1);
  EXPECT_THAT(Due(schedule, 1000, 0), ElementsAre());
  EXPECT_THAT(Due(schedule, 1000, -1), ElementsAre());
}

TEST(SpreadScheduleTest, TheFirstOfEachSignatureAreDue) {
  for (int64_t max_checks : {1, 16, 100}) {
    SpreadSchedule schedule(1);
    Due(schedule, 5000, max_checks, kB);
    const std::vector<int64_t> due = Due(schedule, 10000, max_checks);
    ASSERT_GT(static_cast<int64_t>(due.size()), max_checks);
    for (int64_t i = 0; i < max_checks; ++i) EXPECT_EQ(due[i], i + 1);
  }
}

TEST(SpreadScheduleTest, GapsGrowWithTheCallAndVary) {
  for (uint64_t seed = 0; seed < kSeeds; ++seed) {
    SpreadSchedule schedule(seed);
    const std::vector<int64_t> due = Due(schedule, 200'000, 16);
    int64_t shortest = INT64_MAX;
    int64_t longest = 0;
    for (size_t i = 15; i + 1 < due.size(); ++i) {
      const int64_t gap = due[i + 1] - due[i];
      const int64_t mean = std::max<int64_t>(1, due[i] / 8);
      EXPECT_GE(2 * gap, mean) << due[i];
      EXPECT_LE(2 * gap, 3 * mean) << due[i];
      if (mean < 100) continue;
      shortest = std::min(shortest, 100 * gap / mean);
      longest = std::max(longest, 100 * gap / mean);
    }
    // In percent of the mean.
    EXPECT_LT(shortest, 85) << seed;
    EXPECT_GT(longest, 115) << seed;
  }
}

TEST(SpreadScheduleTest, AboutEightLogarithmsOfTheCalls) {
  for (int64_t calls : {1'000, 100'000}) {
    double sum = 0;
    for (uint64_t seed = 0; seed < kSeeds; ++seed) {
      SpreadSchedule schedule(seed);
      sum += static_cast<double>(Due(schedule, calls, 16).size());
    }
    const double expected = 16 + 8 * std::log(calls / 16.0);
    EXPECT_NEAR(sum / kSeeds, expected, 0.1 * expected);
  }
}

TEST(SpreadScheduleTest, AKernelThatTurnsWrongIsFoundSoon) {
  for (uint64_t seed = 0; seed < kSeeds; ++seed) {
    SpreadSchedule schedule(seed);
    const std::vector<int64_t> due = Due(schedule, 200'000, 16);
    for (int64_t turns : {1, 2, 15, 16, 17, 18, 100, 1'000, 10'000, 100'000}) {
      const auto found = std::lower_bound(due.begin(), due.end(), turns);
      ASSERT_NE(found, due.end());
      EXPECT_LE(*found, turns + 3 * turns / 16) << turns;
    }
  }
}

TEST(SpreadScheduleTest, NeitherOperatorsNorSignaturesAreInLockstep) {
  SpreadSchedule one(1);
  SpreadSchedule other(2);
  const std::vector<int64_t> due = Due(one, 10'000, 4);
  EXPECT_NE(due, Due(other, 10'000, 4));
  EXPECT_NE(due, Due(one, 10'000, 4, kB));
}

TEST(SpreadScheduleTest, SameSeedSameCallsAlsoAfterReset) {
  SpreadSchedule one(1);
  SpreadSchedule other(1);
  const std::vector<int64_t> due = Due(one, 10'000, 4);
  EXPECT_EQ(due, Due(other, 10'000, 4));
  one.Return(kA);
  EXPECT_NE(due, Due(one, 10'000, 4));
  one.Reset();
  EXPECT_EQ(due, Due(one, 10'000, 4));
}

TEST(SpreadScheduleTest, AReturnedCallIsReplacedByTheNext) {
  SpreadSchedule schedule(1);
  // As one of the first.
  ASSERT_TRUE(schedule.TryAdmit(kA, 2));
  schedule.Return(kA);
  for (int i = 0; i < 5; ++i) {
    ASSERT_TRUE(schedule.TryAdmit(kA, 2));
    schedule.Return(kA);
  }
  EXPECT_THAT(Due(schedule, 2, 2), ElementsAre(1, 2));

  // Later: the next call whatever the gap, which is of hundreds of calls, and
  // no other signature's.
  for (uint64_t signature : {kA, kB}) {
    Due(schedule, 10'000, 2, signature);
    while (!schedule.TryAdmit(signature, 2)) {
    }
    ASSERT_FALSE(schedule.TryAdmit(signature, 2));
  }
  schedule.Return(kA);
  EXPECT_THAT(Due(schedule, 10, 2, kB), ElementsAre());
  EXPECT_THAT(Due(schedule, 10, 2), ElementsAre(1));
  // Two that were under way at once are two calls.
  schedule.Return(kA);
  schedule.Return(kA);
  EXPECT_THAT(Due(schedule, 10, 2), ElementsAre(1, 2));
}

TEST(SpreadScheduleTest, SignaturesBeyondTheLimitShareOneState) {
  constexpr uint64_t kLimit = SpreadSchedule::kMaxSignatures;
  SpreadSchedule schedule(1);
  for (uint64_t signature = 0; signature < kLimit; ++signature) {
    ASSERT_TRUE(schedule.TryAdmit(signature, 1));
  }
  int due = 0;
  for (uint64_t signature = kLimit; signature < 3 * kLimit; ++signature) {
    due += schedule.TryAdmit(signature, 1) ? 1 : 0;
  }
  // As for 8192 calls of one signature: 16 + 8 ln(512) = 66.
  EXPECT_GT(due, 40);
  EXPECT_LT(due, 100);
  schedule.Return(kLimit);
  EXPECT_TRUE(schedule.TryAdmit(2 * kLimit, 1));
  // The first ones have theirs: each is at its second call.
  EXPECT_TRUE(schedule.TryAdmit(0, 1));
}

// Eight threads make calls of four signatures, among them returned ones.
// However they interleave, the schedule sees so many calls of each signature,
// and the admitted ones that stand are those of one thread.
TEST(SpreadScheduleTest, ThreadsGetTheSameNumberOfChecksTogether) {
  constexpr int kThreads = 8;
  constexpr int kSignatures = 4;
  constexpr int64_t kCalls = 20'000;
  SpreadSchedule schedule(1);
  std::atomic<int64_t> stand[kSignatures] = {};
  std::atomic<int64_t> returned{0};
  std::atomic<int> waiting{kThreads};
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      waiting.fetch_sub(1);
      while (waiting.load() > 0) std::this_thread::yield();
      for (int64_t i = 0; i < kCalls; ++i) {
        const int signature = static_cast<int>((i + t) % kSignatures);
        if (!schedule.TryAdmit(signature, 16)) continue;
        if (i % 5 == 0) {
          schedule.Return(signature);
          returned.fetch_add(1);
        } else {
          stand[signature].fetch_add(1);
        }
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_GT(returned.load(), 0);
  const double expected = 16 + 8 * std::log(kThreads * kCalls / 4 / 16.0);
  for (const std::atomic<int64_t>& count : stand) {
    EXPECT_NEAR(static_cast<double>(count.load()), expected, 0.25 * expected);
  }
}

}  // namespace
}  // namespace flaggems
