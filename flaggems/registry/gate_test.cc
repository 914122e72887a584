#include "flaggems/registry/gate.h"

#include <ATen/core/dispatch/Dispatcher.h>
#include <gtest/gtest.h>

#include <atomic>
#include <cstdint>
#include <limits>
#include <thread>
#include <vector>

#include "flaggems/registry/check_scope.h"

namespace flaggems {
namespace {

class GateTest : public testing::Test {
 protected:
  // How many of so many calls the gate forwards.
  int64_t Forwarded(int64_t calls) {
    int64_t forwarded = 0;
    for (int64_t i = 0; i < calls; ++i) forwarded += gate_.TryForward() ? 1 : 0;
    return forwarded;
  }

  std::atomic<int64_t> idle_{0};
  std::atomic<int64_t> some_{0};
  std::atomic<int64_t> other_{0};
  Gate gate_{c10::Dispatcher::singleton().findSchemaOrThrow("aten::neg", ""),
             &idle_};
};

TEST_F(GateTest, ForwardsSomeAndChecksAgain) {
  gate_.Check();
  for (const int64_t n : {1, 2, 1000}) {
    some_ = 0;
    EXPECT_TRUE(gate_.ForwardSome(&some_, n));
    EXPECT_EQ(Forwarded(n), n);
    EXPECT_EQ(some_, n);
    EXPECT_EQ(Forwarded(3), 0);
    EXPECT_EQ(some_, n);
  }
  EXPECT_EQ(idle_, 0);
}

TEST_F(GateTest, ForwardsNoneForLessThanOne) {
  gate_.Check();
  for (const int64_t n : {int64_t{0}, std::numeric_limits<int64_t>::min()}) {
    EXPECT_FALSE(gate_.ForwardSome(&some_, n));
    EXPECT_EQ(Forwarded(1), 0);
  }
}

TEST_F(GateTest, OnlyAGateThatChecksForwardsSome) {
  EXPECT_FALSE(gate_.ForwardSome(&some_, 1));
  EXPECT_EQ(Forwarded(5), 5);
  EXPECT_EQ(idle_, 5);
  gate_.Check();
  EXPECT_TRUE(gate_.ForwardSome(&some_, 3));
  EXPECT_FALSE(gate_.ForwardSome(&other_, 100));
  EXPECT_EQ(Forwarded(5), 3);
  EXPECT_EQ(some_, 3);
  EXPECT_EQ(other_, 0);
}

TEST_F(GateTest, ForwardAndCheckStayInForce) {
  gate_.Check();
  ASSERT_TRUE(gate_.ForwardSome(&some_, 10));
  EXPECT_EQ(Forwarded(4), 4);
  gate_.Forward(&other_);
  EXPECT_EQ(Forwarded(100), 100);
  EXPECT_EQ(other_, 100);
  EXPECT_EQ(some_, 4);
  EXPECT_EQ(gate_.EndForwardSome(), 0);
  EXPECT_EQ(Forwarded(1), 1);

  gate_.Check();
  ASSERT_TRUE(gate_.ForwardSome(&some_, 10));
  gate_.Check();
  EXPECT_EQ(Forwarded(1), 0);
  // What was left does not count.
  ASSERT_TRUE(gate_.ForwardSome(&some_, 2));
  EXPECT_EQ(Forwarded(5), 2);
}

TEST_F(GateTest, ItsEndSaysWhatWasLeft) {
  gate_.Check();
  EXPECT_EQ(gate_.EndForwardSome(), 0);
  ASSERT_TRUE(gate_.ForwardSome(&some_, 10));
  EXPECT_EQ(Forwarded(4), 4);
  EXPECT_EQ(gate_.EndForwardSome(), 6);
  EXPECT_EQ(gate_.EndForwardSome(), 0);
  EXPECT_EQ(Forwarded(1), 0);
}

TEST_F(GateTest, CallsOfTheCheckerAreNeitherForwardedNorCounted) {
  gate_.Check();
  ASSERT_TRUE(gate_.ForwardSome(&some_, 2));
  {
    const CheckScope scope;
    EXPECT_EQ(Forwarded(5), 0);
  }
  EXPECT_EQ(Forwarded(5), 2);
}

TEST_F(GateTest, ThreadsTogetherAreForwardedSoManyCalls) {
  gate_.Check();
  ASSERT_TRUE(gate_.ForwardSome(&some_, 1000));
  std::atomic<int64_t> forwarded{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 8; ++t) {
    threads.emplace_back([&] { forwarded += Forwarded(500); });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(forwarded, 1000);
  EXPECT_EQ(some_, 1000);
  EXPECT_EQ(Forwarded(1), 0);
}

// Calls that find nothing left set the gate again, as the checker does.
TEST_F(GateTest, ThreadsThatSetItAgainLoseNoCall) {
  gate_.Check();
  std::atomic<int64_t> forwarded{0};
  std::atomic<int64_t> allowed{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 20000; ++i) {
        if (gate_.TryForward()) {
          ++forwarded;
        } else if (gate_.ForwardSome(&some_, 7)) {
          allowed += 7;
        }
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(forwarded, some_);
  EXPECT_LE(forwarded, allowed);
  gate_.EndForwardSome();
  EXPECT_EQ(Forwarded(1), 0);
}

TEST_F(GateTest, ACountdownNeverOverrulesForward) {
  for (int round = 0; round < 200; ++round) {
    gate_.Check();
    std::vector<std::thread> threads;
    for (int t = 0; t < 3; ++t) {
      threads.emplace_back([&] {
        for (int i = 0; i < 100; ++i) {
          if (!gate_.TryForward()) gate_.ForwardSome(&some_, 1 + i % 3);
        }
      });
    }
    gate_.Forward(&other_);
    for (std::thread& thread : threads) thread.join();
    other_ = 0;
    EXPECT_EQ(Forwarded(10), 10);
    EXPECT_EQ(other_, 10);
  }
}

}  // namespace
}  // namespace flaggems
