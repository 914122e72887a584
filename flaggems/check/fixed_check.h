#ifndef FLAGGEMS_CHECK_FIXED_CHECK_H_
#define FLAGGEMS_CHECK_FIXED_CHECK_H_

// The check of profile `original`: fixed tolerances against the native kernel.

#include <memory>
#include <optional>
#include <vector>

#include "flaggems/check/call_check.h"
#include "flaggems/comparator/tolerance.h"
#include "flaggems/reference/reference.h"

namespace flaggems {

class FixedCheck final : public CallCheck {
 public:
  // `writes`: the operator may write an argument.
  FixedCheck(const Reference& reference, const Tolerance& tolerance,
             bool writes)
      : reference_(reference), tolerance_(tolerance), writes_(writes) {}

  absl::Status Prepare(absl::Span<const c10::IValue> arguments) override;
  Judgement Judge(absl::Span<const c10::IValue> outputs) override;
  Judgement JudgeException(const std::exception_ptr& exception) override;

 private:
  const Reference& reference_;
  const Tolerance tolerance_;
  const bool writes_;
  std::vector<c10::IValue> arguments_;
};

}  // namespace flaggems

#endif  // FLAGGEMS_CHECK_FIXED_CHECK_H_
