// Our CPU kernels against aten's native ones, in pairs: BM_own/<op> and
// BM_native/<op> with the same arguments, one million elements unless the name
// says otherwise. Native kernels are called through the dispatcher as a user's
// program calls them; ours directly, so the pair also holds the dispatcher's
// cost (under a microsecond).
//
// After the usual report it prints speed own/native of each pair, from the
// fastest repetition of each, and their geometric mean. For a quiet result:
//   ./tools/bazel run //benchmarks:kernels_cpu_benchmark -- \
//     --benchmark_repetitions=5 --benchmark_enable_random_interleaving=true

#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <benchmark/benchmark.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "flaggems/kernels/cpu/op_add.h"
#include "flaggems/kernels/cpu/op_addmm.h"
#include "flaggems/kernels/cpu/op_amax.h"
#include "flaggems/kernels/cpu/op_argmax.h"
#include "flaggems/kernels/cpu/op_bmm.h"
#include "flaggems/kernels/cpu/op_cat.h"
#include "flaggems/kernels/cpu/op_cumsum.h"
#include "flaggems/kernels/cpu/op_div.h"
#include "flaggems/kernels/cpu/op_embedding.h"
#include "flaggems/kernels/cpu/op_exp.h"
#include "flaggems/kernels/cpu/op_gather.h"
#include "flaggems/kernels/cpu/op_gelu.h"
#include "flaggems/kernels/cpu/op_index_select.h"
#include "flaggems/kernels/cpu/op_layer_norm.h"
#include "flaggems/kernels/cpu/op_log.h"
#include "flaggems/kernels/cpu/op_log_softmax.h"
#include "flaggems/kernels/cpu/op_masked_fill.h"
#include "flaggems/kernels/cpu/op_mean.h"
#include "flaggems/kernels/cpu/op_mm.h"
#include "flaggems/kernels/cpu/op_mul.h"
#include "flaggems/kernels/cpu/op_neg.h"
#include "flaggems/kernels/cpu/op_pow.h"
#include "flaggems/kernels/cpu/op_relu.h"
#include "flaggems/kernels/cpu/op_rsqrt.h"
#include "flaggems/kernels/cpu/op_sigmoid.h"
#include "flaggems/kernels/cpu/op_silu.h"
#include "flaggems/kernels/cpu/op_softmax.h"
#include "flaggems/kernels/cpu/op_sqrt.h"
#include "flaggems/kernels/cpu/op_sub.h"
#include "flaggems/kernels/cpu/op_sum.h"
#include "flaggems/kernels/cpu/op_tanh.h"
#include "flaggems/kernels/cpu/op_where.h"

