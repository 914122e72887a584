#ifndef FLAGGEMS_CORE_VERDICT_H_
#define FLAGGEMS_CORE_VERDICT_H_

// How a call of a checked operator ended. Every call ends in exactly one.

#include <cstdint>

#include "absl/strings/string_view.h"

namespace flaggems {

enum class Outcome : uint8_t { kPass, kFail, kSkip, kError, kUntrusted };

// An outcome and its reason. The table in verdict.cc has the printed names.
enum class Verdict : uint8_t {
  kPass,

  // FAIL: the kernel is wrong.
  kFailValue,     // a finite element differs by more than the tolerance
  kFailSpecial,   // NaN against a number, Inf against another class or sign
  kFailShape,     // sizes differ
  kFailDtype,     // element type differs
  kFailCount,     // number of outputs differs
  kFailLayout,    // strides or memory format differ
  kFailArgument,  // an argument was written that must not be, or wrongly
  kFailAlias,     // outputs share memory otherwise than the schema says
  kFailRandom,    // a property of a random result does not hold
  kFailThrow,     // one of kernel and reference refuses the call

  // SKIP: not checked, by decision.
  kSkipPolicy,       // a row of the skip list
  kSkipThrottle,     // enough calls of this operator were checked
  kSkipSize,         // a tensor has more elements than the limit
  kSkipReported,     // this operator has a reported failure already
  kSkipReentrant,    // made by a parallel loop inside a kernel
  kSkipDisabled,     // the check is off
  kSkipUnsupported,  // arguments that cannot be recomputed (sparse, meta, ...)
  kSkipCapture,      // a CUDA graph is being captured
  kSkipSuppressed,   // judged FAIL, which the suppression file accepts

  // ERROR: the check itself failed; never a pass.
  kErrorReference,    // the reference failed
  kErrorOutOfMemory,  // no memory for the check
  kErrorComparison,   // outputs that cannot be compared

  // UNTRUSTED: nothing is proved.
  kUntrustedEmpty,      // no output element to compare
  kUntrustedAllNan,     // the reference is NaN everywhere
  kUntrustedAllZero,    // floating inputs and the reference are all zero
  kUntrustedReference,  // the reference contradicts itself, or is too coarse
  kUntrustedAllowance,  // the allowance for native kernels hides all errors
};

inline constexpr int kNumVerdicts =
    static_cast<int>(Verdict::kUntrustedAllowance) + 1;

Outcome OutcomeOf(Verdict verdict);

// "PASS", "FAIL", "SKIP", "ERROR", "UNTRUSTED".
absl::string_view OutcomeName(Outcome outcome);

// The reason alone: "value", "throttle", ...; empty for kPass.
absl::string_view ReasonName(Verdict verdict);

// One sentence for people: what the verdict means.
absl::string_view Explanation(Verdict verdict);

}  // namespace flaggems

#endif  // FLAGGEMS_CORE_VERDICT_H_
