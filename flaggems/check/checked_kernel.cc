#include "flaggems/check/checked_kernel.h"

#include <ATen/Parallel.h>
#include <ATen/core/stack.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "flaggems/aten/dtype_of.h"
#include "flaggems/aten/guarded_allocator.h"
#include "flaggems/aten/op_traits_of.h"
#include "flaggems/aten/status_of_exception.h"
#include "flaggems/aten/stream_capture.h"
#include "flaggems/aten/visit_tensors.h"
#include "flaggems/check/budget_check.h"
#include "flaggems/check/call_check.h"
#include "flaggems/check/fixed_check.h"
#include "flaggems/check/substitute.h"
#include "flaggems/core/check_record.h"
#include "flaggems/core/dtype.h"
#include "flaggems/judge/flat_values.h"
#include "flaggems/policy/op_summary.h"
#include "flaggems/registry/check_scope.h"

namespace flaggems {
namespace {

// The state of one admitted call.
class CheckedCall {
 public:
  CheckedCall(const CheckedOp& op, CheckRuntime& runtime,
              std::shared_ptr<CheckSession> session,
              std::shared_ptr<const Reference> reference, int64_t call,
              const CallTraits& traits, absl::Span<const c10::IValue> arguments)
      : op_(op),
        runtime_(runtime),
        session_(std::move(session)),
        reference_(std::move(reference)),
        signature_(traits.signature),
        check_(MakeCheck(traits)) {
    record_.op = op.judged.traits.key;
    record_.call = call;
    record_.device = DeviceOf(arguments);
    record_.inputs = DescribeInputs(arguments);
    if (session_->on_failure() == OnFailure::kSubstitute) {
      arguments_ = AllWithOwnLists(arguments);
    }
    const std::vector<bool>& writable = op.judged.writable;
    for (size_t i = 0; i < writable.size(); ++i) {
      if (writable[i]) written_.push_back(arguments[i]);
    }
  }

  // Keeps what the check needs, before the kernel runs.
  void TakeArguments(absl::Span<const c10::IValue> arguments) {
    const CaptureTolerance tolerance(on_device());
    prepared_ = check_->Prepare(arguments);
  }

  bool poison() const { return session_->poison(); }

  // The kernel returned.
  void Judge(absl::Span<const c10::IValue> outputs) {
    const CaptureTolerance tolerance(on_device());
    bool comparable = true;
    bool vast = false;
    VisitTensors(outputs, [&](const at::Tensor& tensor) {
      comparable = comparable && IsComparable(tensor);
      vast = vast || IsVast(tensor);
    });
    if (!comparable || vast) {
      Skip(vast ? Verdict::kSkipSize : Verdict::kSkipUnsupported);
      return;
    }
    record_.output = DescribeOutputs(outputs);
    if (const auto skip = session_->policy().AdmitOutputs(MaxNumel(outputs))) {
      Skip(*skip);
      return;
    }
    if (absl::IsUnimplemented(prepared_)) {
      SkipUnsupported();
      return;
    }
    Judgement judgement = prepared_.ok()
                              ? check_->Judge(outputs)
                              : ErrorOf(prepared_, Verdict::kErrorReference);
    const std::string dtype = OutcomeOf(judgement.verdict) == Outcome::kFail
                                  ? DtypeName(judgement.output_index, outputs)
                                  : "";
    Conclude(std::move(judgement), dtype);
  }

  // The kernel threw.
  void JudgeException(const std::exception_ptr& exception) {
    const CaptureTolerance tolerance(on_device());
    if (absl::IsUnimplemented(prepared_)) {
      SkipUnsupported();
      return;
    }
    if (absl::IsCancelled(StatusOfException(exception))) {
      Conclude(
          Differs(Verdict::kUntrustedReference, "the call was interrupted"),
          /*dtype=*/"");
      return;
    }
    Conclude(prepared_.ok() ? check_->JudgeException(exception)
                            : ErrorOf(prepared_, Verdict::kErrorReference),
             /*dtype=*/"");
  }

