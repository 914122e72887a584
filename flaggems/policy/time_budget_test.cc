#include "flaggems/policy/time_budget.h"

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <map>
#include <ostream>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace flaggems {
namespace {

using ::testing::TestParamInfo;
using ::testing::TestWithParam;
using ::testing::ValuesIn;

constexpr int64_t kUs = 1'000;
constexpr int64_t kMs = 1'000'000;

// A program on a clock of its own: calls take time, and checks take time beside
// it.
class Program {
 public:
  explicit Program(double fraction)
      : budget_(fraction, [this] { return now_; }) {}

  // One call, which takes `call_ns`; its check would cost `check_ns`, of which
  // `later_ns` shows only at the end of the step. Returns whether it is
  // checked.
  bool Call(uint64_t signature, int64_t call_ns, int64_t check_ns,
            int64_t later_ns = 0) {
    const bool admitted = budget_.Admit(signature);
    if (admitted) {
      dearest_ = std::max(dearest_, check_ns + later_ns);
      now_ += check_ns;
      spent_ += check_ns;
      budget_.Charge(signature, check_ns);
      if (later_ns > 0) later_.push_back({signature, later_ns});
      ++checks_[signature];
    }
    now_ += call_ns;
    run_ += call_ns;
    return admitted;
  }

  void EndStep() {
    for (const auto& [signature, ns] : later_) {
      now_ += ns;
      spent_ += ns;
      budget_.ChargeLater(signature, ns);
    }
    later_.clear();
  }

  // Nothing is called for a time.
  void Rest(int64_t ns) {
    now_ += ns;
    run_ += ns;
  }

  // Counts anew from here.
  void Mark() {
    checks_.clear();
    spent_ = 0;
    run_ = 0;
  }

  double share() const { return static_cast<double>(spent_) / run_; }
  int64_t spent() const { return spent_; }
  int64_t run() const { return run_; }
  int64_t dearest() const { return dearest_; }
  int checks(uint64_t signature) { return checks_[signature]; }
  int covered() const { return static_cast<int>(checks_.size()); }
  TimeBudget& budget() { return budget_; }

