#include "flaggems/check/budget_check.h"

#include <pthread.h>

#include <atomic>
#include <cstdint>
#include <string>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "flaggems/aten/status_of_exception.h"
#include "flaggems/aten/visit_tensors.h"
#include "flaggems/core/status_macros.h"
#include "flaggems/judge/judge_call.h"
#include "flaggems/judge/row_sample.h"

namespace flaggems {
namespace {

// Results are computed again.
bool HasNumbers(const BudgetRow& row) {
  return row.op_class != OpClass::kUninit && row.op_class != OpClass::kMeta &&
         row.op_class != OpClass::kView && row.op_class != OpClass::kRandom;
}

// Threads inside a checked kernel, and how many ever began one. Calls nested in
// one thread count once.
std::atomic<int64_t> threads_inside{0};
std::atomic<int64_t> threads_begun{0};
thread_local int depth = 0;

// The child of a fork() has this thread only.
[[maybe_unused]] const int forget_other_threads = pthread_atfork(
    nullptr, nullptr,
    [] { threads_inside.store(depth > 0 ? 1 : 0, std::memory_order_relaxed); });

}  // namespace

BudgetCheck::~BudgetCheck() {
  if (!entered_) return;
  if (--depth == 0) threads_inside.fetch_sub(1, std::memory_order_acq_rel);
}

absl::Status BudgetCheck::Prepare(absl::Span<const c10::IValue> arguments) {
  arguments_ = AllWithOwnLists(arguments);
  on_host_ = IsOnHost(arguments);
  const int64_t margin = MarginOf(op_);
  if (memory_limit_ > 0 && BytesReached(arguments, margin) > memory_limit_) {
    return PrepareRows(arguments);
  }
  FG_ASSIGN_OR_RETURN(before_, Snapshot::Take(arguments, margin));
  entered_ = true;
  if (depth++ == 0) {
    threads_begun.fetch_add(1, std::memory_order_acq_rel);
    threads_inside.fetch_add(1, std::memory_order_acq_rel);
  }
  began_alone_ = threads_inside.load(std::memory_order_acquire) == 1;
  begun_ = threads_begun.load(std::memory_order_acquire);
  return absl::OkStatus();
}

// Of a call whose arguments alone are too much.
absl::Status BudgetCheck::PrepareRows(absl::Span<const c10::IValue> arguments) {
  static std::atomic<uint64_t> samples{0};
  return StatusOrOf([&]() -> absl::Status {
    if (HasNumbers(row_)) {
      // Others in every call, and the same in every run of one thread.
      own_sample_ =
          RowSample::Choose(op_, arguments, memory_limit_,
                            samples.fetch_add(1, std::memory_order_relaxed));
    }
    too_large_ = !own_sample_;
    if (too_large_) return absl::OkStatus();
    FG_ASSIGN_OR_RETURN(before_,
                        Snapshot::Take(own_sample_->Arguments(arguments)));
    return absl::OkStatus();
  });
}

absl::Status BudgetCheck::PrepareFrom(absl::Span<const c10::IValue> before,
                                      absl::Span<const c10::IValue> after,
                                      const RowSample* sample) {
  arguments_.assign(after.begin(), after.end());
  sample_ = sample;
  on_host_ = false;  // the call was not, wherever the copies are
  if (memory_limit_ > 0 && BytesReached(before) > memory_limit_) {
    too_large_ = true;
    return absl::OkStatus();
  }
  FG_ASSIGN_OR_RETURN(before_, Snapshot::Take(before, MarginOf(op_)));
  return absl::OkStatus();
}

KernelCall BudgetCheck::Call(absl::Span<const c10::IValue> outputs) const {
  return {
      op_,
      reference_,
      row_,
      *before_,
      arguments_,
      outputs,
      on_host_,
      began_alone_ && threads_begun.load(std::memory_order_acquire) == begun_};
}

Judgement BudgetCheck::TooLarge() const {
  return Differs(
      Verdict::kSkipSize,
      absl::StrCat("a check would take more than the ", memory_limit_ >> 20,
                   " MiB that memory_mb allows"));
}

Judgement BudgetCheck::Judge(absl::Span<const c10::IValue> outputs) {
  if (too_large_) return TooLarge();
  const KernelCall call = Call(outputs);
  if (sample_ != nullptr) return JudgeSampledRows(call, *sample_);
  if (own_sample_) return JudgeSample(call, *own_sample_, *before_);
  if (memory_limit_ > 0 && HasNumbers(row_) &&
      JudgingBytes(call) > memory_limit_) {
    // The rows differ from call to call, and are the same in every run.
    std::optional<Judgement> judgement =
        JudgeRows(call, memory_limit_, static_cast<uint64_t>(begun_));
    return judgement ? *std::move(judgement) : TooLarge();
  }
  return JudgeCall(call);
}

Judgement BudgetCheck::JudgeException(const std::exception_ptr& exception) {
  const absl::Status thrown = StatusOfException(exception);
  if (absl::IsResourceExhausted(thrown))
    return ErrorOf(thrown, Verdict::kErrorReference);
  // Whether rows of a call are refused says nothing of the call.
  if (!IsWhole()) return TooLarge();
  return JudgeThrow(Call({}), thrown);
}

absl::StatusOr<Recomputed> BudgetCheck::Recompute() {
  if (!IsWhole()) return absl::UnimplementedError(TooLarge().message);
  // Written by the reference if it writes: nobody looks at them afterwards.
  Recomputed result;
  result.arguments = AllWithOwnLists(before_->arguments());
  FG_ASSIGN_OR_RETURN(result.outputs,
                      reference_->Compute(AllWithOwnLists(result.arguments)));
  result.ranges = before_->ranges();
  return result;
}

}  // namespace flaggems
