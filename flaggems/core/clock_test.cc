#include "flaggems/core/clock.h"

#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "gtest/gtest.h"

namespace flaggems {
namespace {

TEST(ClockTest, SystemClockIsTheSystemsTime) {
  const absl::Time before = absl::Now();
  const absl::Time now = Clock::System().Now();
  const absl::Time after = absl::Now();
  EXPECT_LE(before, now);
  EXPECT_LE(now, after);
}

TEST(ClockTest, SystemClockIsOneObject) {
  EXPECT_EQ(&Clock::System(), &Clock::System());
}

TEST(ClockTest, FixedClockStandsStill) {
  const FixedClock clock(absl::FromUnixMillis(1747648801123));
  const Clock& base = clock;
  EXPECT_EQ(base.Now(), absl::FromUnixMillis(1747648801123));
  EXPECT_EQ(base.Now(), base.Now());
}

}  // namespace
}  // namespace flaggems
