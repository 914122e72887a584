#include "flaggems/core/verdict.h"

#include "absl/strings/string_view.h"

namespace flaggems {
namespace {

struct Row {
  Verdict verdict;
  Outcome outcome;
  absl::string_view reason;
  absl::string_view explanation;
};

constexpr Row kRows[] = {
    {Verdict::kPass, Outcome::kPass, "",
     "Every output element agrees with the reference."},

    {Verdict::kFailValue, Outcome::kFail, "value",
     "A finite element differs from the reference by more than the tolerance."},
    {Verdict::kFailSpecial, Outcome::kFail, "special",
     "A NaN or Inf stands where the reference has another class or sign."},
    {Verdict::kFailShape, Outcome::kFail, "shape",
     "An output has other sizes than the reference's."},
    {Verdict::kFailDtype, Outcome::kFail, "dtype",
     "An output has another element type than the reference's."},
    {Verdict::kFailCount, Outcome::kFail, "count",
     "The number of outputs differs from the reference's."},
    {Verdict::kFailLayout, Outcome::kFail, "layout",
     "An output has other strides, or another memory format, than the "
     "operator promises."},
    {Verdict::kFailArgument, Outcome::kFail, "argument",
     "An argument that the schema does not mark as written has changed, or a "
     "written one holds the wrong values."},
    {Verdict::kFailAlias, Outcome::kFail, "alias",
     "An output shares memory with an argument or another output where the "
     "schema says that it does not, or the reverse."},
    {Verdict::kFailRandom, Outcome::kFail, "random",
     "A property of a random result does not hold (range, distribution, share "
     "of elements kept)."},
    {Verdict::kFailThrow, Outcome::kFail, "throw",
     "The kernel refuses a call that the reference computes, or computes one "
     "that the reference refuses."},

    {Verdict::kSkipPolicy, Outcome::kSkip, "policy",
     "A row of the skip list names this operator, or a call is one that "
     "torch's own kernel does not survive."},
    {Verdict::kSkipThrottle, Outcome::kSkip, "throttle",
     "Enough calls of this operator were checked (max_checks), or checks had "
     "their share of the run time (time_fraction), or too many calls on a "
     "device waited to be judged on the host, or the program needed the memory "
     "that their checks held."},
    {Verdict::kSkipSize, Outcome::kSkip, "size",
     "A tensor has more elements than the limit (max_numel), or far more than "
     "memory (expand), or the check would take more than memory_mb."},
    {Verdict::kSkipReported, Outcome::kSkip, "reported",
     "A failure of this operator was reported already (log_once)."},
    {Verdict::kSkipReentrant, Outcome::kSkip, "reentrant",
     "A parallel loop inside a kernel made this call."},
    {Verdict::kSkipDisabled, Outcome::kSkip, "disabled",
     "The precision check was off."},
    {Verdict::kSkipUnsupported, Outcome::kSkip, "unsupported",
     "The arguments cannot be recomputed (sparse, meta, ...), or nothing can "
     "compute the call again: a custom operator without a golden function, a "
     "kernel that was there before this library; or the device has failed."},
    {Verdict::kSkipCapture, Outcome::kSkip, "capture",
     "A CUDA graph was being captured."},
    {Verdict::kSkipSuppressed, Outcome::kSkip, "suppressed",
     "The call failed, which is an accepted failure of the suppression file."},

    {Verdict::kErrorReference, Outcome::kError, "reference",
     "The reference failed; the call was not judged."},
    {Verdict::kErrorOutOfMemory, Outcome::kError, "out_of_memory",
     "There was no memory for the check; the call was not judged."},
    {Verdict::kErrorComparison, Outcome::kError, "comparison",
     "The outputs could not be compared; the call was not judged."},

    {Verdict::kUntrustedEmpty, Outcome::kUntrusted, "empty",
     "There was no output element to compare."},
    {Verdict::kUntrustedAllNan, Outcome::kUntrusted, "all_nan",
     "The reference is NaN everywhere, so agreement proves nothing."},
    {Verdict::kUntrustedAllZero, Outcome::kUntrusted, "all_zero",
     "Every floating input and the reference are zero, so agreement proves "
     "nothing."},
    {Verdict::kUntrustedReference, Outcome::kUntrusted, "reference",
     "The reference gave two different results, or has no accuracy to judge "
     "by."},
    {Verdict::kUntrustedAllowance, Outcome::kUntrusted, "allowance",
     "The allowance for native 16-bit kernels is as large as the result, so "
     "agreement proves nothing."},
};

constexpr bool RowsAreInEnumOrder() {
  if (sizeof(kRows) / sizeof(kRows[0]) != kNumVerdicts) return false;
  for (int i = 0; i < kNumVerdicts; ++i) {
    if (kRows[i].verdict != static_cast<Verdict>(i)) return false;
  }
  return true;
}
static_assert(RowsAreInEnumOrder(), "one row for each Verdict, in enum order");

const Row& RowOf(Verdict verdict) { return kRows[static_cast<int>(verdict)]; }

}  // namespace

Outcome OutcomeOf(Verdict verdict) { return RowOf(verdict).outcome; }

absl::string_view OutcomeName(Outcome outcome) {
  switch (outcome) {
    case Outcome::kPass:
      return "PASS";
    case Outcome::kFail:
      return "FAIL";
    case Outcome::kSkip:
      return "SKIP";
    case Outcome::kError:
      return "ERROR";
    case Outcome::kUntrusted:
      return "UNTRUSTED";
  }
  return "";
}

absl::string_view ReasonName(Verdict verdict) { return RowOf(verdict).reason; }

absl::string_view Explanation(Verdict verdict) {
  return RowOf(verdict).explanation;
}

}  // namespace flaggems
