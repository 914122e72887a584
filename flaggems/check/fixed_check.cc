#include "flaggems/check/fixed_check.h"

#include <algorithm>
#include <string>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "flaggems/aten/snapshot.h"
#include "flaggems/aten/status_of_exception.h"
#include "flaggems/aten/visit_tensors.h"
#include "flaggems/check/compare_outputs.h"
#include "flaggems/core/status_macros.h"
#include "flaggems/judge/random_call.h"
#include "flaggems/judge/unread_results.h"
#include "flaggems/reference/denied_calls.h"

namespace flaggems {

absl::Status FixedCheck::Prepare(absl::Span<const c10::IValue> arguments) {
  // A golden function may write its arguments, whatever the schema says.
  if (IsOnHost(arguments) && !op_.traits.is_mutable &&
      reference_->is_operator()) {
    arguments_ = AllWithOwnLists(arguments);
    return absl::OkStatus();
  }
  FG_ASSIGN_OR_RETURN(before_, Snapshot::Take(arguments));
  arguments_ = before_->arguments();
  return absl::OkStatus();
}

std::optional<Judgement> FixedCheck::Denied() const {
  if (!reference_->is_operator()) return std::nullopt;
  if (auto reason =
          DeniedReason(op_.traits.key, op_.handle.schema(), arguments_)) {
    return Differs(Verdict::kSkipPolicy, *std::move(reason));
  }
  return std::nullopt;
}

std::vector<c10::IValue> FixedCheck::WithStatisticsAs(
    absl::Span<const c10::IValue> want,
    absl::Span<const c10::IValue> outputs) const {
  std::vector<c10::IValue> results(outputs.begin(), outputs.end());
  if (!reference_->is_operator()) return results;
  for (size_t i = 0; i < std::min(results.size(), want.size()); ++i) {
    if (!IsStatistic(op_.traits.key, static_cast<int>(i)) ||
        !results[i].isTensor() || !want[i].isTensor()) {
      continue;
    }
    const at::Tensor& got = results[i].toTensor();
    const at::Tensor& model = want[i].toTensor();
    if (got.defined() && model.defined() && got.is_floating_point() &&
        model.is_floating_point()) {
      results[i] = got.to(model.scalar_type());
    }
  }
  return results;
}

Judgement FixedCheck::Judge(absl::Span<const c10::IValue> outputs) {
  if (auto denied = Denied()) return *std::move(denied);
  if (!reference_->is_operator() &&
      DropoutOf(op_.handle.schema(), arguments_).value_or(0) > 0) {
    return Differs(Verdict::kUntrustedReference, "random: it drops elements");
  }
  want_ = reference_->Compute(AllWithOwnLists(arguments_));
  if (!want_.ok()) return ErrorOf(want_.status(), Verdict::kErrorReference);
  Judgement judgement = CompareOutputs(
      WithStatisticsAs(*want_, outputs), *want_, tolerance_,
      [&](int output) { return IsUnread(op_, arguments_, output); });
  // Nobody knows whether the kernel or the golden function is wrong then.
  if (!reference_->is_operator() &&
      (judgement.verdict == Verdict::kFailCount ||
       judgement.verdict == Verdict::kFailShape ||
       judgement.verdict == Verdict::kFailDtype)) {
    judgement.verdict = Verdict::kErrorReference;
  }
  return judgement;
}

Judgement FixedCheck::JudgeException(const std::exception_ptr& exception) {
  const absl::Status thrown = StatusOfException(exception);
  if (absl::IsResourceExhausted(thrown))
    return ErrorOf(thrown, Verdict::kErrorReference);
  if (auto denied = Denied()) return *std::move(denied);
  if (!reference_->is_operator()) {
    return Differs(Verdict::kUntrustedReference,
                   absl::StrCat("the kernel refuses a call, and a golden "
                                "function cannot say that it must not: ",
                                thrown.message()));
  }
  // Right if the reference refuses the call too.
  want_ = reference_->Compute(AllWithOwnLists(arguments_));
  if (!want_.ok() && !absl::IsInternal(want_.status()) &&
      !absl::IsUnimplemented(want_.status())) {
    return ErrorOf(want_.status(), Verdict::kErrorReference);
  }
  return Differs(want_.ok() ? Verdict::kFailThrow : Verdict::kPass,
                 std::string(thrown.message()));
}

absl::StatusOr<Recomputed> FixedCheck::Recompute() {
  if (!want_.ok()) return want_.status();
  Recomputed result;
  result.arguments = arguments_;
  result.outputs = *want_;
  if (before_) result.ranges = before_->ranges();
  return result;
}

}  // namespace flaggems