 private:
  int64_t now_ = 1'000'000'007;  // clocks do not start at 0
  int64_t spent_ = 0;
  int64_t run_ = 0;
  int64_t dearest_ = 0;
  std::map<uint64_t, int> checks_;
  std::vector<std::pair<uint64_t, int64_t>> later_;
  TimeBudget budget_;
};

TEST(TimeBudgetTest, WithoutALimitAllAreAdmittedAndNoClockIsAsked) {
  TimeBudget budget(0, nullptr);
  EXPECT_FALSE(budget.limited());
  for (uint64_t i = 0; i < 100; ++i) {
    EXPECT_TRUE(budget.Admit(i % 3));
    budget.Charge(i % 3, 1000 * kMs);
    budget.ChargeLater(i % 3, 1000 * kMs);
  }
  budget.Reset();
  EXPECT_TRUE(budget.Admit(1));
}

TEST(TimeBudgetTest, OneCheckUntilACostIsKnown) {
  int64_t now = 0;
  TimeBudget budget(1, [&] { return now; });
  EXPECT_TRUE(budget.Admit(1));
  now += 1000 * kMs;
  EXPECT_FALSE(budget.Admit(1));
  EXPECT_FALSE(budget.Admit(2));
  budget.Charge(1, 10 * kUs);
  // As dear as the one that is known.
  EXPECT_TRUE(budget.Admit(2));
  EXPECT_TRUE(budget.Admit(3));
}

TEST(TimeBudgetTest, TheFirstCheckIsPaidBack) {
  Program program(0.05);
  EXPECT_TRUE(program.Call(1, 0, 100 * kMs));
  // 100 ms, less the 2.5 that are there at the start, and 100 for the next.
  int64_t refused = 0;
  while (!program.Call(2, 1 * kMs, 100 * kMs)) ++refused;
  EXPECT_NEAR(static_cast<double>(refused), (200 - 2.5) / 0.05, 2);
}

TEST(TimeBudgetTest, ResetIsANewStart) {
  int64_t now = 0;
  TimeBudget budget(0.05, [&] { return now; });
  EXPECT_TRUE(budget.Admit(1));
  EXPECT_FALSE(budget.Admit(2));
  budget.Reset();
  EXPECT_TRUE(budget.Admit(2));
  budget.Charge(2, 1000 * kMs);
  EXPECT_FALSE(budget.Admit(1));
  budget.Reset();
  EXPECT_TRUE(budget.Admit(1));
}

// What is not spent while nothing is called is not all there afterwards.
TEST(TimeBudgetTest, ARestSavesNoMoreThanTheBurst) {
  constexpr double kFraction = 0.05;
  Program program(kFraction);
  for (int i = 0; i < 20'000; ++i) program.Call(i % 60, 10 * kUs, 100 * kUs);
  program.Rest(600'000 * kMs);
  program.Mark();
  int64_t most = 0;
  for (int i = 0; i < 2'000; ++i) {
    program.Call(i % 60, 10 * kUs, 100 * kUs);
    most = std::max(most, program.spent() -
                              static_cast<int64_t>(kFraction * program.run()));
  }
  EXPECT_LE(most, static_cast<int64_t>(kFraction * 50 * kMs) + 100 * kUs);
  EXPECT_GE(most, static_cast<int64_t>(kFraction * 50 * kMs) - 100 * kUs);
}

struct Mix {
  std::string name;
  double fraction;
  int signatures;
  int calls;        // a step; signatures come in turn
  int64_t step_ns;  // without checks
  int64_t (*cost)(int signature);
  double later = 0;  // the share of a cost that shows later
};

void PrintTo(const Mix& mix, std::ostream* os) { *os << mix.name; }

class MixTest : public TestWithParam<Mix> {
 protected:
  // Calls the last signatures once a step only, at its end.
  static int SignatureOf(const Mix& mix, int call) {
    const int rare = mix.signatures / 2;
    const int from_end = mix.calls - 1 - call;
    return from_end < rare ? mix.signatures - 1 - from_end
                           : call % (mix.signatures - rare);
  }
  static void Step(const Mix& mix, Program& program) {
    for (int call = 0; call < mix.calls; ++call) {
      const int signature = SignatureOf(mix, call);
      const int64_t cost = mix.cost(signature);
      const auto later = static_cast<int64_t>(mix.later * cost);
      program.Call(signature, mix.step_ns / mix.calls, cost - later, later);
    }
    program.EndStep();
  }
  static int64_t CostOfAll(const Mix& mix) {
    int64_t sum = 0;
    for (int i = 0; i < mix.signatures; ++i) sum += mix.cost(i);
    return sum;
  }
};

TEST_P(MixTest, SharesAreKeptAndAllSignaturesCovered) {
  const Mix& mix = GetParam();
  Program program(mix.fraction);
  // The steps in which the run earns one check of each.
  const double round =
      CostOfAll(mix) / (mix.fraction * static_cast<double>(mix.step_ns));
  const int bound = static_cast<int>(1.5 * round) + 3;
  for (int step = 0; step < bound; ++step) Step(mix, program);
  EXPECT_EQ(program.covered(), mix.signatures) << "of the first " << bound;

  // And from then on, in every such time; the bursts of the start are over.
  int fewest = INT32_MAX;
  for (int again = 0; again < 2; ++again) {
    program.Mark();
    const int steps = 4 * bound;
    for (int step = 0; step < steps; ++step) Step(mix, program);
    EXPECT_EQ(program.covered(), mix.signatures);
    for (int i = 0; i < mix.signatures; ++i) {
      fewest = std::min(fewest, program.checks(i));
    }
    const double burst = mix.fraction * 50 * kMs + 2 * program.dearest();
    EXPECT_LE(program.spent(), 1.1 * mix.fraction * program.run() + burst);
    const double most = static_cast<double>(mix.calls) / mix.signatures *
                        CostOfAll(mix) / mix.step_ns;
    EXPECT_GE(program.share(), 0.7 * std::min(mix.fraction, most));
  }
  EXPECT_GE(fewest, 3);
}

INSTANTIATE_TEST_SUITE_P(
    Mixes, MixTest,
    ValuesIn(std::vector<Mix>{
        {"Same", 0.05, 40, 300, 6 * kMs, [](int) { return 150 * kUs; }},
        {"OneAtATime", 0.05, 40, 40, 1 * kMs, [](int) { return 150 * kUs; }},
        {"Later", 0.05, 40, 300, 6 * kMs, [](int) { return 150 * kUs; }, 0.8},
        {"Mixed", 0.05, 40, 300, 6 * kMs,
         [](int i) { return (20 + 40 * (i % 10)) * kUs; }},
        // One costs as much as two hundred of the others.
        {"OneDear", 0.05, 40, 300, 6 * kMs,
         [](int i) { return i == 7 ? 14 * kMs : 70 * kUs; }},
        {"LastDear", 0.05, 40, 300, 6 * kMs,
         [](int i) { return i == 39 ? 14 * kMs : 70 * kUs; }},
        {"HalfDear", 0.05, 40, 300, 6 * kMs,
         [](int i) { return i % 2 == 0 ? 14 * kMs : 70 * kUs; }},
        {"DearerByTurns", 0.02, 10, 100, 10 * kMs,
         [](int i) { return (1 << i) * 20 * kUs; }},
        {"LongSteps", 0.05, 40, 300, 1000 * kMs,
         [](int i) { return i == 39 ? 14 * kMs : 700 * kUs; }},
        {"TwoSignatures", 0.01, 2, 10, 1 * kMs,
         [](int i) { return i == 1 ? 5 * kMs : 5 * kUs; }},
        {"OneSignature", 0.1, 1, 10, 1 * kMs, [](int) { return 1 * kMs; }},
        {"TenthOfAPercent", 0.001, 20, 100, 10 * kMs,
         [](int) { return 500 * kUs; }},
        {"All", 1.0, 40, 300, 6 * kMs, [](int) { return 150 * kUs; }},
        {"CheapEnoughForAll", 1.0, 40, 300, 6 * kMs,
         [](int) { return 10 * kUs; }},
        {"ManySignatures", 0.05, 1000, 3000, 60 * kMs,
         [](int i) { return (50 + i % 100) * kUs; }},
    }),
    [](const TestParamInfo<Mix>& info) { return info.param.name; });

TEST(TimeBudgetTest, CallsThatAreCheapEnoughAreAllChecked) {
  Program program(0.5);
  int refused = 0;
  for (int i = 0; i < 10'000; ++i) {
    refused += program.Call(i % 40, 100 * kUs, 10 * kUs) ? 0 : 1;
  }
  EXPECT_LE(refused, 1);
}

TEST(TimeBudgetTest, CostsThatChangeAreFollowed) {
  Program program(0.05);
  const auto run = [&](int64_t cost) {
    for (int i = 0; i < 200'000; ++i) program.Call(i % 40, 20 * kUs, cost);
  };
  for (int64_t cost : {50 * kUs, 2 * kMs, 20 * kUs, 500 * kUs}) {
    run(cost);  // warm-up
    program.Mark();
    run(cost);
    EXPECT_LE(program.share(), 0.055) << cost;
    EXPECT_GE(program.share(), 0.04) << cost;
    EXPECT_EQ(program.covered(), 40);
  }
}

// An evaluation every hundred steps, with signatures of its own that come once.
TEST(TimeBudgetTest, RareSignaturesGetTheirTurnToo) {
  Program program(0.05);
  for (int step = 0; step < 4'000; ++step) {
    for (int call = 0; call < 300; ++call) {
      program.Call(call % 40, 20 * kUs, 100 * kUs);
    }
    if (step % 100 != 99) continue;
    for (int i = 0; i < 10; ++i) {
      program.Call(1000 + i, 1 * kMs, i == 9 ? 10 * kMs : 1 * kMs);
    }
  }
  for (int i = 0; i < 10; ++i) EXPECT_GE(program.checks(1000 + i), 3) << i;
  for (int i = 0; i < 40; ++i) EXPECT_GE(program.checks(i), 30) << i;
  EXPECT_LE(program.share(), 0.055);
  EXPECT_GE(program.share(), 0.04);
}

// Shapes that come once and never again hold nothing up.
TEST(TimeBudgetTest, SignaturesThatDoNotComeAgainAreForgotten) {
  Program program(0.05);
  uint64_t fresh = 1'000;
  for (int step = 0; step < 3'000; ++step) {
    if (step == 1'500) program.Mark();
    for (int call = 0; call < 300; ++call) {
      program.Call(call % 20, 20 * kUs, 100 * kUs);
    }
    for (int i = 0; i < 5; ++i) program.Call(fresh++, 20 * kUs, 100 * kUs);
  }
  for (int i = 0; i < 20; ++i) EXPECT_GE(program.checks(i), 30) << i;
  EXPECT_LE(program.share(), 0.055);
  EXPECT_GE(program.share(), 0.04);
}

TEST(TimeBudgetTest, SignaturesBeyondTheLimitShareOneState) {
  constexpr uint64_t kNumber = 3 * TimeBudget::kMaxSignatures;
  Program program(0.05);
  for (uint64_t i = 0; i < 100 * kNumber; ++i) {
    program.Call(i % kNumber, 20 * kUs, 10 * kUs);
  }
  EXPECT_LE(program.share(), 0.055);
  EXPECT_GE(program.covered(), static_cast<int>(kNumber / 3));
}

// Checks that nobody asked for count too.
TEST(TimeBudgetTest, ChargesWithoutAdmissionAreSpent) {
  int64_t now = 0;
  TimeBudget budget(0.1, [&] { return now; });
  budget.Charge(1, 100 * kMs);
  now += 100 * kMs;
  EXPECT_FALSE(budget.Admit(2));
  // 95 ms are owed and 100 are needed for the next.
  now += 1'900 * kMs;
  EXPECT_FALSE(budget.Admit(2));
  now += 100 * kMs;
  EXPECT_TRUE(budget.Admit(2));
  budget.Charge(2, -5);  // a clock that went back
}

TEST(TimeBudgetTest, ThreadsSpendOneBudget) {
  constexpr double kFraction = 0.1;
  constexpr int kThreads = 8;
  constexpr int kCalls = 20'000;
  std::atomic<int64_t> now{0};
  std::atomic<int64_t> spent{0};
  TimeBudget budget(kFraction, [&] { return now.load(); });
  std::atomic<int> checks[8] = {};
  std::atomic<int> waiting{kThreads};
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      waiting.fetch_sub(1);
      while (waiting.load() > 0) std::this_thread::yield();
      for (int i = 0; i < kCalls; ++i) {
        const int signature = (i + t) % 8;
        if (budget.Admit(signature)) {
          now.fetch_add(40 * kUs);
          spent.fetch_add(50 * kUs);
          budget.Charge(signature, 40 * kUs);
          budget.ChargeLater(signature, 10 * kUs);
          ++checks[signature];
        }
        now.fetch_add(2 * kUs);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  const double run = kThreads * kCalls * 2.0 * kUs;
  // The burst, and a check of each thread that was under way.
  EXPECT_LE(spent.load(),
            kFraction * (run + 50 * kMs) + (kThreads + 2) * 50 * kUs);
  EXPECT_GE(spent.load(), 0.7 * kFraction * run);
  for (const std::atomic<int>& count : checks) EXPECT_GE(count.load(), 20);
}

TEST(TimeBudgetTest, LooksArePaidFromTheSameShare) {
  for (const bool looks : {false, true}) {
    int64_t now = 0;
    TimeBudget budget(0.1, [&] { return now; });
    ASSERT_TRUE(budget.Admit(1));
    budget.Charge(1, kMs);
    now += kMs;  // the check itself
    now += 30 * kMs;
    // As much as all that was earned, and what was there at the start.
    if (looks) budget.ChargeLook(8 * kMs);
    EXPECT_EQ(budget.Admit(1), !looks);
  }
}

TEST(TimeBudgetTest, LooksAreFurtherApartTheSmallerTheShare) {
  const auto clock = [] { return int64_t{0}; };
  EXPECT_EQ(TimeBudget(0.05, clock).look_period(), 20 * kMs);
  EXPECT_EQ(TimeBudget(0.001, clock).look_period(), 1000 * kMs);
  EXPECT_EQ(TimeBudget(1, clock).look_period(), kMs);
}

}  // namespace
}  // namespace flaggems
