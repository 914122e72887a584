// What the wrapper costs a call: the plain kernel, the kernel behind an idle
// gate (check disabled, check throttled), and a checked call; typed wrappers of
// own kernels and the boxed one of observed kernels. The operator does nothing,
// so that the difference is the wrapper's alone; all rows go through torch's
// dispatcher.

#include <ATen/core/Tensor.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/ops/ones.h>
#include <benchmark/benchmark.h>
#include <torch/library.h>

#include <limits>
#include <memory>
#include <utility>

#include "flaggems/aten/op_traits_of.h"
#include "flaggems/check/checked_op.h"
#include "flaggems/golden.h"
#include "flaggems/registrar/checking_registrar.h"
#include "flaggems/registrar/observer.h"
#include "flaggems/registrar/plain_registrar.h"
#include "flaggems/registry/register_kernel.h"

namespace flaggems {
namespace {

at::Tensor Same(const at::Tensor& x) { return x; }

TORCH_LIBRARY(wrapper_benchmark, m) { m.def("same(Tensor x) -> Tensor"); }
TORCH_LIBRARY_IMPL(wrapper_benchmark, CPU, m) { m.impl("same", &Same); }

using Maker = internal_registry::MakerOf<&Same, /*kPartial=*/false>;
constexpr KernelEntry kSame{
    "wrapper_benchmark::same", Backend::kCpu,     __FILE__,         __LINE__,
    /*partial=*/false,         &Maker::MakePlain, &Maker::MakeGated};

class DiscardingSink : public RecordSink {
 public:
  absl::Status Send(const CheckRecord&) override { return absl::OkStatus(); }
  absl::Status Flush() override { return absl::OkStatus(); }
};

enum class Mode { kPlain, kDisabled, kThrottled, kChecked };

void BM_Call(benchmark::State& state, Mode mode) {
  CheckRuntime runtime;
  PlainRegistrar plain;
  CheckingRegistrar checking(&runtime);
  Registrar& registrar =
      mode == Mode::kPlain ? static_cast<Registrar&>(plain) : checking;
  auto installed = registrar.Install({*OpKey::Parse(kSame.op), &kSame});
  if (!installed.ok()) {
    state.SkipWithError(installed.status().ToString().c_str());
    return;
  }
  if (mode == Mode::kThrottled || mode == Mode::kChecked) {
    CheckSessionOptions options;
    options.policy.max_checks =
        mode == Mode::kThrottled ? 0 : std::numeric_limits<int64_t>::max();
    runtime.Start(std::make_shared<CheckSession>(
        std::move(options), std::make_unique<DiscardingSink>(),
        &Clock::System()));
  }
  const auto op = FindOperator(*OpKey::Parse(kSame.op))
                      ->typed<at::Tensor(const at::Tensor&)>();
  const at::Tensor x = at::ones({4});
  op.call(x);  // settles the throttle
  for (auto _ : state) benchmark::DoNotOptimize(op.call(x));
}
// The kernel that is registered above, observed. kThrottled: by the schedule of
// profile strict, which looks at the signature of every call; all rows but
// kChecked have nothing due.
void BM_Observed(benchmark::State& state, Mode mode) {
  CheckRuntime runtime;
  const c10::OperatorHandle handle = *FindOperator(*OpKey::Parse(kSame.op));
  // Without it calls could not be checked at all.
  if (const absl::Status status = RegisterGolden(kSame.op, &Same);
      !status.ok()) {
    state.SkipWithError(status.ToString().c_str());
    return;
  }
  std::unique_ptr<InstalledKernel> installed;
  if (mode != Mode::kPlain) {
    auto observer = InstallObserver(handle, c10::DispatchKey::CPU, &runtime);
    if (!observer.ok()) {
      state.SkipWithError(observer.status().ToString().c_str());
      return;
    }
    installed = *std::move(observer);
  }
  if (mode == Mode::kThrottled || mode == Mode::kChecked) {
    CheckSessionOptions options;
    options.policy.throttle = Throttle::kSpread;
    options.policy.max_checks =
        mode == Mode::kThrottled ? 1 : std::numeric_limits<int64_t>::max();
    runtime.Start(std::make_shared<CheckSession>(
        std::move(options), std::make_unique<DiscardingSink>(),
        &Clock::System()));
  }
  const auto op = handle.typed<at::Tensor(const at::Tensor&)>();
  const at::Tensor x = at::ones({4});
  // The first checks, until the next is far away.
  if (mode == Mode::kThrottled) {
    for (int i = 0; i < 100'000; ++i) op.call(x);
  }
  for (auto _ : state) benchmark::DoNotOptimize(op.call(x));
}
BENCHMARK_CAPTURE(BM_Observed, plain, Mode::kPlain);
BENCHMARK_CAPTURE(BM_Observed, disabled, Mode::kDisabled);
BENCHMARK_CAPTURE(BM_Observed, throttled, Mode::kThrottled);
BENCHMARK_CAPTURE(BM_Observed, checked, Mode::kChecked);

BENCHMARK_CAPTURE(BM_Call, plain, Mode::kPlain);
BENCHMARK_CAPTURE(BM_Call, disabled, Mode::kDisabled);
BENCHMARK_CAPTURE(BM_Call, throttled, Mode::kThrottled);
BENCHMARK_CAPTURE(BM_Call, checked, Mode::kChecked);
// Once more, to see the run's own drift.
BENCHMARK_CAPTURE(BM_Call, plain_again, Mode::kPlain);
BENCHMARK_CAPTURE(BM_Call, disabled_again, Mode::kDisabled);

}  // namespace
}  // namespace flaggems

BENCHMARK_MAIN();
