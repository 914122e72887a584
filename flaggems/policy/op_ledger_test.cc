#include "flaggems/policy/op_ledger.h"

#include <atomic>
#include <cstdint>
#include <thread>
#include <vector>

#include "flaggems/core/op_key.h"
#include "flaggems/core/verdict.h"
#include "gtest/gtest.h"

namespace flaggems {
namespace {

constexpr int kThreads = 8;

const OpKey kMm{"aten", "mm", ""};

// body(i) on kThreads threads that start together.
template <typename Body>
void OnThreads(const Body& body) {
  std::atomic<int> waiting{kThreads};
  std::vector<std::thread> threads;
  for (int i = 0; i < kThreads; ++i) {
    threads.emplace_back([&, i] {
      waiting.fetch_sub(1);
      while (waiting.load() > 0) std::this_thread::yield();
      body(i);
    });
  }
  for (std::thread& thread : threads) thread.join();
}

TEST(OpLedgerTest, AtMostMaxChecksOverAllThreads) {
  for (int64_t max_checks : {0, 1, 10, 1000}) {
    OpLedger ledger(kMm);
    std::atomic<int64_t> admitted{0};
    OnThreads([&](int) {
      for (int i = 0; i < 500; ++i) {
        if (!ledger.TryAdmit(max_checks)) continue;
        admitted.fetch_add(1);
        ledger.FinishCheck();
      }
    });
    EXPECT_EQ(admitted.load(), max_checks);
    EXPECT_TRUE(ledger.exhausted(max_checks));
    EXPECT_FALSE(ledger.HasFreeSlot(max_checks));
  }
}

// Slots that are given back: never more than max held at a time, and in the
// end exactly max used.
TEST(OpLedgerTest, ReturnedSlotsAreReused) {
  constexpr int64_t kMax = 3;
  OpLedger ledger(kMm);
  std::atomic<int64_t> held_or_used{0}, most{0}, used{0}, returned{0};
  OnThreads([&](int thread) {
    for (int i = 0; !ledger.exhausted(kMax); ++i) {
      if (!ledger.TryAdmit(kMax)) {
        std::this_thread::yield();
        continue;
      }
      const int64_t now = held_or_used.fetch_add(1) + 1;
      int64_t seen = most.load();
      while (seen < now && !most.compare_exchange_weak(seen, now)) {
      }
      if (i < 20 + thread) {
        returned.fetch_add(1);
        held_or_used.fetch_sub(1);
        ledger.ReturnSlot();
      } else {
        used.fetch_add(1);
        ledger.FinishCheck();
      }
    }
  });
  EXPECT_EQ(used.load(), kMax);
  EXPECT_GT(returned.load(), kMax);
  EXPECT_LE(most.load(), kMax);
}

TEST(OpLedgerTest, ExhaustedOnlyWhenNoSlotCanComeBack) {
  OpLedger ledger(kMm);
  ASSERT_TRUE(ledger.TryAdmit(2));
  ASSERT_TRUE(ledger.TryAdmit(2));
  EXPECT_FALSE(ledger.TryAdmit(2));
  EXPECT_FALSE(ledger.exhausted(2));
  ledger.FinishCheck();
  EXPECT_FALSE(ledger.exhausted(2));
  ledger.ReturnSlot();
  EXPECT_TRUE(ledger.HasFreeSlot(2));
  ASSERT_TRUE(ledger.TryAdmit(2));
  ledger.FinishCheck();
  EXPECT_TRUE(ledger.exhausted(2));
}

TEST(OpLedgerTest, OneThreadReports) {
  for (int round = 0; round < 50; ++round) {
    OpLedger ledger(kMm);
    std::atomic<int> reports{0};
    OnThreads([&](int) {
      if (ledger.MarkReported()) reports.fetch_add(1);
      EXPECT_TRUE(ledger.reported());
    });
    ASSERT_EQ(reports.load(), 1);
  }
}

TEST(OpLedgerTest, CountsOfAllThreadsAddUp) {
  OpLedger ledger(kMm);
  OnThreads([&](int thread) {
    for (int i = 0; i < 1000; ++i) {
      ledger.NextCall();
      ledger.Count(static_cast<Verdict>((thread + i) % kNumVerdicts));
    }
  });
  EXPECT_EQ(ledger.calls(), kThreads * 1000);
  EXPECT_EQ(ledger.NextCall(), kThreads * 1000 + 1);
}

TEST(OpLedgerTest, CounterIsTheCount) {
  OpLedger ledger(kMm);
  ledger.counter(Verdict::kSkipDisabled)->fetch_add(3);
  EXPECT_EQ(ledger.count(Verdict::kSkipDisabled), 3);
  EXPECT_EQ(ledger.count(Verdict::kSkipThrottle), 0);
}

TEST(OpLedgerTest, ResetKeepsTheSlotsOfChecksUnderWay) {
  OpLedger ledger(kMm);
  ASSERT_TRUE(ledger.TryAdmit(2));
  ledger.FinishCheck();
  ASSERT_TRUE(ledger.TryAdmit(2));  // still under way
  ledger.Count(Verdict::kPass);
  ledger.MarkReported();
  ledger.NextCall();

  ledger.Reset();
  EXPECT_EQ(ledger.calls(), 0);
  EXPECT_EQ(ledger.NextCall(), 1);
  EXPECT_FALSE(ledger.reported());
  EXPECT_FALSE(ledger.exhausted(2));
  EXPECT_TRUE(ledger.TryAdmit(2));
  EXPECT_FALSE(ledger.TryAdmit(2));
  ledger.FinishCheck();
  EXPECT_FALSE(ledger.exhausted(2));
  ledger.ReturnSlot();
  EXPECT_TRUE(ledger.TryAdmit(2));
  EXPECT_FALSE(ledger.TryAdmit(2));
}

TEST(OpLedgerTest, SpreadSlotsHaveNoLimitAndComeBackToTheirSignature) {
  OpLedger ledger(kMm);
  for (int i = 0; i < 1000; ++i) {
    if (ledger.TryAdmitSpread(1, 4)) ledger.FinishCheck();
  }
  while (!ledger.TryAdmitSpread(1, 4)) {
  }
  ASSERT_FALSE(ledger.TryAdmitSpread(1, 4));
  ledger.ReturnSpreadSlot(1);
  EXPECT_TRUE(ledger.TryAdmitSpread(1, 4));
  EXPECT_TRUE(ledger.TryAdmitSpread(2, 4));  // a new signature
  EXPECT_FALSE(ledger.TryAdmitSpread(3, 0));
}

TEST(OpLedgerTest, ResetStartsTheScheduleAnewAndKeepsSlotsUnderWay) {
  OpLedger ledger(kMm);
  for (int i = 0; i < 1000; ++i) {
    if (ledger.TryAdmitSpread(1, 4)) ledger.FinishCheck();
  }
  while (!ledger.TryAdmitSpread(1, 4)) {
  }
  ledger.Reset();  // one check is under way
  for (int i = 0; i < 4; ++i) {
    EXPECT_TRUE(ledger.TryAdmitSpread(1, 4));
    ledger.FinishCheck();
  }
  // Under the other throttle it holds one of two slots until it ends.
  ledger.Reset();
  EXPECT_TRUE(ledger.TryAdmit(2));
  EXPECT_FALSE(ledger.TryAdmit(2));
  ledger.ReturnSlot();
  EXPECT_TRUE(ledger.TryAdmit(2));
}

TEST(OpLedgerTest, OperatorsAreNotInLockstep) {
  OpLedger mm(kMm);
  OpLedger overload({"aten", "mm", "out"});
  int together = 0;
  int mm_alone = 0;
  for (int i = 0; i < 10'000; ++i) {
    const bool a = mm.TryAdmitSpread(1, 4);
    const bool b = overload.TryAdmitSpread(1, 4);
    if (a && b && i >= 100) ++together;
    if (a && !b) ++mm_alone;
  }
  EXPECT_LT(together, 10);
  EXPECT_GT(mm_alone, 20);
}

TEST(LedgerBookTest, OneLedgerAnOperatorForAllThreads) {
  LedgerBook book;
  std::vector<OpLedger*> seen(kThreads);
  OnThreads([&](int thread) {
    for (int i = 0; i < 100; ++i) {
      book.Get({"aten", "op" + std::to_string(i), ""})->Count(Verdict::kPass);
    }
    seen[thread] = book.Get(kMm);
  });
  for (OpLedger* ledger : seen) EXPECT_EQ(ledger, seen[0]);
  ASSERT_EQ(book.All().size(), 101u);
  for (const OpLedger* ledger : book.All()) {
    if (ledger->key() != kMm) {
      EXPECT_EQ(ledger->calls(), kThreads);
    }
  }
}

TEST(LedgerBookTest, SortedAndResetTogether) {
  LedgerBook book;
  book.Get({"my", "op", ""})->Count(Verdict::kPass);
  book.Get({"aten", "mul", "Tensor"})->Count(Verdict::kPass);
  book.Get({"aten", "mul", "Scalar"})->Count(Verdict::kPass);
  const std::vector<const OpLedger*> all = book.All();
  ASSERT_EQ(all.size(), 3u);
  EXPECT_EQ(all[0]->key().overload, "Scalar");
  EXPECT_EQ(all[2]->key().ns, "my");
  book.Reset();
  for (const OpLedger* ledger : all) EXPECT_EQ(ledger->calls(), 0);
}

}  // namespace
}  // namespace flaggems
