#include "flaggems/policy/worker_pool.h"

#include <signal.h>

#include <atomic>
#include <chrono>
#include <future>
#include <memory>
#include <mutex>
#include <set>
#include <thread>
#include <vector>

#include "flaggems/core/fork_testutil.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace flaggems {
namespace {

using ::testing::ElementsAre;

// Tasks that run until they are let go.
class Held {
 public:
  WorkerPool::Task Task() {
    return [this] {
      begun_.fetch_add(1);
      released_.wait();
    };
  }
  void WaitUntilBegun(int count) const {
    while (begun_.load() < count) std::this_thread::yield();
  }
  void Release() { release_.set_value(); }

 private:
  std::atomic<int> begun_{0};
  std::promise<void> release_;
  const std::shared_future<void> released_ = release_.get_future().share();
};

TEST(WorkerPoolTest, RunsTasksInOrderOnAThreadOfItsOwn) {
  std::vector<int> order;
  std::set<std::thread::id> threads;
  std::promise<void> last;
  WorkerPool pool({1, 100});
  for (int i = 0; i < 5; ++i) {
    EXPECT_TRUE(pool.Submit([&, i] {
      order.push_back(i);
      threads.insert(std::this_thread::get_id());
      if (i == 4) last.set_value();
    }));
  }
  last.get_future().wait();
  pool.Stop();
  EXPECT_THAT(order, ElementsAre(0, 1, 2, 3, 4));
  EXPECT_EQ(threads.size(), 1u);
  EXPECT_EQ(threads.count(std::this_thread::get_id()), 0u);
}

TEST(WorkerPoolTest, RunsAsManyAtATimeAsItHasThreads) {
  Held held;
  WorkerPool pool({3, 100});
  for (int i = 0; i < 4; ++i) EXPECT_TRUE(pool.Submit(held.Task()));
  held.WaitUntilBegun(3);
  EXPECT_EQ(pool.backlog(), 1);
  held.Release();
  held.WaitUntilBegun(4);
}

TEST(WorkerPoolTest, AFullBacklogRefusesAndDestroysTheTask) {
  Held held;
  WorkerPool pool({1, 2});
  ASSERT_TRUE(pool.Submit(held.Task()));
  held.WaitUntilBegun(1);
  EXPECT_TRUE(pool.Submit([] {}));
  EXPECT_TRUE(pool.Submit([] {}));
  const auto memory = std::make_shared<int>();
  EXPECT_FALSE(pool.Submit([memory] { FAIL(); }));
  EXPECT_EQ(memory.use_count(), 1);
  EXPECT_EQ(pool.backlog(), 2);
  // Who waits gets room.
  std::promise<void> ran;
  std::thread waiter([&] {
    EXPECT_TRUE(
        pool.Submit([&] { ran.set_value(); }, WorkerPool::WhenFull::kWait));
  });
  held.Release();
  ran.get_future().wait();
  waiter.join();
}

TEST(WorkerPoolTest, NoLimitIsBelowOne) {
  std::promise<void> ran;
  WorkerPool pool({-1, -1});
  EXPECT_TRUE(pool.Submit([&] { ran.set_value(); }));
  ran.get_future().wait();
}

TEST(WorkerPoolTest, StopDestroysWhatWaitsAndJoinsWhatRuns) {
  Held held;
  WorkerPool pool({1, 100});
  ASSERT_TRUE(pool.Submit(held.Task()));
  held.WaitUntilBegun(1);
  auto kept = std::make_shared<std::promise<void>>();
  std::future<void> never = kept->get_future();
  ASSERT_TRUE(pool.Submit([kept] { FAIL(); }));
  kept.reset();
  std::thread stopper([&] { pool.Stop(); });
  // The promise is broken: nobody waits for ever for a task that never runs.
  EXPECT_THROW(never.get(), std::future_error);
  held.Release();
  stopper.join();
  EXPECT_FALSE(pool.Submit([] { FAIL(); }));
  EXPECT_FALSE(pool.Submit([] { FAIL(); }, WorkerPool::WhenFull::kWait));
  pool.Stop();
}

TEST(WorkerPoolTest, StopEndsWaitingForRoom) {
  Held held;
  WorkerPool pool({1, 1});
  ASSERT_TRUE(pool.Submit(held.Task()));
  held.WaitUntilBegun(1);
  ASSERT_TRUE(pool.Submit([] {}));
  std::thread waiter(
      [&] { pool.Submit([] { FAIL(); }, WorkerPool::WhenFull::kWait); });
  std::thread stopper([&] { pool.Stop(); });
  waiter.join();
  held.Release();
  stopper.join();
}

TEST(WorkerPoolTest, SignalsOfTheProcessAreBlocked) {
  std::promise<sigset_t> mask;
  WorkerPool pool({1, 1});
  ASSERT_TRUE(pool.Submit([&] {
    sigset_t blocked;
    pthread_sigmask(SIG_BLOCK, nullptr, &blocked);
    mask.set_value(blocked);
  }));
  const sigset_t blocked = mask.get_future().get();
  EXPECT_EQ(sigismember(&blocked, SIGINT), 1);
  EXPECT_EQ(sigismember(&blocked, SIGALRM), 1);
  EXPECT_EQ(sigismember(&blocked, SIGSEGV), 0);
  sigset_t own;
  pthread_sigmask(SIG_BLOCK, nullptr, &own);
  EXPECT_EQ(sigismember(&own, SIGINT), 0);
}

TEST(WorkerPoolTest, ManyThreadsLoseNothing) {
  constexpr int kThreads = 6;
  constexpr int kTasks = 2000;
  std::atomic<int> accepted{0};
  std::atomic<int> refused{0};
  std::atomic<int> ran{0};
  const auto memory = std::make_shared<int>();
  WorkerPool pool({3, 8});
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      const auto when_full = t % 2 == 0 ? WorkerPool::WhenFull::kRefuse
                                        : WorkerPool::WhenFull::kWait;
      for (int i = 0; i < kTasks; ++i) {
        const auto held = memory;
        (pool.Submit([&ran, held] { ran.fetch_add(1); }, when_full) ? accepted
                                                                    : refused)
            .fetch_add(1);
        EXPECT_LE(pool.backlog(), 8);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  while (ran.load() < accepted.load()) std::this_thread::yield();
  pool.Stop();
  EXPECT_EQ(accepted + refused, kThreads * kTasks);
  EXPECT_GE(accepted.load(), kThreads / 2 * kTasks);
  EXPECT_EQ(ran.load(), accepted.load());
  EXPECT_EQ(memory.use_count(), 1);
}

TEST(WorkerPoolTest, AChildRunsItsTasksItselfAndForgetsTheParents) {
  Held held;
  auto pool = std::make_unique<WorkerPool>(WorkerPool::Limits{2, 3});
  for (int i = 0; i < 2; ++i) ASSERT_TRUE(pool->Submit(held.Task()));
  held.WaitUntilBegun(2);
  bool in_child = false;
  for (int i = 0; i < 3; ++i) {
    ASSERT_TRUE(pool->Submit([&] { EXPECT_FALSE(in_child); }));
  }
  EXPECT_EQ(InChild([&] {
              in_child = true;
              std::thread::id ran;
              if (!pool->Submit([&] { ran = std::this_thread::get_id(); })) {
                return 1;
              }
              if (ran != std::this_thread::get_id()) return 2;
              if (pool->backlog() != 0) return 3;
              pool->Stop();
              if (pool->Submit([] {})) return 4;
              pool.reset();
              return 7;
            }),
            7);
  EXPECT_EQ(pool->backlog(), 3);
  held.Release();
}

// A lock that a task holds is free in every child.
TEST(WorkerPoolTest, AForkWaitsForTheTasksThatRun) {
  std::mutex mutex;
  WorkerPool pool({2, 1000});
  for (int i = 0; i < 300; ++i) {
    ASSERT_TRUE(pool.Submit([&] {
      const std::lock_guard<std::mutex> lock(mutex);
      std::this_thread::sleep_for(std::chrono::microseconds(500));
    }));
  }
  for (int i = 0; i < 10; ++i) {
    EXPECT_EQ(InChild([&] {
                const std::lock_guard<std::mutex> lock(mutex);
                return 7;
              }),
              7);
  }
}

TEST(WorkerPoolTest, AChildOfABusyParentGoesOn) {
  WorkerPool pool({2, 4});
  std::atomic<bool> stop{false};
  std::vector<std::thread> threads;
  for (int t = 0; t < 3; ++t) {
    threads.emplace_back([&] {
      while (!stop) pool.Submit([] {}, WorkerPool::WhenFull::kWait);
    });
  }
  while (pool.backlog() == 0) std::this_thread::yield();
  for (int i = 0; i < 50; ++i) {
    EXPECT_EQ(InChild([&] {
                int ran = 0;
                for (int n = 0; n < 7; ++n) pool.Submit([&] { ++ran; });
                pool.Stop();
                return ran;
              }),
              7);
  }
  stop = true;
  for (std::thread& thread : threads) thread.join();
}

}  // namespace
}  // namespace flaggems