  // What the caller is to get in place of what the kernel gave it; nullopt: the
  // call did not fail, or nothing is to replace it, or nothing can.
  std::optional<std::vector<c10::IValue>> Substitutes() {
    if (session_->on_failure() != OnFailure::kSubstitute || !ended_ ||
        OutcomeOf(record_.verdict) != Outcome::kFail) {
      return std::nullopt;
    }
    const CaptureTolerance tolerance(on_device());
    std::vector<c10::IValue> outputs;
    const absl::StatusOr<Recomputed> reference = check_->Recompute();
    const absl::Status status =
        reference.ok()
            ? Substitute(op_.judged, *reference, arguments_, &outputs)
            : reference.status();
    if (status.ok()) return outputs;
    session_->NoteError(record_.op, absl::StrCat("a wrong result could not be "
                                                 "substituted: ",
                                                 status.message()));
    return std::nullopt;
  }

  // Judging threw; ends the call if it has not ended.
  void GiveUp() noexcept {
    if (ended_) return;
    ended_ = true;
    runtime_.Conclude(session_.get(), op_, Verdict::kErrorOutOfMemory,
                      signature_);
  }

 private:
  bool on_device() const { return record_.device != "cpu"; }

  std::unique_ptr<CallCheck> MakeCheck(const CallTraits& traits) {
    if (session_->tolerance_model() == ToleranceModel::kBudget) {
      return std::make_unique<BudgetCheck>(
          op_.judged, reference_,
          session_->policy().BudgetFor(op_.judged.traits.key),
          session_->memory_limit());
    }
    const Tolerance tolerance =
        session_->policy().ToleranceFor(op_.judged.traits, traits);
    record_.rtol = tolerance.rtol;
    record_.atol = tolerance.atol;
    return std::make_unique<FixedCheck>(op_.judged, reference_, tolerance);
  }

  void Skip(Verdict verdict) {
    record_.verdict = verdict;
    ended_ = true;
    if (runtime_.Abandon(session_.get(), op_, verdict, signature_)) Log();
  }

  void SkipUnsupported() {
    record_.message = std::string(prepared_.message());
    Skip(Verdict::kSkipUnsupported);
  }

  // TorchName() of a result, counted as Judgement::output_index is; empty if it
  // has none.
  std::string DtypeName(int output_index,
                        absl::Span<const c10::IValue> outputs) const {
    std::vector<FlatValue> values = FlattenValues(outputs);
    for (FlatValue& value : FlattenValues(written_)) {
      values.push_back(std::move(value));
    }
    for (const FlatValue& value : values) {
      if (value.list_size >= 0 || output_index-- > 0) continue;
      if (IsNothing(value.value) || !IsNumberOrTensor(value.value)) return "";
      return std::string(
          TorchName(DTypeOf(AsTensor(value.value).scalar_type())));
    }
    return "";
  }

  // `dtype` is that of the failing output, empty without one.
  void Conclude(Judgement judgement, absl::string_view dtype) {
    if (OutcomeOf(judgement.verdict) == Outcome::kFail &&
        session_->policy().Suppressed(op_.judged.traits.key, dtype,
                                      judgement.verdict)) {
      judgement.verdict = Verdict::kSkipSuppressed;
    }
    if (judgement.verdict == Verdict::kPass) AddRounding(judgement);
    record_.verdict = judgement.verdict;
    record_.max_abs_diff = judgement.max_abs_diff;
    record_.max_rel_diff = judgement.max_rel_diff;
    record_.score = judgement.score;
    record_.output_index = judgement.output_index;
    record_.worst_index = std::move(judgement.worst_index);
    record_.got = std::move(judgement.got);
    record_.want = std::move(judgement.want);
    record_.message = std::move(judgement.message);
    if (judgement.allowed) record_.atol = *judgement.allowed;
    const bool suppressed = record_.verdict == Verdict::kSkipSuppressed;
    if (OutcomeOf(record_.verdict) == Outcome::kSkip && !suppressed) {
      Skip(record_.verdict);
      return;
    }
    if (judgement.score && !suppressed) {
      op_.ledger->NoteScore(*judgement.score);
    }
    if (OutcomeOf(record_.verdict) == Outcome::kError) {
      session_->NoteError(record_.op, record_.message);
    }
    ended_ = true;
    if (runtime_.Conclude(session_.get(), op_, record_.verdict, signature_)) {
      Log();
    }
    if (session_->on_failure() == OnFailure::kAbort &&
        OutcomeOf(record_.verdict) == Outcome::kFail) {
      Abort();
    }
  }

