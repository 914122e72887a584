#include "flaggems/registrar/observer.h"

#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <torch/library.h>

#include <atomic>
#include <cmath>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "flaggems/aten/op_traits_of.h"
#include "flaggems/core/status_testutil.h"
#include "flaggems/policy/skip_rules.h"
#include "flaggems/registrar/dispatcher_slot.h"
#include "flaggems/sink/memory_sink.h"

namespace flaggems {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

at::Tensor Twice(const at::Tensor& x) { return x * 2; }

TORCH_LIBRARY(observer_test, m) {
  m.def("composite(Tensor x) -> Tensor", &Twice);
  m.def("explicit(Tensor x) -> Tensor");
  m.def("on_cuda(Tensor x) -> Tensor");
  m.def("passed_on(Tensor x) -> Tensor");
}
TORCH_LIBRARY_IMPL(observer_test, CompositeExplicitAutograd, m) {
  m.impl("explicit", &Twice);
}
TORCH_LIBRARY_IMPL(observer_test, CPU, m) {
  m.impl("passed_on", torch::CppFunction::makeFallthrough());
}
TORCH_LIBRARY_IMPL(observer_test, CUDA, m) { m.impl("on_cuda", &Twice); }

c10::OperatorHandle Op(const std::string& name) {
  const absl::StatusOr<OpKey> key = OpKey::Parse(name);
  const auto op = key.ok() ? FindOperator(*key) : std::nullopt;
  if (!op) throw std::runtime_error(name);
  return *op;
}

at::Tensor F32(std::vector<double> values) {
  return at::tensor(values).to(at::kFloat);
}

class ObserverTest : public testing::Test {
 protected:
  ObserverTest() { Start(); }

  void Start() {
    auto sink = std::make_unique<MemorySink>();
    sink_ = sink.get();
    CheckSessionOptions options;
    options.profile = "strict";
    options.tolerance_model = ToleranceModel::kBudget;
    options.policy.log_once = false;
    options.policy.skip_rules = StrictSkipRules();
    runtime_.Start(std::make_shared<CheckSession>(
        std::move(options), std::move(sink), &Clock::System()));
  }

  std::unique_ptr<InstalledKernel> Observe(const std::string& name) {
    auto installed =
        InstallObserver(Op(name), c10::DispatchKey::CPU, &runtime_);
    EXPECT_THAT(installed, IsOk());
    return installed.ok() ? *std::move(installed) : nullptr;
  }

  int64_t Count(const std::string& name, Verdict verdict) {
    return runtime_.ledgers().Get(*OpKey::Parse(name))->count(verdict);
  }

  CheckRuntime runtime_;
  MemorySink* sink_ = nullptr;
};

// Puts another kernel over torch's while it lives.
class Registered {
 public:
  Registered(const char* op, at::Tensor (*fn)(const at::Tensor&))
      : library_(torch::Library::IMPL, "aten", c10::DispatchKey::CPU, __FILE__,
                 __LINE__) {
    library_.impl(op, fn);
  }

