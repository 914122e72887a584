#include "flaggems/core/fork_section.h"

#include <atomic>
#include <mutex>
#include <thread>
#include <vector>

#include "flaggems/core/fork_testutil.h"
#include "gtest/gtest.h"

namespace flaggems {
namespace {

TEST(ForkSectionTest, KnowsTheChild) {
  EXPECT_FALSE(IsForkedChild());
  EXPECT_EQ(InChild([] { return IsForkedChild() ? 7 : 8; }), 7);
  EXPECT_FALSE(IsForkedChild());
  // And the child's child.
  EXPECT_EQ(
      InChild([] { return InChild([] { return IsForkedChild() ? 7 : 8; }); }),
      7);
}

TEST(ForkSectionTest, Nests) {
  const ForkSection outer;
  const ForkSection inner;
}

TEST(ForkSectionTest, LocksTakenInSectionsAreFreeInTheChild) {
  std::mutex mutex;
  std::atomic<bool> stop{false};
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      while (!stop) {
        const ForkSection section;
        const std::lock_guard<std::mutex> lock(mutex);
        const ForkSection inner;
      }
    });
  }
  for (int i = 0; i < 100; ++i) {
    EXPECT_EQ(InChild([&] {
                const ForkSection section;
                const std::lock_guard<std::mutex> lock(mutex);
                return 7;
              }),
              7);
  }
  stop = true;
  for (std::thread& thread : threads) thread.join();
}

}  // namespace
}  // namespace flaggems
