#ifndef FLAGGEMS_CHECK_CALL_SCREEN_H_
#define FLAGGEMS_CHECK_CALL_SCREEN_H_

// Which screen takes a call on a device, if one does.

#include <ATen/core/ivalue.h>

#include <cstdint>
#include <memory>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "flaggems/check/check_session.h"
#include "flaggems/check/check_timer.h"
#include "flaggems/check/checked_op.h"
#include "flaggems/policy/budget_table.h"
#include "flaggems/screen/screen.h"

namespace flaggems {

struct CallScreen {
  // Null: the call is judged at once, in full.
  std::unique_ptr<Screen> screen;
  // It accepts what is right. Else it only copies the call to the host, to be
  // judged later.
  bool accepts = false;
};

// Before the kernel runs. Within the memory that pending calls leave, which are
// waited for where a large call needs it, or where they have most of it.
// row:       of the operator; outlives the screen
// max_numel: of the arguments
// timer:     of the call's check; stands still while others are waited for,
//            which charge for themselves
// kUnavailable:       it is not judged, as others are waiting
// kUnimplemented:     arguments that cannot be copied
// kResourceExhausted: no memory on the device
absl::StatusOr<CallScreen> TakeScreen(const CheckedOp& op,
                                      CheckRuntime& runtime,
                                      CheckSession& session,
                                      const BudgetRow& row,
                                      absl::Span<const c10::IValue> arguments,
                                      int64_t max_numel, CheckTimer& timer);

}  // namespace flaggems

#endif  // FLAGGEMS_CHECK_CALL_SCREEN_H_
