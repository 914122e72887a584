#include "flaggems/core/thread_id.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdint>
#include <thread>

namespace flaggems {
namespace {

uint64_t Asked() { return static_cast<uint64_t>(gettid()); }

TEST(ThreadIdTest, IsTheSystems) {
  EXPECT_EQ(ThreadId(), Asked());
  EXPECT_EQ(ThreadId(), Asked());
}

TEST(ThreadIdTest, EachThreadHasItsOwn) {
  const uint64_t here = ThreadId();
  std::thread([&] {
    EXPECT_NE(ThreadId(), here);
    EXPECT_EQ(ThreadId(), Asked());
  }).join();
  EXPECT_EQ(ThreadId(), here);
}

TEST(ThreadIdTest, TheChildOfAForkHasAnother) {
  const uint64_t here = ThreadId();
  const pid_t child = fork();
  if (child == 0) _exit(ThreadId() == Asked() && ThreadId() != here ? 0 : 1);
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  EXPECT_EQ(ThreadId(), here);
}

}  // namespace
}  // namespace flaggems
