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

}  // namespace
}  // namespace flaggems