namespace flaggems {
namespace {

namespace own = kernels::cpu;
using at::Tensor;

struct Pair {
  std::string name;
  std::function<Tensor()> own;
  std::function<Tensor()> native;
};

Tensor Uniform(at::IntArrayRef shape, at::ScalarType dtype = at::kFloat) {
  return (at::rand(shape) * 2 + 0.25).to(dtype);
}

Tensor Normal(at::IntArrayRef shape, at::ScalarType dtype = at::kFloat) {
  return at::randn(shape).to(dtype);
}

void AddPointwise(std::vector<Pair>* pairs, at::ScalarType dtype,
                  const std::string& suffix) {
  const Tensor a = Normal({1000, 1000}, dtype);
  const Tensor b = Uniform({1000, 1000}, dtype);
  pairs->push_back({"add" + suffix, [=] { return own::add(a, b, 1); },
                    [=] { return at::add(a, b); }});
  pairs->push_back({"gelu" + suffix, [=] { return own::gelu(a, "none"); },
                    [=] { return at::gelu(a); }});
  pairs->push_back({"softmax" + suffix,
                    [=] { return own::softmax(a, 1, false); },
                    [=] { return at::_softmax(a, 1, false); }});
  pairs->push_back(
      {"layer_norm" + suffix,
       [=] {
         return std::get<0>(own::layer_norm(a, {1000}, b[0], b[1], 1e-5));
       },
       [=] {
         return std::get<0>(at::native_layer_norm(a, {1000}, b[0], b[1], 1e-5));
       }});
  pairs->push_back({"sum" + suffix,
                    [=] { return own::sum(a, {{1}}, false, std::nullopt); },
                    [=] { return at::sum(a, {{1}}); }});
}

std::vector<Pair> Pairs() {
  std::vector<Pair> pairs;
  AddPointwise(&pairs, at::kFloat, "");
  AddPointwise(&pairs, at::kBFloat16, "/bf16");

  const Tensor a = Normal({1000, 1000});
  const Tensor b = Uniform({1000, 1000});
  const Tensor mask = a > 0;
  const Tensor out = at::empty_like(a);
  const Tensor row = Uniform({1000});
#define FLAGGEMS_UNARY(op, input) \
  pairs.push_back(                \
      {#op, [=] { return own::op(input); }, [=] { return at::op(input); }})
  FLAGGEMS_UNARY(neg, a);
  FLAGGEMS_UNARY(relu, a);
  FLAGGEMS_UNARY(exp, a);
  FLAGGEMS_UNARY(log, b);
  FLAGGEMS_UNARY(sqrt, b);
  FLAGGEMS_UNARY(rsqrt, b);
  FLAGGEMS_UNARY(sigmoid, a);
  FLAGGEMS_UNARY(tanh, a);
  FLAGGEMS_UNARY(silu, a);
#undef FLAGGEMS_UNARY
  pairs.push_back({"add/broadcast", [=] { return own::add(a, row, 1); },
                   [=] { return at::add(a, row); }});
  pairs.push_back({"add_",
                   [=]() mutable {
                     Tensor t = out;
                     return own::add_(t, b, 1);
                   },
                   [=] { return out.add_(b); }});
  pairs.push_back({"add_out",
                   [=] {
                     Tensor t = out;
                     return own::add_out(a, b, 1, t);
                   },
                   [=] {
                     Tensor t = out;
                     return at::add_out(t, a, b);
                   }});
  pairs.push_back({"sub", [=] { return own::sub(a, b, 1); },
                   [=] { return at::sub(a, b); }});
  pairs.push_back(
      {"mul", [=] { return own::mul(a, b); }, [=] { return at::mul(a, b); }});
  pairs.push_back({"mul_",
                   [=] {
                     Tensor t = out;
                     return own::mul_(t, row);
                   },
                   [=] { return out.mul_(row); }});
  pairs.push_back(
      {"div", [=] { return own::div(a, b); }, [=] { return at::div(a, b); }});
  pairs.push_back({"relu_",
                   [=] {
                     Tensor t = out;
                     return own::relu_(t);
                   },
                   [=] {
                     Tensor t = out;
                     return at::relu_(t);
                   }});
  pairs.push_back({"gelu/tanh", [=] { return own::gelu(a, "tanh"); },
                   [=] { return at::gelu(a, "tanh"); }});
  pairs.push_back(
      {"pow/2", [=] { return own::pow(b, 2); }, [=] { return at::pow(b, 2); }});
  pairs.push_back({"pow/2.5", [=] { return own::pow(b, 2.5); },
                   [=] { return at::pow(b, 2.5); }});
  pairs.push_back({"where", [=] { return own::where(mask, a, b); },
                   [=] { return at::where(mask, a, b); }});
  pairs.push_back({"masked_fill", [=] { return own::masked_fill(a, mask, 0); },
                   [=] { return at::masked_fill(a, mask, 0); }});
  pairs.push_back({"sum/all",
                   [=] { return own::sum(a, {}, false, std::nullopt); },
                   [=] { return at::sum(a, at::OptionalIntArrayRef()); }});
  pairs.push_back({"sum/columns",
                   [=] { return own::sum(a, {{0}}, false, std::nullopt); },
                   [=] { return at::sum(a, {{0}}); }});
  pairs.push_back({"mean",
                   [=] { return own::mean(a, {{1}}, false, std::nullopt); },
                   [=] { return at::mean(a, {{1}}); }});
  pairs.push_back({"amax", [=] { return own::amax(a, {1}, false); },
                   [=] { return at::amax(a, {1}); }});
  pairs.push_back({"argmax", [=] { return own::argmax(a, 1, false); },
                   [=] { return at::argmax(a, 1); }});
  pairs.push_back({"cumsum", [=] { return own::cumsum(a, 1, std::nullopt); },
                   [=] { return at::cumsum(a, 1); }});
  pairs.push_back({"log_softmax", [=] { return own::log_softmax(a, 1, false); },
                   [=] { return at::_log_softmax(a, 1, false); }});
  pairs.push_back({"softmax/columns", [=] { return own::softmax(a, 0, false); },
                   [=] { return at::_softmax(a, 0, false); }});
  const Tensor m = Normal({512, 512});
  const Tensor n = Normal({512, 512});
  const Tensor m16 = m.to(at::kBFloat16);
  const Tensor n16 = n.to(at::kBFloat16);
  const Tensor bias = Normal({512});
  const Tensor p = Normal({16, 128, 128});
  const Tensor q = Normal({16, 128, 128});
  pairs.push_back(
      {"mm/512", [=] { return own::mm(m, n); }, [=] { return at::mm(m, n); }});
  pairs.push_back({"mm/512/bf16", [=] { return own::mm(m16, n16); },
                   [=] { return at::mm(m16, n16); }});
  pairs.push_back({"addmm/512", [=] { return own::addmm(bias, m, n, 1, 1); },
                   [=] { return at::addmm(bias, m, n); }});
  pairs.push_back({"bmm/16x128", [=] { return own::bmm(p, q); },
                   [=] { return at::bmm(p, q); }});
  const Tensor table = Normal({30000, 256});
  const Tensor tokens = at::randint(0, 30000, {4000}, at::kLong);
  pairs.push_back(
      {"embedding",
       [=] { return own::embedding(table, tokens, -1, false, false); },
       [=] { return at::embedding(table, tokens); }});
  const Tensor columns = at::randint(0, 1000, {1000}, at::kLong);
  pairs.push_back({"index_select",
                   [=] { return own::index_select(a, 1, columns); },
                   [=] { return at::index_select(a, 1, columns); }});
  const Tensor index = at::randint(0, 1000, {1000, 1000}, at::kLong);
  pairs.push_back({"gather", [=] { return own::gather(a, 1, index, false); },
                   [=] { return at::gather(a, 1, index); }});
  const std::vector<Tensor> parts = {a.narrow(1, 0, 500).contiguous(),
                                     a.narrow(1, 500, 500).contiguous()};
  pairs.push_back({"cat", [=] { return own::cat(parts, 1); },
                   [=] { return at::cat(parts, 1); }});
  return pairs;
}

void Register(const Pair& pair, const std::string& side,
              const std::function<Tensor()>& call) {
  benchmark::RegisterBenchmark(("BM_" + side + "/" + pair.name).c_str(),
                               [call](benchmark::State& state) {
                                 for (auto _ : state) {
                                   benchmark::DoNotOptimize(call());
                                 }
                               })
      ->UseRealTime();
}

// Keeps the fastest repetition of each benchmark.
class PairReporter : public benchmark::ConsoleReporter {
 public:
  PairReporter() : ConsoleReporter(OO_None) {}

  void ReportRuns(const std::vector<Run>& runs) override {
    for (const Run& run : runs) {
      if (run.run_type != Run::RT_Iteration || run.error_occurred) continue;
      const double time = run.GetAdjustedRealTime();
      const auto it = fastest_.emplace(run.run_name.function_name, time).first;
      it->second = std::min(it->second, time);
    }
    ConsoleReporter::ReportRuns(runs);
  }

  void PrintRatios(const std::vector<Pair>& pairs) const {
    double logs = 0;
    int count = 0;
    std::printf("\n%-18s %12s %12s %12s\n", "op", "own (us)", "native (us)",
                "own speed");
    for (const Pair& pair : pairs) {
      const auto own = fastest_.find("BM_own/" + pair.name);
      const auto native = fastest_.find("BM_native/" + pair.name);
      if (own == fastest_.end() || native == fastest_.end()) continue;
      const double ratio = native->second / own->second;
      std::printf("%-18s %12.1f %12.1f %11.2fx\n", pair.name.c_str(),
                  own->second / 1e3, native->second / 1e3, ratio);
      logs += std::log(ratio);
      ++count;
    }
    if (count > 0) {
      std::printf(
          "geometric mean of %d pairs: own kernels run at %.2fx of "
          "native speed (%d threads)\n",
          count, std::exp(logs / count), at::get_num_threads());
    }
  }

 private:
  std::map<std::string, double> fastest_;
};

}  // namespace
}  // namespace flaggems

int main(int argc, char** argv) {
  at::manual_seed(20261129);
  const std::vector<flaggems::Pair> pairs = flaggems::Pairs();
  for (const flaggems::Pair& pair : pairs) {
    const at::Tensor own = pair.own().to(at::kDouble);
    const at::Tensor native = pair.native().to(at::kDouble);
    // In-place pairs change their argument; the others must agree.
    if (pair.name.back() != '_' && !at::allclose(own, native, 2e-2, 1e-2)) {
      std::fprintf(stderr, "%s: own and native results differ\n",
                   pair.name.c_str());
      return 1;
    }
    flaggems::Register(pair, "own", pair.own);
    flaggems::Register(pair, "native", pair.native);
  }
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 1;
  flaggems::PairReporter reporter;
  benchmark::RunSpecifiedBenchmarks(&reporter);
  reporter.PrintRatios(pairs);
  return 0;
}
