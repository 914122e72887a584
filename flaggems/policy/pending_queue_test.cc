#include "flaggems/policy/pending_queue.h"

#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <ostream>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "flaggems/core/fork_testutil.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace flaggems {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::TestParamInfo;
using ::testing::TestWithParam;
using ::testing::ValuesIn;

// What checks did, in order: "1w" check 1 was waited for, "1" it was concluded,
// "1d" it was destroyed (only if asked for).
struct Journal {
  std::vector<std::string> entries;
  bool destructions = false;
};

class FakeCheck : public PendingCheck {
 public:
  FakeCheck(Journal* journal, int number, int64_t bytes = 0)
      : journal_(*journal), number_(number), bytes_(bytes) {}
  ~FakeCheck() override {
    if (journal_.destructions) Note("d");
  }

  bool Ready() override { return ready_; }
  void Wait() override {
    Note("w");
    ready_ = true;
  }
  void Conclude() override {
    EXPECT_TRUE(ready_);
    Note("");
    if (inside_) inside_();
  }
  int64_t bytes() const override { return bytes_; }

  void set_ready() { ready_ = true; }
  // Runs inside Conclude().
  void set_inside(std::function<void()> inside) { inside_ = std::move(inside); }

 private:
  void Note(const std::string& what) {
    journal_.entries.push_back(std::to_string(number_) + what);
  }

  Journal& journal_;
  const int number_;
  const int64_t bytes_;
  bool ready_ = false;
  std::function<void()> inside_;
};

class PendingQueueTest : public testing::Test {
 protected:
  // Adds a check and keeps a pointer to it.
  FakeCheck* Add(PendingQueue& queue, int number, int64_t bytes = 0) {
    auto check = std::make_unique<FakeCheck>(&journal_, number, bytes);
    FakeCheck* const raw = check.get();
    queue.Add(std::move(check));
    return raw;
  }

  std::vector<std::string> TakeEntries() {
    return std::exchange(journal_.entries, {});
  }

  Journal journal_;
};

TEST_F(PendingQueueTest, EmptyDoesNothing) {
  PendingQueue queue({});
  queue.Poll();
  queue.Drain();
  EXPECT_EQ(queue.pending(), 0);
  EXPECT_EQ(queue.bytes(), 0);
}

TEST_F(PendingQueueTest, PollConcludesWhatIsReadyFromTheFront) {
  PendingQueue queue({});
  FakeCheck* const first = Add(queue, 1, 10);
  Add(queue, 2, 20)->set_ready();
  FakeCheck* const third = Add(queue, 3, 40);
  Add(queue, 4, 80)->set_ready();
  queue.Poll();
  // The second is ready, and not its turn.
  EXPECT_THAT(TakeEntries(), IsEmpty());
  EXPECT_EQ(queue.pending(), 4);
  EXPECT_EQ(queue.bytes(), 150);
  first->set_ready();
  queue.Poll();
  EXPECT_THAT(TakeEntries(), ElementsAre("1", "2"));
  EXPECT_EQ(queue.pending(), 2);
  EXPECT_EQ(queue.bytes(), 120);
  third->set_ready();
  queue.Poll();
  EXPECT_THAT(TakeEntries(), ElementsAre("3", "4"));
  EXPECT_EQ(queue.bytes(), 0);
}

TEST_F(PendingQueueTest, DrainWaitsForEachInOrder) {
  PendingQueue queue({});
  Add(queue, 1);
  Add(queue, 2)->set_ready();
  Add(queue, 3);
  queue.Drain();
  EXPECT_THAT(TakeEntries(), ElementsAre("1w", "1", "2w", "2", "3w", "3"));
  EXPECT_EQ(queue.pending(), 0);
}

TEST_F(PendingQueueTest, EachIsDestroyedBeforeTheNextIsConcluded) {
  journal_.destructions = true;
  PendingQueue queue({});
  Add(queue, 1)->set_ready();
  Add(queue, 2)->set_ready();
  queue.Poll();
  EXPECT_THAT(TakeEntries(), ElementsAre("1", "1d", "2", "2d"));
}

TEST_F(PendingQueueTest, TheEndOfTheQueueDestroysWithoutConcluding) {
  journal_.destructions = true;
  {
    PendingQueue queue({});
    Add(queue, 1);
    Add(queue, 2)->set_ready();
  }
  EXPECT_THAT(TakeEntries(), ElementsAre("1d", "2d"));
}

// Checks of these sizes are added one after another, none of them ready.
struct LimitCase {
  std::string name;
  PendingQueue::Limits limits;
  std::vector<int64_t> bytes;
  std::vector<std::string> concluded;  // by Add()
  int64_t pending;                     // after all
};

