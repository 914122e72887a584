#include "flaggems/check/checked_kernel.h"

#include <ATen/core/stack.h>
#include <unistd.h>

#include <algorithm>
#include <exception>
#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "flaggems/aten/op_traits_of.h"
#include "flaggems/aten/snapshot.h"
#include "flaggems/aten/status_of_exception.h"
#include "flaggems/aten/visit_tensors.h"
#include "flaggems/check/compare_outputs.h"
#include "flaggems/core/check_record.h"
#include "flaggems/registry/check_scope.h"

namespace flaggems {
namespace {

// The state of one admitted call.
class CheckedCall {
 public:
  CheckedCall(const CheckedOp& op, CheckRuntime& runtime,
              std::shared_ptr<CheckSession> session, int64_t call,
              const CallTraits& traits, absl::Span<const c10::IValue> arguments)
      : op_(op), runtime_(runtime), session_(std::move(session)) {
    record_.op = op.traits.key;
    record_.call = call;
    record_.device = DeviceOf(arguments);
    record_.inputs = DescribeInputs(arguments);
    tolerance_ = session_->policy().ToleranceFor(op.traits, traits);
  }

  // Keeps what the reference needs, before the kernel runs.
  void TakeArguments(absl::Span<const c10::IValue> arguments) {
    bool on_host = true;
    VisitTensors(arguments, [&](const at::Tensor& tensor) {
      on_host = on_host && tensor.device().is_cpu();
    });
    if (on_host && !op_.traits.is_mutable) {
      arguments_.emplace(arguments.begin(), arguments.end());
      return;
    }
    absl::StatusOr<std::vector<c10::IValue>> copies = Snapshot(arguments);
    if (copies.ok()) {
      arguments_ = *std::move(copies);
    } else {
      snapshot_status_ = copies.status();
    }
  }

  // The kernel returned.
  void Judge(absl::Span<const c10::IValue> outputs) {
    record_.output = DescribeOutputs(outputs);
    if (const auto skip = session_->policy().AdmitOutputs(MaxNumel(outputs))) {
      Skip(*skip);
      return;
    }
    if (absl::IsUnimplemented(snapshot_status_)) {
      Skip(Verdict::kSkipUnsupported);
      return;
    }
    const auto want = Reference();
    if (!want.ok()) {
      ConcludeError(want.status());
      return;
    }
    OutputComparison result = CompareOutputs(outputs, *want, tolerance_);
    record_.verdict = result.verdict;
    record_.max_abs_diff = result.max_abs_diff;
    record_.max_rel_diff = result.max_rel_diff;
    record_.score = result.score;
    record_.output_index = result.output_index;
    record_.worst_index = std::move(result.worst_index);
    record_.got = std::move(result.got);
    record_.want = std::move(result.want);
    record_.message = std::move(result.message);
    Conclude();
  }

  // Judging threw; ends the call if it has not ended.
  void GiveUp() noexcept {
    if (ended_) return;
    ended_ = true;
    runtime_.Conclude(session_.get(), op_, Verdict::kErrorOutOfMemory);
  }

  // The kernel threw: right if the reference refuses the call too.
  void JudgeException(const std::exception_ptr& exception) {
    const absl::Status thrown = StatusOfException(exception);
    if (absl::IsResourceExhausted(thrown)) {
      ConcludeError(thrown);
      return;
    }
    const auto want = Reference();
    if (!want.ok() && !absl::IsInternal(want.status()) &&
        !absl::IsUnimplemented(want.status())) {
      ConcludeError(want.status());
      return;
    }
    record_.verdict = want.ok() ? Verdict::kFailThrow : Verdict::kPass;
    record_.max_abs_diff = std::numeric_limits<double>::quiet_NaN();
    record_.max_rel_diff = record_.max_abs_diff;
    record_.message = std::string(thrown.message());
    Conclude();
  }

 private:
  absl::StatusOr<std::vector<c10::IValue>> Reference() {
    if (!snapshot_status_.ok()) return snapshot_status_;
    if (!arguments_) return absl::ResourceExhaustedError("out of host memory");
    return op_.reference->Compute(*std::move(arguments_));
  }

  void Skip(Verdict verdict) {
    ended_ = true;
    runtime_.Abandon(session_.get(), op_, verdict);
  }

