#include "flaggems/policy/sheddable_queues.h"

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <thread>
#include <utility>

#include "gtest/gtest.h"

namespace flaggems {
namespace {

class HoldingCheck : public PendingCheck {
 public:
  explicit HoldingCheck(int64_t bytes, std::function<void()> inside = nullptr)
      : bytes_(bytes), inside_(std::move(inside)) {}

  bool Ready() override { return true; }
  void Wait() override {}
  void Conclude() override {}
  std::optional<int64_t> Shed() override {
    if (inside_) inside_();
    return bytes_;
  }
  int64_t bytes() const override { return bytes_; }

 private:
  const int64_t bytes_;
  const std::function<void()> inside_;
};

TEST(SheddableQueuesTest, WithoutAQueueThereIsNothing) {
  EXPECT_EQ(MemoryOfPendingChecks().checks, 0);
  EXPECT_EQ(MemoryOfPendingChecks().bytes, 0);
  EXPECT_EQ(ShedPendingChecks(), 0);
}

TEST(SheddableQueuesTest, AllQueuesThatAreListedShed) {
  PendingQueue first({});
  PendingQueue second({});
  PendingQueue unlisted({});
  const SheddableQueue listed_first(&first);
  first.Add(std::make_unique<HoldingCheck>(1));
  first.Add(std::make_unique<HoldingCheck>(2));
  second.Add(std::make_unique<HoldingCheck>(4));
  unlisted.Add(std::make_unique<HoldingCheck>(8));
  {
    const SheddableQueue listed_second(&second);
    EXPECT_EQ(MemoryOfPendingChecks().checks, 3);
    EXPECT_EQ(MemoryOfPendingChecks().bytes, 7);
    EXPECT_EQ(ShedPendingChecks(), 3);
    EXPECT_EQ(MemoryOfPendingChecks().checks, 3);
    EXPECT_EQ(MemoryOfPendingChecks().bytes, 0);
  }
  EXPECT_EQ(MemoryOfPendingChecks().checks, 2);
  EXPECT_EQ(unlisted.bytes(), 8);
}

TEST(SheddableQueuesTest, OneThreadAtATimeSheds) {
  PendingQueue queue({});
  PendingQueue other({});
  const SheddableQueue listed(&queue);
  const SheddableQueue listed_other(&other);
  other.Add(std::make_unique<HoldingCheck>(1));
  queue.Add(std::make_unique<HoldingCheck>(1, [&] {
    std::thread([&] {
      EXPECT_EQ(ShedPendingChecks(), 0);
      EXPECT_EQ(MemoryOfPendingChecks().bytes, 2);
    }).join();
  }));
  EXPECT_EQ(ShedPendingChecks(), 2);
}

class RunningFake final : public RunningCheck {
 public:
  explicit RunningFake(int64_t bytes) : bytes_(bytes) {}

  std::optional<int64_t> Shed() override {
    if (bytes_ == 0) return std::nullopt;
    return std::exchange(bytes_, 0);
  }
  int64_t bytes() const override { return bytes_; }

 private:
  int64_t bytes_;
};

TEST(RunningCheckTest, ThoseOfThisThreadShed) {
  RunningFake outer(1);
  {
    RunningFake inner(2);
    EXPECT_EQ(MemoryOfPendingChecks().checks, 2);
    EXPECT_EQ(MemoryOfPendingChecks().bytes, 3);
    // Another thread may be anywhere in its own.
    std::thread([] {
      EXPECT_EQ(MemoryOfPendingChecks().checks, 0);
      EXPECT_EQ(ShedPendingChecks(), 0);
    }).join();
    EXPECT_EQ(ShedPendingChecks(), 2);
    EXPECT_EQ(ShedPendingChecks(), 0);
  }
  EXPECT_EQ(MemoryOfPendingChecks().checks, 1);
}

TEST(RunningCheckTest, OneThatHasEndedIsNotAsked) {
  { RunningFake check(1); }
  EXPECT_EQ(MemoryOfPendingChecks().checks, 0);
  EXPECT_EQ(ShedPendingChecks(), 0);
}

}  // namespace
}  // namespace flaggems
