#ifndef FLAGGEMS_CHECK_BUDGET_CHECK_H_
#define FLAGGEMS_CHECK_BUDGET_CHECK_H_

// The check of profile `strict`: error budgets against float64.

#include <cstdint>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "flaggems/aten/snapshot.h"
#include "flaggems/check/call_check.h"
#include "flaggems/judge/kernel_call.h"
#include "flaggems/judge/row_sample.h"

namespace flaggems {

class BudgetCheck final : public CallCheck {
 public:
  // `op`, and the texts of `row`, outlive the check; `reference` is not null.
  // `memory_limit` in bytes, for all copies and references of the call; 0: no
  // limit.
  BudgetCheck(const JudgedOp& op, std::shared_ptr<const Reference> reference,
              BudgetRow row, int64_t memory_limit)
      : op_(op),
        reference_(std::move(reference)),
        row_(row),
        memory_limit_(memory_limit) {}
  ~BudgetCheck() override;

  absl::Status Prepare(absl::Span<const c10::IValue> arguments) override;
  // In place of Prepare(), of a call on a device that was made already: its
  // arguments before and after it, there or on the host, which nobody else
  // writes. With a `sample`, which outlives the check, those and the outputs
  // that Judge() is given are its rows.
  absl::Status PrepareFrom(absl::Span<const c10::IValue> before,
                           absl::Span<const c10::IValue> after,
                           const RowSample* sample);
  Judgement Judge(absl::Span<const c10::IValue> outputs) override;
  Judgement JudgeException(const std::exception_ptr& exception) override;
  absl::StatusOr<Recomputed> Recompute() override;

  const BudgetRow& row() const { return row_; }

 private:
  absl::Status PrepareRows(absl::Span<const c10::IValue> arguments);
  Judgement TooLarge() const;
  // What was kept is the call, not rows of it or nothing.
  bool IsWhole() const {
    return !too_large_ && !own_sample_ && sample_ == nullptr;
  }
  KernelCall Call(absl::Span<const c10::IValue> outputs) const;

  const JudgedOp& op_;
  const std::shared_ptr<const Reference> reference_;
  const BudgetRow row_;
  const int64_t memory_limit_;
  std::vector<c10::IValue> arguments_;
  std::optional<Snapshot> before_;
  bool on_host_ = true;
  bool too_large_ = false;  // even to be copied
  // Of a call that is too large to be copied.
  std::optional<RowSample> own_sample_;
  // Of a screen: before_ and arguments_ are rows already.
  const RowSample* sample_ = nullptr;
  // Whether no other thread was inside a checked kernel when this one began,
  // and how many had begun by then.
  bool entered_ = false;
  bool began_alone_ = false;
  int64_t begun_ = 0;
};

}  // namespace flaggems

#endif  // FLAGGEMS_CHECK_BUDGET_CHECK_H_