  void ConcludeError(const absl::Status& status) {
    record_.verdict = absl::IsResourceExhausted(status)
                          ? Verdict::kErrorOutOfMemory
                          : Verdict::kErrorReference;
    record_.message = std::string(status.message());
    Conclude();
  }

  void Conclude() {
    if (OutcomeOf(record_.verdict) == Outcome::kError) {
      session_->NoteError(record_.op, record_.message);
    }
    ended_ = true;
    if (runtime_.Conclude(session_.get(), op_, record_.verdict)) Log();
  }

  void Log() {
    record_.timestamp = session_->Now();
    record_.rtol = tolerance_.rtol;
    record_.atol = tolerance_.atol;
    record_.profile = session_->profile();
    record_.reference = op_.reference->name();
    record_.rank = session_->rank();
    record_.pid = getpid();
    record_.thread = static_cast<uint64_t>(gettid());
    session_->Log(record_);
  }

  const CheckedOp& op_;
  CheckRuntime& runtime_;
  const std::shared_ptr<CheckSession> session_;
  Tolerance tolerance_;
  CheckRecord record_;
  std::optional<std::vector<c10::IValue>> arguments_;
  absl::Status snapshot_status_;
  bool ended_ = false;  // its verdict is counted
};

class CheckedKernel final : public c10::OperatorKernel {
 public:
  CheckedKernel(std::shared_ptr<const CheckedOp> op, CheckRuntime* runtime)
      : op_(std::move(op)), runtime_(runtime) {}

  void operator()(const c10::OperatorHandle& handle, c10::DispatchKeySet keys,
                  torch::jit::Stack* stack) {
    if (CheckScope::active()) {
      op_->ledger->Count(Verdict::kSkipReentrant);
      if (op_->native != nullptr) {
        op_->native->callBoxed(handle, keys, stack);
      } else {
        op_->kernel.callBoxed(handle, keys, stack);
      }
      return;
    }
    std::optional<CheckedCall> call = Begin(handle, *stack);
    if (!call) {
      op_->kernel.callBoxed(handle, keys, stack);
      return;
    }
    const size_t below = stack->size() - handle.schema().arguments().size();
    try {
      op_->kernel.callBoxed(handle, keys, stack);
    } catch (...) {
      const std::exception_ptr exception = std::current_exception();
      if (!Guarded([&] { call->JudgeException(exception); })) call->GiveUp();
      throw;
    }
    if (!Guarded(
            [&] { call->Judge(absl::MakeConstSpan(*stack).subspan(below)); })) {
      call->GiveUp();
    }
  }

 private:
  // Decides on the call; nullopt: it is counted, and only to be run.
  std::optional<CheckedCall> Begin(const c10::OperatorHandle& handle,
                                   const torch::jit::Stack& stack) {
    std::optional<CheckedCall> call;
    bool admitted = false;
    Guarded([&] {
      const std::shared_ptr<CheckSession> session = runtime_->session();
      if (session == nullptr) {
        op_->ledger->Count(Verdict::kSkipDisabled);
        return;
      }
      const int64_t number = op_->ledger->NextCall();
      const absl::Span<const c10::IValue> arguments =
          absl::MakeConstSpan(stack).last(handle.schema().arguments().size());
      CallTraits traits = CallTraitsOf(arguments);
      traits.supported = traits.supported && op_->reference != nullptr;
      if (const auto skip = session->policy().Admit(*op_->ledger, traits)) {
        op_->ledger->Count(*skip);
        runtime_->CloseIfSettled(session.get(), *op_);
        return;
      }
      admitted = true;
      call.emplace(*op_, *runtime_, session, number, traits, arguments);
      call->TakeArguments(arguments);
    });
    if (admitted && !call) {
      // Out of memory while the call was described.
      op_->ledger->FinishCheck();
      op_->ledger->Count(Verdict::kErrorOutOfMemory);
    }
    return call;
  }

  // Runs a part of the check as the checker; nothing it throws reaches the
  // user's program. False if it threw: parts turn errors into verdicts
  // themselves, so what is left is a failed allocation of the bookkeeping.
  template <typename Part>
  static bool Guarded(Part&& part) noexcept {
    try {
      const CheckScope scope;
      part();
      return true;
    } catch (...) {
      return false;
    }
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
