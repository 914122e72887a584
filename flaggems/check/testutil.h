#ifndef FLAGGEMS_CHECK_TESTUTIL_H_
#define FLAGGEMS_CHECK_TESTUTIL_H_

// Calls on the fake device that profile strict checks. For tests.

#include <ATen/ATen.h>
#include <ATen/core/boxing/KernelFunction.h>
#include <ATen/core/dispatch/Dispatcher.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/time/time.h"
#include "flaggems/aten/op_traits_of.h"
#include "flaggems/check/check_session.h"
#include "flaggems/check/checked_kernel.h"
#include "flaggems/check/checked_op.h"
#include "flaggems/core/clock.h"
#include "flaggems/reference/native_cpu_reference.h"
#include "flaggems/screen/screen.h"
#include "flaggems/sink/memory_sink.h"
#include "flaggems/testing/fake_device.h"
#include "gtest/gtest.h"

namespace flaggems {

// One operator, neg, neg_ or alias, with a kernel of the test's, in a session
// of a runtime that the test may end.
class FakeDeviceCallTest : public testing::Test {
 protected:
  using Stack = torch::jit::Stack;

  void TearDown() override {
    if (runtime_ != nullptr) pending().Drain();
    RegisterScreenMaker(nullptr);
  }

  // Of a session that checks every call.
  static CheckSessionOptions EveryCall(ReferencePlace place) {
    CheckSessionOptions options;
    options.policy.max_checks = 100'000;
    options.policy.log_once = false;
    options.profile = "strict";
    options.tolerance_model = ToleranceModel::kBudget;
    options.reference = place;
    return options;
  }

  // What judges calls of `op`; the CPU's kernel.
  virtual std::shared_ptr<const Reference> ReferenceOf(
      const c10::OperatorHandle& op) {
    return *NativeCpuReference(op);
  }

  // A new session, and aten::`name` anew.
  void Start(const std::string& name, CheckSessionOptions options) {
    auto sink = std::make_unique<MemorySink>();
    sink_ = sink.get();
    runtime_->Start(std::make_shared<CheckSession>(std::move(options),
                                                   std::move(sink), &clock_));
    const OpKey key{"aten", name, ""};
    handle_ = FindOperator(key);
    op_ = std::make_shared<CheckedOp>(*handle_);
    ledger_ = runtime_->ledgers().Get(key);
    op_->ledger = ledger_;
    op_->gate = std::make_shared<Gate>(
        *handle_, ledger_->counter(Verdict::kSkipDisabled));
    op_->kernel = c10::KernelFunction::makeFromBoxedFunctor(
        std::make_unique<Kernel>(this));
    op_->judged.reference = ReferenceSource(ReferenceOf(*handle_));
    checked_ = MakeCheckedKernel(op_, runtime_.get());
    runtime_->Add(op_);
  }

  // Of neg -x, but for `wrong` a zero in place of the last element.
  at::Tensor Call(const at::Tensor& x, bool wrong = false) {
    return CallOnDevice(ToFakeDevice(x), wrong);
  }
  at::Tensor CallOnDevice(const at::Tensor& x, bool wrong = false) {
    wrong_ = wrong;
    return CallWith({x});
  }
  at::Tensor CallWith(Stack stack) {
    checked_.callBoxed(
        *handle_, c10::DispatchKeySet(c10::DispatchKey::PrivateUse1), &stack);
    return stack[0].toTensor();
  }

  PendingQueue& pending() { return runtime_->pending(); }
  int64_t Count(Verdict verdict) const { return ledger_->count(verdict); }
  std::vector<int64_t> FailedCalls() const {
    std::vector<int64_t> calls;
    for (const CheckRecord& record : sink_->records()) {
      calls.push_back(record.call);
    }
    return calls;
  }

  FixedClock clock_{absl::FromUnixSeconds(1747648801)};
  std::unique_ptr<CheckRuntime> runtime_ = std::make_unique<CheckRuntime>();
  MemorySink* sink_ = nullptr;
  std::optional<c10::OperatorHandle> handle_;
  std::shared_ptr<CheckedOp> op_;
  OpLedger* ledger_ = nullptr;
  c10::BoxedKernel checked_;
  bool throws_ = false;           // the kernel does
  bool returns_on_host_ = false;  // its result is on the CPU
  std::function<void()> inside_;  // runs in the kernel

 private:
  struct Kernel : public c10::OperatorKernel {
    explicit Kernel(FakeDeviceCallTest* test) : test(test) {}
    void operator()(const c10::OperatorHandle& op, c10::DispatchKeySet,
                    Stack* stack) {
      if (test->inside_) test->inside_();
      if (test->throws_) TORCH_CHECK(false, "no");
      const std::string name = op.schema().name();
      if (name == "aten::as_strided") {
        const size_t first = stack->size() - 4;
        const at::Tensor view = (*stack)[first].toTensor().as_strided(
            (*stack)[first + 1].toIntVector(),
            (*stack)[first + 2].toIntVector(), (*stack)[first + 3].toInt());
        stack->resize(first);
        stack->push_back(view);
        return;
      }
      const at::Tensor x = stack->back().toTensor();
      if (name == "aten::alias") {
        stack->back() = x.view(x.sizes());
        return;
      }
      at::Tensor y = name == "aten::neg_" ? x : at::empty_like(x);
      CpuAliasOf(y).copy_(-CpuAliasOf(x));
      if (test->wrong_) CpuAliasOf(y).view(-1)[-1].fill_(0);
      stack->back() = test->returns_on_host_ ? CpuAliasOf(y).clone() : y;
    }
    FakeDeviceCallTest* const test;
  };

  bool wrong_ = false;
};

}  // namespace flaggems

#endif  // FLAGGEMS_CHECK_TESTUTIL_H_
