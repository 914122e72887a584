// What CompareBudget() costs on one thread: float32 against its float64
// reference, by condition, beside a copy of the same bytes.

#include <cstdint>
#include <cstring>
#include <random>
#include <vector>

#include "absl/status/statusor.h"
#include "benchmark/benchmark.h"
#include "flaggems/comparator/budget.h"
#include "flaggems/comparator/compare_budget.h"
#include "flaggems/comparator/comparison.h"
#include "flaggems/core/array_view.h"
#include "flaggems/core/dtype.h"
#include "flaggems/core/verdict.h"

namespace flaggems {
namespace {

using Condition = Budget::Condition;

// A kernel that rounds once, and errs by up to 2 u before.
struct Data {
  std::vector<float> got;
  std::vector<double> want;
  std::vector<double> conditions;
  int64_t size;
  int64_t stride = 1;

  explicit Data(int64_t n) : size(n) {
    std::mt19937_64 random(20261129);
    std::normal_distribution<double> normal;
    std::uniform_real_distribution<double> error(-0x1p-23, 0x1p-23);
    for (int64_t i = 0; i < n; ++i) {
      want.push_back(normal(random));
      got.push_back(static_cast<float>(want.back() * (1 + error(random))));
      conditions.push_back(want.back() < 0 ? -want.back() : want.back());
    }
  }
  ArrayView View(const void* data, DType dtype) const {
    return {data, dtype, {&size, 1}, {&stride, 1}};
  }
};

void BM_CompareBudget(benchmark::State& state, Condition condition) {
  const Data data(state.range(0));
  Budget budget;
  budget.a = condition == Condition::kNone ? 0 : 4;
  // Without a condition nothing but rounding is allowed: h alone has to do.
  if (condition == Condition::kNone) budget.h = 3;
  budget.condition = condition;
  budget.conditions = data.View(data.conditions.data(), DType::kFloat64);
  const ArrayView got = data.View(data.got.data(), DType::kFloat32);
  const ArrayView want = data.View(data.want.data(), DType::kFloat64);
  const absl::StatusOr<Comparison> first = CompareBudget(got, want, budget);
  if (!first.ok() || first->verdict != Verdict::kPass || first->score < 0.5) {
    state.SkipWithError("the comparison has another result than its data");
    return;
  }
  for (auto _ : state) {
    benchmark::DoNotOptimize(CompareBudget(got, want, budget));
  }
  const int64_t bytes = condition == Condition::kArray ? 20 : 12;
  state.SetItemsProcessed(state.iterations() * data.size);
  state.SetBytesProcessed(state.iterations() * data.size * bytes);
}
BENCHMARK_CAPTURE(BM_CompareBudget, none, Condition::kNone)
    ->ArgName("numel")
    ->Arg(1 << 20);
BENCHMARK_CAPTURE(BM_CompareBudget, pointwise, Condition::kReference)
    ->ArgName("numel")
    ->Arg(1 << 10)
    ->Arg(1 << 20);
BENCHMARK_CAPTURE(BM_CompareBudget, array, Condition::kArray)
    ->ArgName("numel")
    ->Arg(1 << 10)
    ->Arg(1 << 20);

// As many bytes as a comparison of `numel` elements without an array of
// conditions reads, copied.
void BM_Copy(benchmark::State& state) {
  const size_t bytes = static_cast<size_t>(12 * state.range(0));
  const std::vector<char> from(bytes, 1);
  std::vector<char> to(bytes);
  for (auto _ : state) {
    std::memcpy(to.data(), from.data(), bytes);
    benchmark::DoNotOptimize(to.data());
    benchmark::ClobberMemory();
  }
  state.SetItemsProcessed(state.iterations() * state.range(0));
  state.SetBytesProcessed(state.iterations() * static_cast<int64_t>(bytes));
}
BENCHMARK(BM_Copy)->ArgName("numel")->Arg(1 << 20);

}  // namespace
}  // namespace flaggems

BENCHMARK_MAIN();