void PrintTo(const LimitCase& c, std::ostream* os) { *os << c.name; }

class LimitTest : public TestWithParam<LimitCase> {};

TEST_P(LimitTest, AddConcludesTheOldestUntilThereIsRoom) {
  Journal journal;
  PendingQueue queue(GetParam().limits);
  int number = 0;
  for (int64_t bytes : GetParam().bytes) {
    queue.Add(std::make_unique<FakeCheck>(&journal, ++number, bytes));
  }
  EXPECT_EQ(journal.entries, GetParam().concluded);
  EXPECT_EQ(queue.pending(), GetParam().pending);
}

INSTANTIATE_TEST_SUITE_P(
    Limits, LimitTest,
    ValuesIn(std::vector<LimitCase>{
        {"Count", {2, 0}, {0, 0, 0, 0}, {"1w", "1", "2w", "2"}, 2},
        {"CountOfOne", {1, 0}, {9, 9}, {"1w", "1"}, 1},
        // As one: a check has to stand somewhere.
        {"CountOfZero", {0, 0}, {9, 9}, {"1w", "1"}, 1},
        {"NoLimitOfBytes", {9, 0}, {INT64_MAX / 2, INT64_MAX / 2}, {}, 2},
        {"BytesJustFit", {9, 100}, {50, 50}, {}, 2},
        {"BytesByOne", {9, 100}, {50, 51}, {"1w", "1"}, 1},
        {"SeveralForALargeOne",
         {9, 100},
         {20, 20, 20, 20, 70},
         {"1w", "1", "2w", "2", "3w", "3"},
         2},
        {"LargerThanTheLimitStandsAlone",
         {9, 100},
         {10, 1000, 10},
         {"1w", "1", "2w", "2"},
         1},
        {"BytesThatWouldOverflow",
         {9, INT64_MAX},
         {INT64_MAX, INT64_MAX},
         {"1w", "1"},
         1},
        {"EmptyOnesAreFree", {9, 100}, {100, 0, 0}, {}, 3},
    }),
    [](const TestParamInfo<LimitCase>& info) { return info.param.name; });

TEST_F(PendingQueueTest, NestedCallsNeitherReorderNorDeadlock) {
  PendingQueue queue({2, 0});
  FakeCheck* const first = Add(queue, 1);
  FakeCheck* const second = Add(queue, 2);
  first->set_inside([&] {
    second->set_ready();
    queue.Poll();
    queue.Drain();
    // Beyond the limit, as the oldest is what runs.
    Add(queue, 3)->set_inside([&] { Add(queue, 4); });
    EXPECT_EQ(queue.pending(), 3);
    EXPECT_THAT(journal_.entries, ElementsAre("1"));
  });
  first->set_ready();
  queue.Poll();
  EXPECT_THAT(TakeEntries(), ElementsAre("1", "2"));
  // Those that were there before: not the fourth, which comes meanwhile.
  queue.Drain();
  EXPECT_THAT(TakeEntries(), ElementsAre("3w", "3"));
  queue.Drain();
  EXPECT_THAT(TakeEntries(), ElementsAre("4w", "4"));
}

TEST_F(PendingQueueTest, PollReturnsWhileAnotherThreadConcludes) {
  PendingQueue queue({});
  FakeCheck* const first = Add(queue, 1);
  Add(queue, 2)->set_ready();
  first->set_ready();
  first->set_inside([&] {
    std::thread([&] {
      queue.Poll();
      Add(queue, 3)->set_ready();
    }).join();
    EXPECT_THAT(journal_.entries, ElementsAre("1"));
  });
  queue.Poll();
  EXPECT_THAT(TakeEntries(), ElementsAre("1", "2", "3"));
}

// Each thread's checks get numbers in the order of its Add(); conclusions are
// serial and keep them.
class CountingCheck : public PendingCheck {
 public:
  struct Shared {
    // On purpose not atomic: only one thread at a time is inside Conclude().
    std::vector<std::vector<int>> concluded;
    std::atomic<int> alive{0};
  };

  CountingCheck(Shared* shared, int thread, int number)
      : shared_(*shared), thread_(thread), number_(number) {
    ++shared_.alive;
  }
  ~CountingCheck() override { --shared_.alive; }

  bool Ready() override { return ++asked_ > number_ % 3; }
  void Wait() override { asked_ = 3; }
  void Conclude() override { shared_.concluded[thread_].push_back(number_); }
  int64_t bytes() const override { return 1 + number_ % 7; }

 private:
  Shared& shared_;
  const int thread_;
  const int number_;
  int asked_ = 0;
};

