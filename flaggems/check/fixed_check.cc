#include "flaggems/check/fixed_check.h"

#include <string>
#include <utility>

#include "absl/status/statusor.h"
#include "flaggems/aten/snapshot.h"
#include "flaggems/aten/status_of_exception.h"
#include "flaggems/aten/visit_tensors.h"
#include "flaggems/check/compare_outputs.h"
#include "flaggems/core/status_macros.h"
#include "flaggems/reference/denied_calls.h"

namespace flaggems {

absl::Status FixedCheck::Prepare(absl::Span<const c10::IValue> arguments) {
  if (IsOnHost(arguments) && !op_.traits.is_mutable) {
    arguments_ = AllWithOwnLists(arguments);
    return absl::OkStatus();
  }
  FG_ASSIGN_OR_RETURN(Snapshot snapshot, Snapshot::Take(arguments));
  arguments_ = std::move(snapshot).TakeArguments();
  return absl::OkStatus();
}

std::optional<Judgement> FixedCheck::Denied() const {
  if (auto reason =
          DeniedReason(op_.traits.key, op_.handle.schema(), arguments_)) {
    return Differs(Verdict::kSkipPolicy, *std::move(reason));
  }
  return std::nullopt;
}

Judgement FixedCheck::Judge(absl::Span<const c10::IValue> outputs) {
  if (auto denied = Denied()) return *std::move(denied);
  const auto want = op_.reference->Compute(std::move(arguments_));
  if (!want.ok()) return ErrorOf(want.status(), Verdict::kErrorReference);
  return CompareOutputs(outputs, *want, tolerance_);
}

Judgement FixedCheck::JudgeException(const std::exception_ptr& exception) {
  const absl::Status thrown = StatusOfException(exception);
  if (absl::IsResourceExhausted(thrown))
    return ErrorOf(thrown, Verdict::kErrorReference);
  if (auto denied = Denied()) return *std::move(denied);
  // Right if the reference refuses the call too.
  const auto want = op_.reference->Compute(std::move(arguments_));
  if (!want.ok() && !absl::IsInternal(want.status()) &&
      !absl::IsUnimplemented(want.status())) {
    return ErrorOf(want.status(), Verdict::kErrorReference);
  }
  return Differs(want.ok() ? Verdict::kFailThrow : Verdict::kPass,
                 std::string(thrown.message()));
}

}  // namespace flaggems
