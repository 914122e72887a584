#include "flaggems/check/checked_kernel.h"

#include <ATen/Parallel.h>
#include <ATen/core/stack.h>

#include <exception>
#include <optional>
#include <utility>
#include <vector>

#include "absl/types/span.h"
#include "flaggems/aten/guarded_allocator.h"
#include "flaggems/aten/op_traits_of.h"
#include "flaggems/aten/stream_capture.h"
#include "flaggems/aten/visit_tensors.h"
#include "flaggems/check/check_timer.h"
#include "flaggems/check/checked_call.h"
#include "flaggems/check/guarded.h"
#include "flaggems/check/pending_call.h"
#include "flaggems/judge/flat_values.h"
#include "flaggems/policy/sheddable_queues.h"
#include "flaggems/registry/check_scope.h"

namespace flaggems {
namespace {

// The kernel may need the memory that the check of its call holds.
class RunningCall final : public RunningCheck {
 public:
  explicit RunningCall(CheckedCall* call) : call_(*call) {}

  std::optional<int64_t> Shed() override { return call_.Shed(); }
  int64_t bytes() const override { return call_.sheddable_bytes(); }

 private:
  CheckedCall& call_;
};

class CheckedKernel final : public c10::OperatorKernel {
 public:
  CheckedKernel(std::shared_ptr<const CheckedOp> op, CheckRuntime* runtime)
      : op_(std::move(op)), runtime_(runtime) {}

  void operator()(const c10::OperatorHandle& handle, c10::DispatchKeySet keys,
                  torch::jit::Stack* stack) {
    // A typed wrapper of ours still holds the lists that it put here.
    OwnTensorLists(stack, handle.schema().arguments().size());
    if (CheckScope::active()) {
      if (op_->native != nullptr) {
        op_->native->callBoxed(handle, keys, stack);
      } else {
        op_->kernel.callBoxed(handle, keys, stack);
      }
      return;
    }
    if (at::in_parallel_region()) {
      // In a parallel loop of another kernel: its other workers write beside
      // what this call reads, so that nothing can be said of the memory.
      op_->ledger->Count(Verdict::kSkipReentrant);
      op_->kernel.callBoxed(handle, keys, stack);
      return;
    }
    CheckTimer timer;
    std::shared_ptr<CheckedCall> call = Begin(handle, *stack, timer);
    timer.Pause();
    if (!call) {
      op_->kernel.callBoxed(handle, keys, stack);
      return;
    }
    const size_t below = stack->size() - handle.schema().arguments().size();
    try {
      std::optional<GuardedAllocation> guarded;
      if (call->poison()) guarded.emplace();
      const RunningCall running(call.get());
      op_->kernel.callBoxed(handle, keys, stack);
    } catch (...) {
      timer.Resume();
      const std::exception_ptr exception = std::current_exception();
      if (!Guarded([&] { call->JudgeException(exception); })) call->GiveUp();
      if (!Replace(*call, stack, below)) throw;
      return;
    }
    timer.Resume();
    if (!Guarded(
            [&] { call->Judge(absl::MakeConstSpan(*stack).subspan(below)); })) {
      call->GiveUp();
    }
    if (call->is_pending()) {
      // It may conclude others, which charge for themselves.
      timer.Pause();
      if (!Guarded([&] {
            runtime_->pending().Add(std::make_unique<PendingCall>(call));
          })) {
        call->GiveUp();
      }
      return;
    }
    Replace(*call, stack, below);
  }

 private:
  // Puts what the call is to return instead onto the stack, if anything.
  static bool Replace(CheckedCall& call, torch::jit::Stack* stack,
                      size_t below) {
    std::optional<std::vector<c10::IValue>> results;
    Guarded([&] {
      results = call.Substitutes();
      if (!results) return;
      // What a backward pass reads may be the kernel's alone.
      for (size_t i = 0; i < results->size() && below + i < stack->size();
           ++i) {
        if (IsNothing((*results)[i])) (*results)[i] = (*stack)[below + i];
      }
      // No more allocation below.
      stack->reserve(below + results->size());
    });
    if (!results) return false;
    stack->resize(below);
    for (c10::IValue& result : *results) stack->push_back(std::move(result));
    return true;
  }

  // Of earlier calls. Another thread may be capturing.
  void CollectVerdicts() const {
    const CaptureTolerance tolerance(runtime_->pending().pending() > 0);
    runtime_->pending().Poll();
  }

  // Decides on the call; null: it is counted, and only to be run.
  std::shared_ptr<CheckedCall> Begin(const c10::OperatorHandle& handle,
                                     const torch::jit::Stack& stack,
                                     CheckTimer& timer) {
    std::shared_ptr<CheckedCall> call;
    bool admitted = false;
    Guarded([&] {
      const std::shared_ptr<CheckSession> session = runtime_->session();
      if (session == nullptr) {
        op_->ledger->Count(Verdict::kSkipDisabled);
        return;
      }
      TimeBudget& budget = session->time_budget();
      const bool timed = budget.limited();
      int64_t begun = timed ? budget.Now() : 0;
      const int64_t number = op_->ledger->NextCall();
      const absl::Span<const c10::IValue> arguments =
          absl::MakeConstSpan(stack).last(handle.schema().arguments().size());
      CallTraits traits = CallTraitsOf(arguments);
      if (!traits.capturing) {
        // They charge for themselves.
        const int64_t before = timed ? budget.Now() : 0;
        CollectVerdicts();
        if (timed) begun += budget.Now() - before;
      }
      std::shared_ptr<const Reference> reference = op_->judged.reference.Get();
      if (reference == nullptr) {
        traits.supported = false;
        session->NoteUnchecked(op_->judged.traits.key,
                               op_->judged.reference.why_none());
      }
      if (session->device_failed() && DeviceOf(arguments) != "cpu") {
        traits.supported = false;
      }
      bool no_time = false;
      if (const auto skip = session->policy().Admit(*op_->ledger, traits,
                                                    &budget, &no_time)) {
        op_->ledger->Count(*skip);
        runtime_->CloseIfSettled(session.get(), *op_);
        if (no_time) PassOverNext(*session, number, begun);
        return;
      }
      admitted = true;
      timer.Start(session, BudgetSignature(*op_->ledger, traits.signature));
      call = std::make_shared<CheckedCall>(op_, *runtime_, session,
                                           std::move(reference), number, traits,
                                           arguments);
      call->TakeArguments(arguments, timer);
    });
    if (admitted && !call) {
      // Out of memory while the call was described.
      op_->ledger->FinishCheck();
      op_->ledger->Count(Verdict::kErrorOutOfMemory);
    }
    return call;
  }

  // A look at call `number`, since `begun`, found no time for a check; nor
  // would those at the next calls.
  void PassOverNext(CheckSession& session, int64_t number, int64_t begun) {
    TimeBudget& budget = session.time_budget();
    const int64_t now = budget.Now();
    budget.ChargeLook(now - begun);
    runtime_->PassOver(
        &session, *op_,
        op_->ledger->CallsToPassOver(number, now, budget.look_period()));
  }

  const std::shared_ptr<const CheckedOp> op_;
  CheckRuntime* const runtime_;
};

}  // namespace

c10::BoxedKernel MakeCheckedKernel(std::shared_ptr<const CheckedOp> op,
                                   CheckRuntime* runtime) {
  return c10::BoxedKernel::makeFromFunctor(
      std::make_unique<CheckedKernel>(std::move(op), runtime));
}

}  // namespace flaggems
