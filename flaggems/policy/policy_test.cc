#include "flaggems/policy/policy.h"

#include <atomic>
#include <cstdint>
#include <optional>
#include <ostream>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/time/civil_time.h"
#include "flaggems/comparator/tolerance.h"
#include "flaggems/core/op_key.h"
#include "flaggems/core/status_testutil.h"
#include "flaggems/core/throttle.h"
#include "flaggems/core/verdict.h"
#include "flaggems/policy/budget_table.h"
#include "flaggems/policy/op_ledger.h"
#include "flaggems/policy/op_traits.h"
#include "flaggems/policy/policy_file.h"
#include "flaggems/policy/skip_rules.h"
#include "flaggems/policy/suppressions.h"
#include "flaggems/policy/time_budget.h"
#include "gtest/gtest.h"

namespace flaggems {
namespace {

const OpKey kMm{"aten", "mm", ""};

PolicyOptions Options(int64_t max_checks, bool log_once = true) {
  PolicyOptions options;
  options.max_checks = max_checks;
  options.log_once = log_once;
  return options;
}

TEST(PolicyOptionsTest, DefaultsAreTheOriginals) {
  const PolicyOptions options;
  EXPECT_EQ(options.tolerance.rtol, 1e-4);
  EXPECT_EQ(options.tolerance.atol, 1e-5);
  EXPECT_EQ(options.max_checks, 10);
  EXPECT_EQ(options.max_numel, 1'000'000);
  EXPECT_TRUE(options.log_once);
}

// Whatever ends the checks otherwise: the report, the last slot, the schedule.
TEST(PolicyTest, InsistsOnAnOperatorThatFailed) {
  for (const Throttle throttle : {Throttle::kFirst, Throttle::kSpread}) {
    PolicyOptions options = Options(1);
    options.throttle = throttle;
    options.insist_after_failure = true;
    const Policy policy(options);
    OpLedger ledger(kMm);
    const CallTraits call;
    ASSERT_EQ(policy.Admit(ledger, call), std::nullopt);
    EXPECT_FALSE(policy.OnVerdict(ledger, Verdict::kPass));
    const auto later = policy.Settled(ledger);
    EXPECT_EQ(later.has_value(), throttle == Throttle::kFirst);
    // A failure of a call that another thread had begun.
    ledger.TryAdmit(2);
    EXPECT_TRUE(policy.OnVerdict(ledger, Verdict::kFailValue));
    for (int i = 0; i < 100; ++i) {
      EXPECT_EQ(policy.Settled(ledger), std::nullopt);
      ASSERT_EQ(policy.Admit(ledger, call), std::nullopt);
      EXPECT_FALSE(policy.OnVerdict(ledger, Verdict::kFailValue));
    }
    CallTraits large;
    large.max_numel = 1'000'001;
    EXPECT_EQ(policy.Admit(ledger, large), Verdict::kSkipSize);
    ledger.Reset();
    EXPECT_FALSE(ledger.failed());
  }
}

// ---- Which reason a call with several gets.

struct Case {
  std::string name;
  bool capturing;
  bool reported;
  bool throttled;
  bool large;
  bool supported;
  std::optional<Verdict> expected;
};

void PrintTo(const Case& c, std::ostream* os) { *os << c.name; }

class AdmitOrderTest : public testing::TestWithParam<Case> {};

TEST_P(AdmitOrderTest, FirstReasonWinsAndASkipTakesNoSlot) {
  const Case& c = GetParam();
  const Policy policy(Options(1));
  OpLedger ledger(kMm);
  if (c.reported) ledger.MarkReported();
  if (c.throttled) {
    ASSERT_TRUE(ledger.TryAdmit(1));
    ledger.FinishCheck();
  }
  CallTraits call;
  call.capturing = c.capturing;
  call.max_numel = c.large ? 1'000'001 : 1'000'000;
  call.supported = c.supported;
  EXPECT_EQ(policy.Admit(ledger, call), c.expected);
  EXPECT_EQ(ledger.calls(), 0);
  EXPECT_EQ(ledger.HasFreeSlot(1), !c.throttled && c.expected.has_value());
}

INSTANTIATE_TEST_SUITE_P(
    Reasons, AdmitOrderTest,
    testing::Values(
        Case{"all", true, true, true, true, false, Verdict::kSkipCapture},
        Case{"not_capturing", false, true, true, true, false,
             Verdict::kSkipReported},
        Case{"not_reported", false, false, true, true, false,
             Verdict::kSkipThrottle},
        Case{"not_throttled", false, false, false, true, false,
             Verdict::kSkipSize},
        Case{"not_large", false, false, false, false, false,
             Verdict::kSkipUnsupported},
        Case{"none", false, false, false, false, true, std::nullopt},
        Case{"capturing_alone", true, false, false, false, true,
             Verdict::kSkipCapture},
        Case{"reported_alone", false, true, false, false, true,
             Verdict::kSkipReported},
        Case{"large_alone", false, false, false, true, true,
             Verdict::kSkipSize}),
    [](const auto& info) { return info.param.name; });

TEST(PolicyTest, CallsSkippedForTheirSizeUseUpNothing) {
  const Policy policy(Options(1));
  OpLedger ledger(kMm);
  CallTraits large;
  large.max_numel = 2'000'000;
  for (int i = 0; i < 5; ++i) {
    EXPECT_EQ(policy.Admit(ledger, large), Verdict::kSkipSize);
  }
  EXPECT_EQ(policy.Admit(ledger, {}), std::nullopt);
  EXPECT_EQ(policy.Admit(ledger, {}), Verdict::kSkipThrottle);
}

TEST(PolicyTest, CallsWithoutTimeUseUpNothing) {
  constexpr int64_t kCost = 1'000'000'000;
  for (const Throttle throttle : {Throttle::kFirst, Throttle::kSpread}) {
    PolicyOptions options = Options(2);
    options.throttle = throttle;
    options.insist_after_failure = true;
    const Policy policy(options);
    OpLedger ledger(kMm);
    OpLedger other(OpKey{"aten", "bmm", ""});
    EXPECT_NE(BudgetSignature(ledger, 7), BudgetSignature(other, 7));
    EXPECT_NE(BudgetSignature(ledger, 7), BudgetSignature(ledger, 8));
    int64_t now = 0;
    TimeBudget budget(0.5, [&] { return now; });
    const CallTraits call;
    ASSERT_EQ(policy.Admit(ledger, call, &budget), std::nullopt);
    EXPECT_FALSE(policy.OnVerdict(ledger, Verdict::kPass));
    budget.Charge(BudgetSignature(ledger, call.signature), kCost);
    now += kCost;
    for (int i = 0; i < 100; ++i) {
      bool no_time = false;
      ASSERT_EQ(policy.Admit(ledger, call, &budget, &no_time),
                Verdict::kSkipThrottle);
      ASSERT_TRUE(no_time);
      ASSERT_EQ(policy.Admit(other, call, &budget), Verdict::kSkipThrottle);
      ASSERT_EQ(policy.Settled(ledger), std::nullopt);
    }
    // The second of the two is still to be had.
    EXPECT_TRUE(ledger.HasFreeSlot(2));
    now += 10 * kCost;
    EXPECT_EQ(policy.Admit(ledger, call, &budget), std::nullopt);
    budget.Charge(BudgetSignature(ledger, call.signature), 100 * kCost);
    EXPECT_TRUE(policy.OnVerdict(ledger, Verdict::kFailValue));
    // The time does not stop what a failure makes necessary.
    EXPECT_EQ(policy.Admit(ledger, call, &budget), std::nullopt);
    EXPECT_EQ(policy.Admit(other, call, &budget), Verdict::kSkipThrottle);
  }
}

TEST(PolicyTest, OnlyTheTimeIsNoTime) {
  TimeBudget budget(0.5, [] { return int64_t{0}; });
  for (const Throttle throttle : {Throttle::kFirst, Throttle::kSpread}) {
    PolicyOptions options = Options(0);
    options.throttle = throttle;
    const Policy policy(options);
    OpLedger ledger(kMm);
    bool no_time = true;
    EXPECT_EQ(policy.Admit(ledger, {}, &budget, &no_time),
              Verdict::kSkipThrottle);
    EXPECT_FALSE(no_time);
  }
  bool no_time = true;
  OpLedger ledger(kMm);
  EXPECT_EQ(Policy(Options(1)).Admit(ledger, {}, &budget, &no_time),
            std::nullopt);
  EXPECT_FALSE(no_time);
}

TEST(PolicyTest, OutputsCountForTheSizeToo) {
  const Policy policy(Options(1));
  OpLedger ledger(kMm);
  EXPECT_EQ(policy.Admit(ledger, {}), std::nullopt);
  EXPECT_EQ(policy.AdmitOutputs(1'000'000), std::nullopt);
  EXPECT_EQ(policy.AdmitOutputs(1'000'001), Verdict::kSkipSize);
  policy.OnAbandoned(ledger, Verdict::kSkipSize);
  EXPECT_EQ(ledger.count(Verdict::kSkipSize), 1);
  EXPECT_EQ(policy.Admit(ledger, {}), std::nullopt);
}

TEST(PolicyTest, FarMoreElementsThanMemoryAreTooMany) {
  const Policy policy(Options(1));
  OpLedger ledger(kMm);
  CallTraits call;
  call.vast = true;
  EXPECT_EQ(policy.Admit(ledger, call), Verdict::kSkipSize);
}

TEST(PolicyTest, NoSizeLimit) {
  PolicyOptions options = Options(1);
  options.max_numel = 0;
  const Policy policy(options);
  OpLedger ledger(kMm);
  CallTraits call;
  call.max_numel = INT64_MAX;
  EXPECT_EQ(policy.AdmitOutputs(INT64_MAX), std::nullopt);
  EXPECT_EQ(policy.Admit(ledger, call), std::nullopt);
}

TEST(PolicyTest, NoChecksAtAll) {
  const Policy policy(Options(0));
  OpLedger ledger(kMm);
  EXPECT_EQ(policy.Settled(ledger), Verdict::kSkipThrottle);
  EXPECT_EQ(policy.Admit(ledger, {}), Verdict::kSkipThrottle);
}

TEST(PolicyTest, FirstFailureIsLoggedAndEndsTheChecks) {
  const Policy policy(Options(10));
  OpLedger ledger(kMm);
  ASSERT_EQ(policy.Admit(ledger, {}), std::nullopt);
  ASSERT_EQ(policy.Admit(ledger, {}), std::nullopt);
  EXPECT_TRUE(policy.OnVerdict(ledger, Verdict::kFailValue));
  // Found by another thread in the meantime.
  EXPECT_FALSE(policy.OnVerdict(ledger, Verdict::kFailDtype));
  EXPECT_EQ(ledger.count(Verdict::kFailValue), 1);
  EXPECT_EQ(ledger.count(Verdict::kFailDtype), 1);
  EXPECT_EQ(policy.Settled(ledger), Verdict::kSkipReported);
  EXPECT_EQ(policy.Admit(ledger, {}), Verdict::kSkipReported);
}

TEST(PolicyTest, WithoutLogOnceEveryFailureIsLogged) {
  const Policy policy(Options(3, /*log_once=*/false));
  OpLedger ledger(kMm);
  for (int i = 0; i < 3; ++i) {
    ASSERT_EQ(policy.Admit(ledger, {}), std::nullopt);
    EXPECT_EQ(policy.Settled(ledger), std::nullopt);
    EXPECT_TRUE(policy.OnVerdict(ledger, Verdict::kFailValue));
  }
  EXPECT_EQ(policy.Settled(ledger), Verdict::kSkipThrottle);
}

TEST(PolicyTest, OnlyFailuresAreLogged) {
  const Policy policy(Options(100));
  OpLedger ledger(kMm);
  for (int i = 0; i < kNumVerdicts; ++i) {
    const Verdict verdict = static_cast<Verdict>(i);
    const Outcome outcome = OutcomeOf(verdict);
    if (outcome == Outcome::kFail || outcome == Outcome::kSkip) continue;
    ASSERT_EQ(policy.Admit(ledger, {}), std::nullopt);
    EXPECT_FALSE(policy.OnVerdict(ledger, verdict));
    EXPECT_EQ(ledger.count(verdict), 1);
  }
  EXPECT_FALSE(ledger.reported());
}

TEST(PolicyTest, WithLogAllAllButPassIsLogged) {
  PolicyOptions options = Options(100, /*log_once=*/false);
  options.log_all = true;
  const Policy policy(options);
  OpLedger ledger(kMm);
  for (int i = 0; i < kNumVerdicts; ++i) {
    const Verdict verdict = static_cast<Verdict>(i);
    ASSERT_EQ(policy.Admit(ledger, {}), std::nullopt);
    if (OutcomeOf(verdict) == Outcome::kSkip) {
      EXPECT_TRUE(policy.OnAbandoned(ledger, verdict)) << ReasonName(verdict);
    } else {
      EXPECT_EQ(policy.OnVerdict(ledger, verdict), verdict != Verdict::kPass)
          << ReasonName(verdict);
    }
    EXPECT_EQ(ledger.count(verdict), 1);
  }
}

// What log_once says of failures holds with log_all, too.
TEST(PolicyTest, WithLogAllAndLogOnceOneFailureIsLogged) {
  PolicyOptions options = Options(100);
  options.log_all = true;
  const Policy policy(options);
  OpLedger ledger(kMm);
  ASSERT_EQ(policy.Admit(ledger, {}), std::nullopt);
  ASSERT_EQ(policy.Admit(ledger, {}), std::nullopt);
  EXPECT_TRUE(policy.OnVerdict(ledger, Verdict::kFailValue));
  EXPECT_FALSE(policy.OnVerdict(ledger, Verdict::kFailValue));
}

TEST(PolicyTest, UntrustedCallsGiveTheirSlotBack) {
  const Policy policy(Options(1));
  OpLedger ledger(kMm);
  for (int i = 0; i < 5; ++i) {
    ASSERT_EQ(policy.Admit(ledger, {}), std::nullopt);
    EXPECT_FALSE(policy.OnVerdict(ledger, Verdict::kUntrustedEmpty));
    EXPECT_EQ(policy.Settled(ledger), std::nullopt);
  }
  // An error does use its slot up: a reference that fails may be slow to.
  ASSERT_EQ(policy.Admit(ledger, {}), std::nullopt);
  EXPECT_FALSE(policy.OnVerdict(ledger, Verdict::kErrorReference));
  EXPECT_EQ(policy.Settled(ledger), Verdict::kSkipThrottle);
  EXPECT_EQ(ledger.calls(), 6);
}

TEST(PolicyTest, NotSettledWhileASlotCouldComeBack) {
  const Policy policy(Options(1));
  OpLedger ledger(kMm);
  ASSERT_EQ(policy.Admit(ledger, {}), std::nullopt);
  EXPECT_EQ(policy.Admit(ledger, {}), Verdict::kSkipThrottle);
  EXPECT_EQ(policy.Settled(ledger), std::nullopt);
  policy.OnAbandoned(ledger, Verdict::kSkipUnsupported);
  EXPECT_EQ(policy.Settled(ledger), std::nullopt);
  EXPECT_EQ(policy.Admit(ledger, {}), std::nullopt);
}

TEST(PolicyTest, SkipReasonUsesTheOptions) {
  PolicyOptions options;
  options.skip = {"mm", "relu"};
  options.no_skip = {"clone", "relu"};
  const Policy policy(options);
  const auto reason = [&policy](const char* name) {
    OpTraits op;
    op.key = {"aten", name, ""};
    return policy.SkipReason(op);
  };
  EXPECT_TRUE(reason("mm"));
  EXPECT_FALSE(reason("clone"));
  EXPECT_FALSE(reason("relu"));
  EXPECT_TRUE(reason("copy_"));
  EXPECT_FALSE(reason("add"));
}

TEST(PolicyTest, SkipRulesAreChosen) {
  PolicyOptions options;
  options.skip_rules = StrictSkipRules();
  options.skip = {"mm"};
  options.no_skip = {"set_"};
  const Policy policy(options);
  const auto reason = [&policy](const char* name) {
    OpTraits op;
    op.key = {"aten", name, ""};
    return policy.SkipReason(op);
  };
  EXPECT_FALSE(reason("clone"));
  EXPECT_FALSE(reason("uniform_"));
  EXPECT_TRUE(reason("_resize_output_"));
  EXPECT_FALSE(reason("set_"));
  EXPECT_TRUE(reason("mm"));
}

TEST(PolicyTest, BudgetIsTheRowOfTheFileElseOfTheTable) {
  PolicyOptions options;
  PolicyRow row;
  row.pattern = "my::mm";
  row.op_class = OpClass::kSum;
  row.constants = {0.5, 32, 1, 0};
  row.why = "blocked";
  options.rows = {row};
  const Policy policy(std::move(options));
  const BudgetRow mine = policy.BudgetFor({"my", "mm", "out"});
  EXPECT_EQ(mine.op_class, OpClass::kSum);
  EXPECT_EQ(mine.constants.a, 32);
  EXPECT_EQ(mine.note, "blocked");
  EXPECT_EQ(policy.BudgetFor(kMm).pattern, "mm");
  EXPECT_EQ(policy.BudgetFor({"my", "other", ""}).pattern, "*");
}

TEST(PolicyTest, SuppressionsAreThoseOfTheOptions) {
  PolicyOptions options;
  auto suppressions =
      Suppressions::Parse("mm torch.float16 value 2027-01-31 known", "s.txt",
                          absl::CivilDay(2027, 1, 31), nullptr);
  ASSERT_THAT(suppressions, IsOk());
  options.suppressions = *std::move(suppressions);
  const Policy policy(options);
  EXPECT_TRUE(policy.Suppressed(kMm, "torch.float16", Verdict::kFailValue));
  EXPECT_FALSE(policy.Suppressed(kMm, "torch.float16", Verdict::kFailShape));
  EXPECT_FALSE(policy.Suppressed(kMm, "torch.float32", Verdict::kFailValue));
  EXPECT_FALSE(
      Policy({}).Suppressed(kMm, "torch.float16", Verdict::kFailValue));
}

TEST(PolicyTest, ASuppressedCallWasJudged) {
  const Policy policy(Options(1));
  OpLedger ledger(kMm);
  ASSERT_EQ(policy.Admit(ledger, {}), std::nullopt);
  EXPECT_FALSE(policy.OnVerdict(ledger, Verdict::kSkipSuppressed));
  EXPECT_FALSE(ledger.reported());
  EXPECT_EQ(ledger.count(Verdict::kSkipSuppressed), 1);
  EXPECT_EQ(policy.Settled(ledger), Verdict::kSkipThrottle);
}

TEST(PolicyTest, ToleranceHasTheHalfPrecisionFloor) {
  PolicyOptions options;
  options.tolerance = {1e-3, 0.5};
  const Policy policy(options);
  OpTraits op;
  op.key = kMm;
  CallTraits half;
  half.half_precision_input = true;
  EXPECT_EQ(policy.ToleranceFor(op, half).rtol, 1e-2);
  EXPECT_EQ(policy.ToleranceFor(op, half).atol, 0.5);
  EXPECT_EQ(policy.ToleranceFor(op, {}).rtol, 1e-3);
}

// ---- The throttle `spread`.

PolicyOptions SpreadOptions(int64_t max_checks, bool log_once = false) {
  PolicyOptions options = Options(max_checks, log_once);
  options.throttle = Throttle::kSpread;
  return options;
}

CallTraits CallOf(uint64_t signature) {
  CallTraits call;
  call.signature = signature;
  return call;
}

TEST(SpreadPolicyTest, EachSignatureHasItsFirstCallsChecked) {
  const Policy policy(SpreadOptions(16));
  OpLedger ledger(kMm);
  for (uint64_t signature : {0, 1, 2}) {
    for (int i = 0; i < 16; ++i) {
      ASSERT_EQ(policy.Admit(ledger, CallOf(signature)), std::nullopt);
      policy.OnVerdict(ledger, Verdict::kPass, signature);
      EXPECT_EQ(policy.Settled(ledger), std::nullopt);
    }
  }
  int64_t checked = 0;
  for (int i = 0; i < 100'000; ++i) {
    const auto skip = policy.Admit(ledger, CallOf(1));
    if (skip.has_value()) {
      ASSERT_EQ(skip, Verdict::kSkipThrottle);
      ledger.Count(*skip);
    } else {
      ++checked;
      policy.OnVerdict(ledger, Verdict::kPass, 1);
    }
  }
  EXPECT_GT(checked, 50);  // 8 ln(100000 / 16) = 70
  EXPECT_LT(checked, 90);
  EXPECT_EQ(policy.Settled(ledger), std::nullopt);
  EXPECT_EQ(ledger.calls(), 3 * 16 + 100'000);
}

// Calls until one is admitted; it is left under way.
void AdmitOne(const Policy& policy, OpLedger& ledger) {
  for (int i = 0; i < 100'000; ++i) {
    if (!policy.Admit(ledger, {}).has_value()) return;
  }
  FAIL() << "no call was admitted";
}

TEST(SpreadPolicyTest, WhatProvesNothingIsReplacedByTheNextCall) {
  const Policy policy(SpreadOptions(16));
  OpLedger ledger(kMm);
  for (int i = 0; i < 10'000; ++i) {
    if (policy.Admit(ledger, {}) == std::nullopt) {
      policy.OnVerdict(ledger, Verdict::kPass);
    }
  }
  for (Verdict verdict :
       {Verdict::kUntrustedEmpty, Verdict::kUntrustedAllZero,
        Verdict::kUntrustedReference, Verdict::kUntrustedAllowance}) {
    AdmitOne(policy, ledger);
    policy.OnVerdict(ledger, verdict);
    EXPECT_EQ(policy.Admit(ledger, {}), std::nullopt);
    policy.OnAbandoned(ledger, Verdict::kSkipSize);
    EXPECT_EQ(policy.Admit(ledger, {}), std::nullopt);
    policy.OnVerdict(ledger, Verdict::kPass);
    EXPECT_EQ(policy.Admit(ledger, {}), Verdict::kSkipThrottle);
  }
  // These were judged.
  for (Verdict verdict : {Verdict::kFailValue, Verdict::kErrorReference,
                          Verdict::kSkipSuppressed}) {
    AdmitOne(policy, ledger);
    EXPECT_EQ(policy.OnVerdict(ledger, verdict),
              verdict == Verdict::kFailValue);
    EXPECT_EQ(policy.Admit(ledger, {}), Verdict::kSkipThrottle);
  }
}

TEST(SpreadPolicyTest, CallsSkippedForTheirArgumentsAreNoneOfTheSchedule) {
  PolicyOptions options = SpreadOptions(2);
  options.max_numel = 1'000;
  const Policy policy(options);
  OpLedger ledger(kMm);
  CallTraits large;
  large.max_numel = 1'001;
  CallTraits unsupported;
  unsupported.supported = false;
  for (int i = 0; i < 1'000; ++i) {
    EXPECT_EQ(policy.Admit(ledger, large), Verdict::kSkipSize);
    EXPECT_EQ(policy.Admit(ledger, unsupported), Verdict::kSkipUnsupported);
  }
  // The calls up to the 16th are all due: they count from here.
  for (int i = 0; i < 16; ++i) {
    EXPECT_EQ(policy.Admit(ledger, {}), std::nullopt) << i;
  }
}

TEST(SpreadPolicyTest, SettledByAReportOrWithoutChecks) {
  OpLedger ledger(kMm);
  const Policy none(SpreadOptions(0));
  EXPECT_EQ(none.Admit(ledger, {}), Verdict::kSkipThrottle);
  EXPECT_EQ(none.Settled(ledger), Verdict::kSkipThrottle);

  const Policy once(SpreadOptions(1, /*log_once=*/true));
  ASSERT_EQ(once.Admit(ledger, {}), std::nullopt);
  EXPECT_EQ(once.Settled(ledger), std::nullopt);
  EXPECT_TRUE(once.OnVerdict(ledger, Verdict::kFailValue));
  EXPECT_EQ(once.Settled(ledger), Verdict::kSkipReported);
  EXPECT_EQ(once.Admit(ledger, CallOf(7)), Verdict::kSkipReported);
}

// ---- Threads.

// Eight threads make calls of many signatures, more than are told apart; every
// call is counted once and the throttle holds.
TEST(PolicyThreadsTest, SpreadCountsHold) {
  constexpr int kThreads = 8;
  constexpr int kCalls = 10'000;
  const Policy policy(SpreadOptions(2));
  OpLedger ledger(kMm);
  std::atomic<int64_t> judged{0}, untrusted{0}, logged{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < kCalls; ++i) {
        // Nine of ten calls have signature 0, the others all different ones.
        const uint64_t signature =
            i % 10 == 0 ? static_cast<uint64_t>(1 + t * kCalls + i) : 0;
        const auto skip = policy.Admit(ledger, CallOf(signature));
        if (skip.has_value()) {
          ledger.Count(*skip);
        } else if (i % 7 == 1) {
          untrusted.fetch_add(1);
          policy.OnVerdict(ledger, Verdict::kUntrustedEmpty, signature);
        } else {
          judged.fetch_add(1);
          if (policy.OnVerdict(ledger, Verdict::kFailValue, signature)) {
            logged.fetch_add(1);
          }
        }
        if (policy.Settled(ledger).has_value()) ADD_FAILURE() << "settled";
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(ledger.calls(), kThreads * kCalls);
  EXPECT_EQ(ledger.count(Verdict::kFailValue), judged.load());
  EXPECT_EQ(ledger.count(Verdict::kUntrustedEmpty), untrusted.load());
  EXPECT_EQ(logged.load(), judged.load());
  EXPECT_EQ(ledger.count(Verdict::kSkipThrottle),
            kThreads * kCalls - judged.load() - untrusted.load());
  // 4095 signatures of their own with one call each, and twice a schedule.
  EXPECT_GT(judged.load() + untrusted.load(), 4'000);
  EXPECT_LT(judged.load() + untrusted.load(), 5'500);
}

// Eight threads call one operator; every fifth admitted call is abandoned,
// every seventh untrusted, the rest judged. Whatever happens in which order,
// as many checks end as there are slots, and every call is counted once.
TEST(PolicyThreadsTest, SlotsAndCountsHold) {
  constexpr int kThreads = 8;
  constexpr int kCalls = 2000;
  for (bool log_once : {false, true}) {
    const Policy policy(Options(50, log_once));
    OpLedger ledger(kMm);
    std::atomic<int64_t> judged{0}, logged{0}, serial{0};
    std::atomic<bool> wrong_settled{false};
    std::vector<std::thread> threads;
    for (int t = 0; t < kThreads; ++t) {
      threads.emplace_back([&] {
        for (int i = 0; i < kCalls; ++i) {
          const std::optional<Verdict> settled = policy.Settled(ledger);
          const std::optional<Verdict> skip = policy.Admit(ledger, {});
          // What is settled stays: a later call ends in the same verdict.
          if (settled.has_value() && skip != settled) wrong_settled = true;
          if (skip.has_value()) {
            ledger.Count(*skip);
            continue;
          }
          const int64_t n = serial.fetch_add(1);
          if (n % 5 == 1) {
            policy.OnAbandoned(ledger, Verdict::kSkipSize);
          } else if (n % 7 == 1) {
            policy.OnVerdict(ledger, Verdict::kUntrustedEmpty);
          } else {
            judged.fetch_add(1);
            const bool fails = n >= 30;
            if (policy.OnVerdict(
                    ledger, fails ? Verdict::kFailValue : Verdict::kPass)) {
              logged.fetch_add(1);
            }
          }
        }
      });
    }
    for (std::thread& thread : threads) thread.join();
    EXPECT_FALSE(wrong_settled.load());
    EXPECT_EQ(ledger.calls(), kThreads * kCalls);
    EXPECT_EQ(ledger.count(Verdict::kPass) + ledger.count(Verdict::kFailValue),
              judged.load());
    if (log_once) {
      EXPECT_LE(judged.load(), 50);
      EXPECT_EQ(logged.load(), 1);
      EXPECT_EQ(policy.Settled(ledger), Verdict::kSkipReported);
    } else {
      EXPECT_EQ(judged.load(), 50);
      EXPECT_EQ(logged.load(), ledger.count(Verdict::kFailValue));
      EXPECT_EQ(policy.Settled(ledger), Verdict::kSkipThrottle);
    }
  }
}

// The last check both fails and uses the last slot up: whoever sees the
// operator settled sees it reported.
TEST(PolicyThreadsTest, SettledByTheLastCheckIsReported) {
  for (int round = 0; round < 500; ++round) {
    const Policy policy(Options(1));
    OpLedger ledger(kMm);
    ASSERT_EQ(policy.Admit(ledger, {}), std::nullopt);
    std::optional<Verdict> seen;
    std::thread watcher([&] {
      while (!(seen = policy.Settled(ledger)).has_value()) {
        std::this_thread::yield();
      }
    });
    EXPECT_TRUE(policy.OnVerdict(ledger, Verdict::kFailValue));
    watcher.join();
    ASSERT_EQ(seen, Verdict::kSkipReported);
  }
}

}  // namespace
}  // namespace flaggems
