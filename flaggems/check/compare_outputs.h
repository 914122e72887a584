#ifndef FLAGGEMS_CHECK_COMPARE_OUTPUTS_H_
#define FLAGGEMS_CHECK_COMPARE_OUTPUTS_H_

// The verdict on all results of one call.

#include <ATen/core/ivalue.h>

#include <functional>

#include "absl/types/span.h"
#include "flaggems/comparator/compare.h"
#include "flaggems/judge/judgement.h"

namespace flaggems {

// CompareOutputs()
//
// Results are matched by position, lists element by element. Tensors must have
// the same dtype and sizes and agree by `tolerance` (see Compare()); numbers
// must agree likewise; None and an undefined tensor only agree with
// themselves. A tensor on a device is copied to the CPU.
//
// The verdict is the worst over the outputs: any FAIL beats PASS (the first
// of count, dtype, shape, special, value), ERROR if an output could not be
// compared and none failed; UNTRUSTED only if no output proves anything.
//
// Results for which `is_unread` is true are not looked at.
//
// Does not throw. The caller holds a CheckScope.
Judgement CompareOutputs(absl::Span<const c10::IValue> got,
                         absl::Span<const c10::IValue> want,
                         const Tolerance& tolerance,
                         const std::function<bool(int output)>& is_unread);

}  // namespace flaggems

#endif  // FLAGGEMS_CHECK_COMPARE_OUTPUTS_H_
