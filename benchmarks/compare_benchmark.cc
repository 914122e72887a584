// What Compare() costs on one thread: by dtype, by layout, and by what the
// data make it look at twice.

#include <cstdint>
#include <cstring>
#include <limits>
#include <random>
#include <utility>
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

// Two square arrays; `want` may be read transposed, from memory that holds it
// that way, so that the elements are the same.
template <typename Stored>
struct Pair {
  DType dtype;
  int64_t side;
  std::vector<Stored> got, want;
  std::vector<int64_t> sizes, strides, want_strides;

  Pair(DType type, int64_t n)
      : dtype(type),
        side(n),
        got(n * n),
        want(n * n),
        sizes{n, n},
        strides{n, 1},
        want_strides{n, 1} {}

  void TransposeWant() {
    for (int64_t i = 0; i < side; ++i) {
      for (int64_t j = 0; j < i; ++j) {
        std::swap(want[i * side + j], want[j * side + i]);
      }
    }
    want_strides = {1, side};
  }

  int64_t bytes() const {
    return static_cast<int64_t>(2 * sizeof(Stored) * got.size());
  }
};

void CompareLoop(benchmark::State& state, const ArrayView& got,
                 const ArrayView& want, int64_t bytes, Verdict expected) {
  const absl::StatusOr<Comparison> first = Compare(got, want, Tolerance{});
  if (!first.ok() || first->verdict != expected) {
    state.SkipWithError("the comparison has another verdict than its data");
    return;
  }
  for (auto _ : state) {
    benchmark::DoNotOptimize(Compare(got, want, Tolerance{}));
  }
  state.SetBytesProcessed(state.iterations() * bytes);
  state.SetItemsProcessed(state.iterations() * want.numel());
}

template <typename Stored>
void CompareLoop(benchmark::State& state, const Pair<Stored>& pair,
                 Verdict expected) {
  CompareLoop(
      state, ArrayView{pair.got.data(), pair.dtype, pair.sizes, pair.strides},
      ArrayView{pair.want.data(), pair.dtype, pair.sizes, pair.want_strides},
      pair.bytes(), expected);
}

// Normal values, and the same with an error of a few float32 roundings.
Pair<float> ClosePair(int64_t side) {
  Pair<float> pair(DType::kFloat32, side);
  std::mt19937 random(20261129);
  std::normal_distribution<float> normal;
  std::uniform_real_distribution<float> error(-1e-6f, 1e-6f);
  for (size_t i = 0; i < pair.want.size(); ++i) {
    pair.want[i] = normal(random);
    pair.got[i] = pair.want[i] * (1 + error(random));
  }
  return pair;
}

void BM_CompareFloat32(benchmark::State& state) {
  CompareLoop(state, ClosePair(state.range(0)), Verdict::kPass);
}
BENCHMARK(BM_CompareFloat32)->ArgName("side")->Arg(16)->Arg(128)->Arg(1000);

void BM_CompareFloat32Transposed(benchmark::State& state) {
  Pair<float> pair = ClosePair(state.range(0));
  pair.TransposeWant();
  CompareLoop(state, pair, Verdict::kPass);
}
BENCHMARK(BM_CompareFloat32Transposed)->ArgName("side")->Arg(1000);

// The wider reference of a float32 kernel.
void BM_CompareFloat32WithFloat64(benchmark::State& state) {
  const Pair<float> got = ClosePair(state.range(0));
  const std::vector<double> want(got.want.begin(), got.want.end());
  CompareLoop(
      state, ArrayView{got.got.data(), DType::kFloat32, got.sizes, got.strides},
      ArrayView{want.data(), DType::kFloat64, got.sizes, got.strides},
      static_cast<int64_t>(12 * want.size()), Verdict::kPass);
}
BENCHMARK(BM_CompareFloat32WithFloat64)->ArgName("side")->Arg(1000);

// Every tenth element -Inf in both, as in attention masks.
void BM_CompareFloat32Masked(benchmark::State& state) {
  Pair<float> pair = ClosePair(state.range(0));
  for (size_t i = 0; i < pair.want.size(); i += 10) {
    pair.got[i] = pair.want[i] = -std::numeric_limits<float>::infinity();
  }
  CompareLoop(state, pair, Verdict::kPass);
}
BENCHMARK(BM_CompareFloat32Masked)->ArgName("side")->Arg(1000);

// Every element beyond the tolerance.
void BM_CompareFloat32Wrong(benchmark::State& state) {
  Pair<float> pair = ClosePair(state.range(0));
  for (float& value : pair.got) value = value * 1.01f + 0.01f;
  CompareLoop(state, pair, Verdict::kFailValue);
}
BENCHMARK(BM_CompareFloat32Wrong)->ArgName("side")->Arg(1000);

void BM_CompareBFloat16(benchmark::State& state) {
  const Pair<float> values = ClosePair(state.range(0));
  Pair<uint16_t> pair(DType::kBFloat16, state.range(0));
  for (size_t i = 0; i < pair.want.size(); ++i) {
    uint32_t bits;
    std::memcpy(&bits, &values.want[i], sizeof(bits));
    pair.got[i] = pair.want[i] = static_cast<uint16_t>(bits >> 16);
  }
  CompareLoop(state, pair, Verdict::kPass);
}
BENCHMARK(BM_CompareBFloat16)->ArgName("side")->Arg(1000);

void BM_CompareFloat16(benchmark::State& state) {
  Pair<uint16_t> pair(DType::kFloat16, state.range(0));
  std::mt19937 random(20261129);
  // Finite patterns of either sign.
  std::uniform_int_distribution<int> magnitude(0, 0x7bff);
  for (size_t i = 0; i < pair.want.size(); ++i) {
    pair.got[i] = pair.want[i] =
        static_cast<uint16_t>(magnitude(random) | (i % 2 << 15));
  }
  CompareLoop(state, pair, Verdict::kPass);
}
BENCHMARK(BM_CompareFloat16)->ArgName("side")->Arg(1000);

void BM_CompareFloat64(benchmark::State& state) {
  const Pair<float> values = ClosePair(state.range(0));
  Pair<double> pair(DType::kFloat64, state.range(0));
  pair.got.assign(values.got.begin(), values.got.end());
  pair.want.assign(values.want.begin(), values.want.end());
  CompareLoop(state, pair, Verdict::kPass);
}
BENCHMARK(BM_CompareFloat64)->ArgName("side")->Arg(1000);

void BM_CompareInt64(benchmark::State& state) {
  Pair<int64_t> pair(DType::kInt64, state.range(0));
  for (size_t i = 0; i < pair.want.size(); ++i) {
    pair.got[i] = pair.want[i] = static_cast<int64_t>(i) << 31;
  }
  CompareLoop(state, pair, Verdict::kPass);
}
BENCHMARK(BM_CompareInt64)->ArgName("side")->Arg(1000);

void BM_CompareComplex64(benchmark::State& state) {
  const Pair<float> values = ClosePair(state.range(0));
  struct Complex {
    float re, im;
  };
  Pair<Complex> pair(DType::kComplex64, state.range(0));
  for (size_t i = 0; i < pair.want.size(); ++i) {
    pair.got[i] = {values.got[i], values.want[i]};
    pair.want[i] = {values.want[i], values.want[i]};
  }
  CompareLoop(state, pair, Verdict::kPass);
}
BENCHMARK(BM_CompareComplex64)->ArgName("side")->Arg(1000);

}  // namespace
}  // namespace flaggems

BENCHMARK_MAIN();