  // As the user asked: the process stops where a kernel is wrong.
  [[noreturn]] void Abort() {
    session_->Flush().IgnoreError();
    const std::string text = absl::StrCat(
        FormatSummaryTable(Summarize(runtime_.ledgers())),
        "flaggems: ", record_.op.ToString(), " is wrong in call ", record_.call,
        " (", ReasonName(record_.verdict), "), and on_failure is abort\n");
    std::fwrite(text.data(), 1, text.size(), stderr);
    std::abort();
  }

  // Turns the judgement of the call with which a bias over all calls becomes
  // significant into a failure.
  void AddRounding(Judgement& judgement) {
    if (judgement.rounding.empty()) return;
    op_.bias->Add(judgement.rounding);
    const RoundingBias::Summary summary = op_.bias->summary();
    if (!summary.significant || !op_.bias->MarkReported()) return;
    judgement.verdict = Verdict::kFailValue;
    judgement.message = absl::StrFormat(
        "biased over %d calls: of %d different results %d were rounded up and "
        "%d down where the reference was not, at most %.1f could be; %.3f ulp "
        "on average",
        record_.call, summary.counted, summary.ups, summary.downs,
        summary.expected_flips, summary.mean_ulps);
  }

  void Log() {
    record_.timestamp = session_->Now();
    record_.profile = session_->profile();
    record_.reference = reference_->name();
    record_.rank = session_->rank();
    record_.pid = getpid();
    record_.thread = static_cast<uint64_t>(gettid());
    session_->Log(record_);
  }

  const CheckedOp& op_;
  CheckRuntime& runtime_;
  const std::shared_ptr<CheckSession> session_;
  const std::shared_ptr<const Reference> reference_;
  const uint64_t signature_;
  CheckRecord record_;
  std::vector<c10::IValue> written_;    // the arguments that may be
  std::vector<c10::IValue> arguments_;  // all, if results are substituted
  std::unique_ptr<CallCheck> check_;
  absl::Status prepared_;
  bool ended_ = false;  // its verdict is counted
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
    std::optional<CheckedCall> call = Begin(handle, *stack);
    if (!call) {
      op_->kernel.callBoxed(handle, keys, stack);
      return;
    }
    const size_t below = stack->size() - handle.schema().arguments().size();
    try {
      std::optional<GuardedAllocation> guarded;
      if (call->poison()) guarded.emplace();
      op_->kernel.callBoxed(handle, keys, stack);
    } catch (...) {
      const std::exception_ptr exception = std::current_exception();
      if (!Guarded([&] { call->JudgeException(exception); })) call->GiveUp();
      if (!Replace(*call, stack, below)) throw;
      return;
    }
    if (!Guarded(
            [&] { call->Judge(absl::MakeConstSpan(*stack).subspan(below)); })) {
      call->GiveUp();
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
      std::shared_ptr<const Reference> reference = op_->judged.reference.Get();
      if (reference == nullptr) {
        traits.supported = false;
        session->NoteUnchecked(op_->judged.traits.key,
                               op_->judged.reference.why_none());
      }
      if (const auto skip = session->policy().Admit(*op_->ledger, traits)) {
        op_->ledger->Count(*skip);
        runtime_->CloseIfSettled(session.get(), *op_);
        return;
      }
      admitted = true;
      call.emplace(*op_, *runtime_, session, std::move(reference), number,
                   traits, arguments);
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