TEST_F(PendingQueueTest, ManyThreadsKeepTheOrderAndTheLimits) {
  constexpr int kThreads = 8;
  constexpr int kChecks = 4000;
  constexpr int64_t kMaxPending = 5;
  PendingQueue queue({kMaxPending, 20});
  CountingCheck::Shared shared;
  shared.concluded.resize(kThreads);
  std::atomic<int> waiting{kThreads};
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      waiting.fetch_sub(1);
      while (waiting.load() > 0) std::this_thread::yield();
      for (int i = 0; i < kChecks; ++i) {
        queue.Add(std::make_unique<CountingCheck>(&shared, t, i));
        EXPECT_LE(queue.pending(), kMaxPending);
        EXPECT_LE(queue.bytes(), 20);
        if (i % 3 != 0) queue.Poll();
        if (i % 50 == 0) queue.Drain();
      }
      queue.Drain();
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(queue.pending(), 0);
  EXPECT_EQ(queue.bytes(), 0);
  EXPECT_EQ(shared.alive.load(), 0);
  for (const std::vector<int>& numbers : shared.concluded) {
    ASSERT_EQ(static_cast<int>(numbers.size()), kChecks);
    for (int i = 0; i < kChecks; ++i) ASSERT_EQ(numbers[i], i);
  }
}

// A check with work for other threads: nothing of it is done before the test
// says so.
class WorkingCheck : public PendingCheck {
 public:
  struct State {
    bool device_done = false;
    bool busy = false;  // the other threads
    bool started = false;
    bool given_up = false;
    bool worked = false;
    bool dropped = false;
  };
  WorkingCheck(Journal* journal, int number, State* state)
      : journal_(*journal), number_(number), state_(*state) {}

  bool Start(WhenBusy when_busy) override {
    EXPECT_FALSE(state_.started);
    if (!state_.device_done) return false;
    if (state_.busy && when_busy == WhenBusy::kKeep) return false;
    state_.given_up = state_.busy;
    state_.started = true;
    return true;
  }
  bool Ready() override {
    EXPECT_TRUE(state_.started);
    return state_.worked || state_.given_up;
  }
  void WaitForDevice() override { state_.device_done = true; }
  void Wait() override { state_.device_done = state_.worked = true; }
  void Conclude() override {
    EXPECT_TRUE(state_.worked || state_.given_up);
    journal_.entries.push_back(std::to_string(number_) +
                               (state_.given_up ? "g" : ""));
  }
  void Drop() override { state_.dropped = true; }
  int64_t bytes() const override { return 10; }

 private:
  Journal& journal_;
  const int number_;
  State& state_;
};

class WorkingCheckTest : public PendingQueueTest {
 protected:
  void AddAll(PendingQueue& queue) {
    for (int i = 0; i < 4; ++i) {
      queue.Add(std::make_unique<WorkingCheck>(&journal_, i, &states_[i]));
    }
  }

  WorkingCheck::State states_[4];
};

TEST_F(WorkingCheckTest, PollStartsInOrderWhoseDeviceIsDone) {
  PendingQueue queue({});
  AddAll(queue);
  states_[0].device_done = states_[1].device_done = true;
  states_[3].device_done = true;
  queue.Poll();
  EXPECT_TRUE(states_[0].started);
  EXPECT_TRUE(states_[1].started);
  EXPECT_FALSE(states_[3].started);
  // The last work to come back holds the others up.
  states_[1].worked = true;
  queue.Poll();
  EXPECT_THAT(TakeEntries(), IsEmpty());
  states_[2].device_done = true;
  states_[3].busy = true;
  states_[0].worked = true;
  queue.Poll();
  EXPECT_THAT(TakeEntries(), ElementsAre("0", "1"));
  states_[2].worked = true;
  queue.Poll();
  EXPECT_THAT(TakeEntries(), ElementsAre("2", "3g"));
}

TEST_F(WorkingCheckTest, DrainGivesNothingUp) {
  PendingQueue queue({});
  AddAll(queue);
  for (WorkingCheck::State& state : states_) {
    state.device_done = state.busy = true;
  }
  queue.Drain();
  EXPECT_THAT(TakeEntries(), ElementsAre("0", "1", "2", "3"));
}

TEST_F(WorkingCheckTest, WithoutRoomWhatWouldWaitForOtherThreadsIsDropped) {
  PendingQueue queue({2, 0});
  AddAll(queue);
  EXPECT_TRUE(states_[0].started);
  EXPECT_TRUE(states_[2].dropped);
  EXPECT_TRUE(states_[3].dropped);
  EXPECT_EQ(queue.pending(), 2);
  EXPECT_EQ(queue.bytes(), 20);
  queue.Drain();
  EXPECT_THAT(TakeEntries(), ElementsAre("0", "1"));
}

