// Compare() against at::allclose on the same float32 arrays, one thread each.
// The two rows of a size are to be divided by each other.

#include <ATen/Parallel.h>
#include <ATen/core/Tensor.h>
#include <ATen/ops/allclose.h>
#include <ATen/ops/from_blob.h>

#include <cstdint>
#include <random>
#include <vector>

#include "absl/status/statusor.h"
#include "benchmark/benchmark.h"
#include "flaggems/comparator/compare.h"
#include "flaggems/comparator/comparison.h"
#include "flaggems/comparator/tolerance.h"
#include "flaggems/core/array_view.h"
#include "flaggems/core/dtype.h"
#include "flaggems/core/verdict.h"

namespace flaggems {
namespace {

// Normal values, and the same with an error of a few roundings.
struct Pair {
  std::vector<float> got, want;

  explicit Pair(int64_t numel) : got(numel), want(numel) {
    std::mt19937 random(20261129);
    std::normal_distribution<float> normal;
    std::uniform_real_distribution<float> error(-1e-6f, 1e-6f);
    for (int64_t i = 0; i < numel; ++i) {
      want[i] = normal(random);
      got[i] = want[i] * (1 + error(random));
    }
  }
};

void SetProcessed(benchmark::State& state) {
  state.SetItemsProcessed(state.iterations() * state.range(0));
  state.SetBytesProcessed(state.iterations() * state.range(0) * 8);
}

void BM_Compare(benchmark::State& state) {
  const Pair pair(state.range(0));
  const int64_t sizes[] = {state.range(0)};
  const int64_t strides[] = {1};
  const ArrayView got{pair.got.data(), DType::kFloat32, sizes, strides};
  const ArrayView want{pair.want.data(), DType::kFloat32, sizes, strides};
  const absl::StatusOr<Comparison> first = Compare(got, want, Tolerance{});
  if (!first.ok() || first->verdict != Verdict::kPass) {
    state.SkipWithError("Compare() does not pass close arrays");
    return;
  }
  for (auto _ : state) {
    benchmark::DoNotOptimize(Compare(got, want, Tolerance{}));
  }
  SetProcessed(state);
}

void BM_AllClose(benchmark::State& state) {
  at::set_num_threads(1);
  Pair pair(state.range(0));
  const at::Tensor got = at::from_blob(pair.got.data(), {state.range(0)});
  const at::Tensor want = at::from_blob(pair.want.data(), {state.range(0)});
  const Tolerance tolerance;
  if (!at::allclose(got, want, tolerance.rtol, tolerance.atol, true)) {
    state.SkipWithError("at::allclose does not pass close arrays");
    return;
  }
  for (auto _ : state) {
    benchmark::DoNotOptimize(
        at::allclose(got, want, tolerance.rtol, tolerance.atol, true));
  }
  SetProcessed(state);
}

void Sizes(benchmark::internal::Benchmark* rows) {
  rows->ArgName("numel")->Arg(1'000)->Arg(1'000'000);
}
BENCHMARK(BM_Compare)->Apply(Sizes);
BENCHMARK(BM_AllClose)->Apply(Sizes);

}  // namespace
}  // namespace flaggems

BENCHMARK_MAIN();
