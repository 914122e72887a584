// What the policy costs a call: of an operator that is settled, of one whose
// slots are taken, and of one that is checked.

#include <cstdint>
#include <optional>

#include "benchmark/benchmark.h"
#include "flaggems/core/op_key.h"
#include "flaggems/core/verdict.h"
#include "flaggems/policy/op_ledger.h"
#include "flaggems/policy/op_traits.h"
#include "flaggems/policy/policy.h"

namespace flaggems {
namespace {

const OpKey kMm{"aten", "mm", ""};

PolicyOptions Options(int64_t max_checks) {
  PolicyOptions options;
  options.max_checks = max_checks;
  return options;
}

void BM_Settled(benchmark::State& state) {
  static const Policy policy(Options(0));
  static OpLedger ledger(kMm);
  if (policy.Settled(ledger) != Verdict::kSkipThrottle) {
    state.SkipWithError("an operator without checks is not settled");
    return;
  }
  for (auto _ : state) benchmark::DoNotOptimize(policy.Settled(ledger));
}
BENCHMARK(BM_Settled)->Threads(1)->Threads(2);

void BM_Count(benchmark::State& state) {
  static OpLedger ledger(kMm);
  for (auto _ : state) ledger.Count(Verdict::kSkipThrottle);
}
BENCHMARK(BM_Count)->Threads(1)->Threads(2);

void BM_AdmitThrottled(benchmark::State& state) {
  static const Policy policy(Options(0));
  static OpLedger ledger(kMm);
  for (auto _ : state) {
    const std::optional<Verdict> skip = policy.Admit(ledger, CallTraits{});
    if (skip != Verdict::kSkipThrottle) {
      state.SkipWithError("a call without a slot was not throttled");
      break;
    }
    ledger.Count(*skip);
  }
}
BENCHMARK(BM_AdmitThrottled)->Threads(1)->Threads(2);

void BM_AdmitAndFinish(benchmark::State& state) {
  static const Policy policy(Options(INT64_MAX));
  static OpLedger ledger(kMm);
  for (auto _ : state) {
    if (policy.Admit(ledger, CallTraits{}).has_value()) {
      state.SkipWithError("a call was skipped although slots are free");
      break;
    }
    benchmark::DoNotOptimize(policy.OnVerdict(ledger, Verdict::kPass));
  }
}
BENCHMARK(BM_AdmitAndFinish)->Threads(1)->Threads(2);

void BM_LedgerOf(benchmark::State& state) {
  LedgerBook book;
  for (auto _ : state) benchmark::DoNotOptimize(book.Get(kMm));
}
BENCHMARK(BM_LedgerOf);

}  // namespace
}  // namespace flaggems

BENCHMARK_MAIN();