// A check whose memory can be had while it waits.
class SheddingCheck : public PendingCheck {
 public:
  struct State {
    std::atomic<bool> device_done{false};
    std::atomic<bool> worked{true};  // the other threads
    bool can_shed = true;
    std::function<void()> inside_shed;
  };
  SheddingCheck(Journal* journal, int number, int64_t bytes, State* state)
      : journal_(*journal), number_(number), bytes_(bytes), state_(*state) {}
  ~SheddingCheck() override {
    if (journal_.destructions) Note("d");
  }

  bool Start(WhenBusy) override {
    EXPECT_FALSE(started_);
    return started_ = shed_ || state_.device_done;
  }
  bool Ready() override { return shed_ || (started_ && state_.worked); }
  void WaitForDevice() override { state_.device_done = true; }
  void Wait() override {
    if (!shed_) Note("w");
    started_ = true;
  }
  std::optional<int64_t> Shed() override {
    EXPECT_FALSE(started_);
    if (state_.inside_shed) state_.inside_shed();
    if (shed_ || !state_.can_shed) return std::nullopt;
    shed_ = true;
    return bytes_;
  }
  void Conclude() override { Note(shed_ ? "s" : ""); }
  int64_t bytes() const override { return bytes_; }

 private:
  void Note(const std::string& what) {
    journal_.entries.push_back(std::to_string(number_) + what);
  }

  Journal& journal_;
  const int number_;
  const int64_t bytes_;
  State& state_;
  bool started_ = false;
  bool shed_ = false;
};

class SheddingTest : public PendingQueueTest {
 protected:
  void AddAll(PendingQueue& queue) {
    for (int i = 0; i < 4; ++i) {
      queue.Add(
          std::make_unique<SheddingCheck>(&journal_, i, 1 << i, &states_[i]));
    }
  }

  SheddingCheck::State states_[4];
};

TEST_F(SheddingTest, AnEmptyQueueHasNothingToShed) {
  PendingQueue queue({});
  EXPECT_EQ(queue.Shed(), 0);
}

TEST_F(SheddingTest, WhatIsShedIsConcludedInItsTurn) {
  journal_.destructions = true;
  PendingQueue queue({});
  AddAll(queue);
  states_[1].can_shed = false;
  EXPECT_EQ(queue.Shed(), 3);
  EXPECT_EQ(queue.bytes(), 2);
  EXPECT_EQ(queue.pending(), 4);
  // Once each.
  EXPECT_EQ(queue.Shed(), 0);
  EXPECT_THAT(TakeEntries(), IsEmpty());
  queue.Poll();
  EXPECT_THAT(TakeEntries(), ElementsAre("0s", "0d"));
  states_[1].device_done = true;
  queue.Poll();
  EXPECT_THAT(TakeEntries(), ElementsAre("1", "1d", "2s", "2d", "3s", "3d"));
  EXPECT_EQ(queue.bytes(), 0);
}

TEST_F(SheddingTest, DrainDoesNotWaitForWhatIsShed) {
  PendingQueue queue({});
  AddAll(queue);
  states_[2].can_shed = false;
  queue.Shed();
  queue.Drain();
  EXPECT_THAT(TakeEntries(), ElementsAre("0s", "1s", "2w", "2", "3s"));
}

TEST_F(SheddingTest, WhatIsStartedStays) {
  PendingQueue queue({});
  AddAll(queue);
  states_[0].device_done = states_[1].device_done = true;
  states_[0].worked = false;
  queue.Poll();
  EXPECT_EQ(queue.Shed(), 2);
  EXPECT_EQ(queue.bytes(), 3);
  states_[0].worked = true;
  queue.Poll();
  EXPECT_THAT(TakeEntries(), ElementsAre("0", "1", "2s", "3s"));
}

TEST_F(SheddingTest, ShedMemoryMakesRoom) {
  PendingQueue queue({9, 15});
  AddAll(queue);
  queue.Shed();
  SheddingCheck::State state;
  queue.Add(std::make_unique<SheddingCheck>(&journal_, 9, 15, &state));
  EXPECT_THAT(TakeEntries(), IsEmpty());
  EXPECT_EQ(queue.bytes(), 15);
  EXPECT_EQ(queue.pending(), 5);
}

