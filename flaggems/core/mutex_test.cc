#include "flaggems/core/mutex.h"

#include <thread>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "gtest/gtest.h"

namespace flaggems {
namespace {

struct Counter {
  Mutex mutex;
  int count ABSL_GUARDED_BY(mutex) = 0;
};

TEST(MutexLockTest, KeepsOthersOutUntilItsScopeEnds) {
  Counter counter;
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&counter] {
      for (int i = 0; i < 10000; ++i) {
        MutexLock lock(&counter.mutex);
        ++counter.count;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  MutexLock lock(&counter.mutex);
  EXPECT_EQ(counter.count, 40000);
}

}  // namespace
}  // namespace flaggems
