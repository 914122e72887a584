#ifndef FLAGGEMS_CHECK_FIXED_CHECK_H_
#define FLAGGEMS_CHECK_FIXED_CHECK_H_

// The check of profile `original`: fixed tolerances against the native kernel.

#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "flaggems/aten/snapshot.h"
#include "flaggems/check/call_check.h"
#include "flaggems/comparator/tolerance.h"
#include "flaggems/judge/kernel_call.h"

namespace flaggems {

class FixedCheck final : public CallCheck {
 public:
  // `op` outlives the check; `reference` is not null.
  FixedCheck(const JudgedOp& op, std::shared_ptr<const Reference> reference,
             const Tolerance& tolerance)
      : op_(op), reference_(std::move(reference)), tolerance_(tolerance) {}

  absl::Status Prepare(absl::Span<const c10::IValue> arguments) override;
  Judgement Judge(absl::Span<const c10::IValue> outputs) override;
  Judgement JudgeException(const std::exception_ptr& exception) override;
  absl::StatusOr<Recomputed> Recompute() override;

 private:
  // No reference may compute the call; its arguments are on the CPU.
  std::optional<Judgement> Denied() const;

  // `outputs` with statistics of norms, whose dtype differs by device, in the
  // dtype that the reference has them in.
  std::vector<c10::IValue> WithStatisticsAs(
      absl::Span<const c10::IValue> want,
      absl::Span<const c10::IValue> outputs) const;

  const JudgedOp& op_;
  const std::shared_ptr<const Reference> reference_;
  const Tolerance tolerance_;
  // Copies, or the call's own if the reference does not write them.
  std::vector<c10::IValue> arguments_;
  std::optional<Snapshot> before_;
  absl::StatusOr<std::vector<c10::IValue>> want_;
};

}  // namespace flaggems

#endif  // FLAGGEMS_CHECK_FIXED_CHECK_H_