TEST_F(SheddingTest, InsideAConclusionNothingIsShed) {
  PendingQueue queue({});
  FakeCheck* const first = Add(queue, 7);
  AddAll(queue);
  first->set_ready();
  first->set_inside([&] {
    EXPECT_EQ(queue.Shed(), 0);
    std::thread([&] { EXPECT_EQ(queue.Shed(), 0); }).join();
    EXPECT_EQ(queue.bytes(), 15);
  });
  queue.Poll();
  EXPECT_EQ(queue.Shed(), 4);
}

TEST_F(SheddingTest, OthersNeitherWaitForNorDisturbIt) {
  PendingQueue queue({});
  AddAll(queue);
  states_[1].inside_shed = [&] {
    std::thread([&] {
      EXPECT_EQ(queue.Shed(), 0);
      queue.Poll();
      Add(queue, 4)->set_ready();
    }).join();
  };
  EXPECT_EQ(queue.Shed(), 4);
  states_[1].inside_shed = nullptr;
  EXPECT_THAT(TakeEntries(), IsEmpty());
  queue.Poll();
  EXPECT_THAT(TakeEntries(), ElementsAre("0s", "1s", "2s", "3s", "4"));
}

TEST_F(SheddingTest, ManyThreadsLoseNothing) {
  constexpr int kThreads = 4;
  constexpr int kChecks = 2000;
  PendingQueue queue({8, 100});
  SheddingCheck::State state;
  state.device_done = true;
  std::atomic<bool> stop{false};
  std::thread shedder([&] {
    while (!stop) {
      queue.Shed();
      std::this_thread::yield();
    }
  });
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < kChecks; ++i) {
        queue.Add(
            std::make_unique<SheddingCheck>(&journal_, i, i % 30, &state));
        EXPECT_LE(queue.bytes(), 100);
        if (i % 3 == 0) queue.Poll();
        if (i % 50 == 0) queue.Drain();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  stop = true;
  shedder.join();
  queue.Drain();
  EXPECT_EQ(queue.pending(), 0);
  EXPECT_EQ(queue.bytes(), 0);
  int64_t concluded = 0;
  for (const std::string& entry : TakeEntries()) {
    if (entry.back() != 'w') ++concluded;
  }
  EXPECT_EQ(concluded, kThreads * kChecks);
}

TEST_F(PendingQueueTest, AChildDropsWithoutACallAndGoesOn) {
  journal_.destructions = true;
  PendingQueue queue({});
  Add(queue, 1, 10)->set_ready();
  Add(queue, 2, 20);
  EXPECT_EQ(
      InChild([&] {
        queue.Discard();
        queue.Drain();
        if (!journal_.entries.empty()) return 1;
        if (queue.pending() != 0 || queue.bytes() != 0) return 2;
        Add(queue, 3, 5);
        queue.Drain();
        return TakeEntries() == std::vector<std::string>({"3w", "3", "3d"}) ? 7
                                                                            : 3;
      }),
      7);
  queue.Drain();
  EXPECT_EQ(TakeEntries().size(), 6u);
}

TEST_F(PendingQueueTest, AChildOfTheThreadThatConcludesGoesOn) {
  PendingQueue queue({});
  bool child = false;
  int code = 0;
  Add(queue, 1)->set_inside([&] {
    const pid_t pid = fork();
    if (pid == 0) {
      alarm(20);
      child = true;
      queue.Discard();
      Add(queue, 3);
      return;
    }
    int status = 0;
    waitpid(pid, &status, 0);
    code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  });
  Add(queue, 2);
  queue.Drain();
  if (child) {
    const bool kept = TakeEntries() == std::vector<std::string>({"1w", "1"}) &&
                      queue.pending() == 1;
    _exit(kept ? 7 : 1);
  }
  EXPECT_EQ(code, 7);
  EXPECT_THAT(TakeEntries(), ElementsAre("1w", "1", "2w", "2"));
}

// The parent's threads conclude and wait at the limits while it forks.
TEST_F(PendingQueueTest, AChildOfABusyParentGoesOn) {
  PendingQueue queue({2, 0});
  CountingCheck::Shared shared;
  shared.concluded.resize(4);
  std::atomic<bool> stop{false};
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; !stop; ++i) {
        queue.Add(std::make_unique<CountingCheck>(&shared, t, i));
        if (i % 8 == 0) queue.Drain();
      }
    });
  }
  for (int i = 0; i < 50; ++i) {
    EXPECT_EQ(InChild([&] {
                queue.Discard();
                for (int n = 1; n <= 3; ++n) Add(queue, n);
                queue.Drain();
                return static_cast<int>(journal_.entries.size());
              }),
              6);
  }
  stop = true;
  for (std::thread& thread : threads) thread.join();
}

}  // namespace
}  // namespace flaggems
