#ifndef FLAGGEMS_CHECK_CALL_CHECK_H_
#define FLAGGEMS_CHECK_CALL_CHECK_H_

// How one admitted call is judged; a profile has one of the implementations.

#include <ATen/core/ivalue.h>

#include <exception>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "flaggems/check/substitute.h"
#include "flaggems/judge/judgement.h"

namespace flaggems {

// For one call and one thread. Nothing throws but for lack of memory. The
// caller holds a CheckScope in each function.
class CallCheck {
 public:
  virtual ~CallCheck() = default;

  // Before the kernel runs: keeps what judging needs. `arguments` outlive the
  // check, but the kernel may write them. kUnimplemented: arguments that cannot
  // be recomputed; the call is SKIP(unsupported).
  virtual absl::Status Prepare(absl::Span<const c10::IValue> arguments) = 0;

  // The kernel returned. Once, and not after JudgeException().
  virtual Judgement Judge(absl::Span<const c10::IValue> outputs) = 0;

  // The kernel threw.
  virtual Judgement JudgeException(const std::exception_ptr& exception) = 0;

  // The call as the reference computes it in the dtypes of the call. Once,
  // after one of the two said FAIL. kUnimplemented: it was not computed as a
  // whole; other errors: the reference refuses the call.
  virtual absl::StatusOr<Recomputed> Recompute() = 0;
};

}  // namespace flaggems

#endif  // FLAGGEMS_CHECK_CALL_CHECK_H_