 private:
  torch::Library library_;
};

at::Tensor WrongErf(const at::Tensor& x) { return at::full_like(x, 0.25); }

TEST(WhyNotObservableTest, OperatorsWithoutAKernelOfTheirOwn) {
  for (const auto& [name, why] :
       {std::pair<const char*, const char*>{"aten::add.Tensor", ""},
        {"aten::mm", ""},
        {"aten::_foreach_exp", ""},
        {"aten::expand", ""},  // CompositeExplicitAutograd
        {"aten::exp", ""},     // for its structured kernel
        {"aten::matmul", "only calls other operators"},
        {"aten::reshape", "only calls other operators"},
        {"observer_test::composite", "only calls other operators"},
        {"observer_test::explicit", ""},
        {"observer_test::passed_on", "passes calls on at CPU"},
        {"observer_test::on_cuda", "has no kernel for CPU"}}) {
    EXPECT_THAT(WhyNotObservable(Op(name), c10::DispatchKey::CPU).value_or(""),
                StartsWith(why))
        << name;
    EXPECT_EQ(WhyNotObservable(Op(name), c10::DispatchKey::CPU).has_value(),
              *why != 0)
        << name;
  }
  EXPECT_EQ(
      WhyNotObservable(Op("observer_test::on_cuda"), c10::DispatchKey::CUDA),
      std::nullopt);
}

TEST_F(ObserverTest, TorchsOwnKernelPassesAndGivesItsResult) {
  const at::Tensor x = F32({-1, 0.5, 2});
  const at::Tensor want = at::erf(x);
  const auto observer = Observe("aten::erf");
  const at::Tensor got = at::erf(x);
  EXPECT_TRUE(at::equal(got, want));
  EXPECT_EQ(Count("aten::erf", Verdict::kPass), 1);
  EXPECT_TRUE(sink_->records().empty());
}

TEST_F(ObserverTest, AKernelRegisteredLaterIsJudgedAgainstTorchs) {
  const Registered wrong("erf", &WrongErf);
  const auto observer = Observe("aten::erf");
  EXPECT_EQ(at::erf(F32({2}))[0].item<float>(), 0.25f);
  EXPECT_EQ(Count("aten::erf", Verdict::kFailValue), 1);
  ASSERT_EQ(sink_->records().size(), 1u);
  EXPECT_EQ(sink_->records()[0].op.ToString(), "aten::erf");
  EXPECT_EQ(sink_->records()[0].profile, "strict");
}

TEST_F(ObserverTest, RemovalRestoresTheTable) {
  const at::Tensor x = F32({2});
  const std::string before = Op("aten::erf").dumpComputedTable();
  const size_t dangling =
      c10::Dispatcher::singleton().findDanglingImpls().size();
  {
    const auto observer = Observe("aten::erf");
    EXPECT_NE(Op("aten::erf").dumpComputedTable(), before);
  }
  EXPECT_EQ(Op("aten::erf").dumpComputedTable(), before);
  EXPECT_EQ(c10::Dispatcher::singleton().findDanglingImpls().size(), dangling);
  at::erf(x);
  EXPECT_EQ(Count("aten::erf", Verdict::kPass), 0);
  // And what was registered before the observer.
  const Registered wrong("erf", &WrongErf);
  { const auto observer = Observe("aten::erf"); }
  EXPECT_EQ(at::erf(x)[0].item<float>(), 0.25f);
}

TEST_F(ObserverTest, AllOverAgain) {
  for (int i = 0; i < 3; ++i) {
    const auto observer = Observe("aten::erf");
    at::erf(F32({2}));
  }
  EXPECT_EQ(Count("aten::erf", Verdict::kPass), 3);
}

TEST_F(ObserverTest, TwiceIsOnce) {
  const std::string before = Op("aten::erf").dumpComputedTable();
  auto first = Observe("aten::erf");
  const std::string observed = Op("aten::erf").dumpComputedTable();
  auto second = Observe("aten::erf");
  at::erf(F32({2}));
  EXPECT_EQ(Count("aten::erf", Verdict::kPass), 1);
  first.reset();
  EXPECT_EQ(Op("aten::erf").dumpComputedTable(), observed);
  at::erf(F32({2}));
  EXPECT_EQ(Count("aten::erf", Verdict::kPass), 2);
  second.reset();
  EXPECT_EQ(Op("aten::erf").dumpComputedTable(), before);
}

TEST_F(ObserverTest, AKernelRegisteredOverTheObserver) {
  const std::string before = Op("aten::erf").dumpComputedTable();
  auto first = Observe("aten::erf");
  {
    const Registered wrong("erf", &WrongErf);
    at::erf(F32({2}));  // hides the observer
    EXPECT_EQ(runtime_.ledgers().Get({"aten", "erf", ""})->calls(), 0);
    const auto again = Observe("aten::erf");
    EXPECT_EQ(at::erf(F32({2}))[0].item<float>(), 0.25f);
    EXPECT_EQ(Count("aten::erf", Verdict::kFailValue), 1);
    first.reset();
    at::erf(F32({2}));
    EXPECT_EQ(Count("aten::erf", Verdict::kFailValue), 2);
  }
  EXPECT_EQ(Op("aten::erf").dumpComputedTable(), before);
}

at::Tensor OtherErf(const at::Tensor& x) { return at::full_like(x, 0.5); }

TEST_F(ObserverTest, AKernelThatWasReplacedMeanwhile) {
  { const auto observer = Observe("aten::erf"); }
  {
    // Of the same type as the next.
    const Registered other("erf", &OtherErf);
    const auto observer = Observe("aten::erf");
    EXPECT_EQ(at::erf(F32({2}))[0].item<float>(), 0.5f);
    EXPECT_EQ(Count("aten::erf", Verdict::kFailValue), 1);
  }
  const Registered wrong("erf", &WrongErf);
  const auto observer = Observe("aten::erf");
  EXPECT_EQ(at::erf(F32({2}))[0].item<float>(), 0.25f);
  EXPECT_EQ(Count("aten::erf", Verdict::kFailValue), 2);
}

TEST_F(ObserverTest, Refuses) {
  EXPECT_THAT(InstallObserver(Op("observer_test::on_cuda"),
                              c10::DispatchKey::CPU, &runtime_),
              StatusIs(absl::StatusCode::kNotFound,
                       HasSubstr("observer_test::on_cuda has no kernel for "
                                 "CPU")));
  const absl::StatusOr<std::unique_ptr<DispatcherSlot>> other =
      DispatcherSlot::Reserve({"aten", "erf", ""}, c10::DispatchKey::CPU,
                              "here");
  ASSERT_THAT(other, IsOk());
  EXPECT_THAT(
      InstallObserver(Op("aten::erf"), c10::DispatchKey::CPU, &runtime_),
      StatusIs(absl::StatusCode::kAlreadyExists, HasSubstr("aten::erf")));
}

at::Tensor planted_sum;

// The very numbers of torch's own kernel, which rounds alpha * b to bfloat16:
// its own are allowed that, those of another kernel are not.
TEST_F(ObserverTest, OnlyTorchsOwnKernelsHaveTheAllowance) {
  at::manual_seed(1);
  const at::Tensor a = at::randn({1000}).to(at::kBFloat16);
  const at::Tensor b = at::randn({1000}).to(at::kBFloat16);
  {
    const auto observer = Observe("aten::add.Tensor");
    planted_sum = at::add(a, b, 0.3);
    EXPECT_EQ(Count("aten::add.Tensor", Verdict::kPass), 1);
  }
  torch::Library library(torch::Library::IMPL, "aten", c10::DispatchKey::CPU,
                         __FILE__, __LINE__);
  library.impl("add.Tensor",
               [](const at::Tensor&, const at::Tensor&, const at::Scalar&) {
                 return planted_sum.clone();
               });
  const auto observer = Observe("aten::add.Tensor");
  at::add(a, b, 0.3);
  EXPECT_EQ(Count("aten::add.Tensor", Verdict::kFailValue), 1);
  ASSERT_EQ(sink_->records().size(), 1u);
  EXPECT_THAT(sink_->records()[0].message,
              HasSubstr("no worse than torch's own kernel"));
}

TEST_F(ObserverTest, ListsTuplesOutAndInPlace) {
  const auto foreach = Observe("aten::_foreach_exp_");
  const auto max = Observe("aten::max.dim");
  const auto out = Observe("aten::erf.out");
  const auto in_place = Observe("aten::erf_");
  std::vector<at::Tensor> list = {F32({1}), F32({2, 3})};
  at::_foreach_exp_(list);
  at::max(F32({1, 3, 3}), 0);
  at::Tensor result = at::empty({2});
  at::erf_out(result, F32({1, 2}));
  F32({1, 2}).erf_();
  for (const char* name : {"aten::_foreach_exp_", "aten::max.dim",
                           "aten::erf.out", "aten::erf_"}) {
    EXPECT_EQ(Count(name, Verdict::kPass), 1) << name;
  }
  EXPECT_NEAR(list[1][0].item<float>(), std::exp(2.f), 1e-5);
}

TEST_F(ObserverTest, AStoppedRuntimeForwards) {
  const auto observer = Observe("aten::erf");
  runtime_.Stop();
  at::erf(F32({2}));
  EXPECT_EQ(Count("aten::erf", Verdict::kSkipDisabled), 1);
  EXPECT_EQ(Count("aten::erf", Verdict::kPass), 0);
}

TEST_F(ObserverTest, GradientsArePassedThrough) {
  const auto observer = Observe("aten::erf");
  const at::Tensor x = F32({0.5}).requires_grad_();
  at::erf(x).sum().backward();
  EXPECT_NEAR(x.grad().item<float>(), 2 / std::sqrt(M_PI) * std::exp(-0.25),
              1e-6);
  EXPECT_EQ(Count("aten::erf", Verdict::kPass), 1);
}

TEST_F(ObserverTest, ExceptionsPassThrough) {
  const auto observer = Observe("aten::mm");
  EXPECT_THROW(at::mm(at::ones({2, 3}), at::ones({2, 3})), c10::Error);
  EXPECT_EQ(Count("aten::mm", Verdict::kPass), 1);
}

TEST_F(ObserverTest, ManyThreads) {
  const auto observer = Observe("aten::erf");
  std::atomic<int> wrong{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 8; ++t) {
    threads.emplace_back([&] {
      const at::Tensor x = F32({0});
      for (int i = 0; i < 50; ++i) {
        if (at::erf(x)[0].item<float>() != 0) ++wrong;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
  EXPECT_EQ(runtime_.ledgers().Get({"aten", "erf", ""})->calls(), 400);
  EXPECT_TRUE(sink_->records().empty());
}

// Kernels of all kinds (without state, boxed, with state) are called while the
// table changes under the callers: each call must reach a kernel.
TEST_F(ObserverTest, InstalledAndRemovedUnderRunningThreads) {
  runtime_.Stop();
  torch::Library library(torch::Library::IMPL, "observer_test",
                         c10::DispatchKey::CPU, __FILE__, __LINE__);
  const auto state = std::make_shared<double>(3);
  library.impl("explicit", [state](const at::Tensor& x) { return x * *state; });
  const auto typed =
      Op("observer_test::explicit").typed<at::Tensor(const at::Tensor&)>();
  std::atomic<bool> stop{false};
  std::atomic<int64_t> wrong{0};
  std::atomic<int64_t> calls{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 3; ++t) {
    threads.emplace_back([&] {
      const at::Tensor x = F32({0});
      while (!stop) {
        wrong += at::erf(x)[0].item<float>() != 0;
        wrong += typed.call(x)[0].item<float>() != 0;
        calls += 2;
      }
    });
  }
  for (int i = 0; i < 2000; ++i) {
    const auto erf = Observe("aten::erf");
    const auto with_state = Observe("observer_test::explicit");
    if (i % 100 == 0) std::this_thread::yield();
  }
  while (calls < 1000) std::this_thread::yield();
  stop = true;
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
}

}  // namespace
}  // namespace flaggems
