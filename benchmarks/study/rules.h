#ifndef BENCHMARKS_STUDY_RULES_H_
#define BENCHMARKS_STUDY_RULES_H_

// The decision rules that the study compares.

#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "benchmarks/study/study_call.h"
#include "flaggems/statistics/rounding_bias.h"

namespace flaggems::study {

// What a rule says of one call.
struct Said {
  bool wrong = false;
  double score = 0;     // 1 is the limit
  std::string message;  // the verdict, where, n
};

struct Rule {
  absl::string_view name;
  // May throw what torch throws.
  Said (*judge)(StudyCall& call);
};

// fixed:  profile original: |got - native| <= atol + rtol |native| with the
//         tolerances of policy/tolerance_rules.h.
// ratio:  errors against float64, divided by those of torch's kernel in the
//         same dtype, or by floors of 2^-14 (float32), 2^-11 (float16), 2^-8
//         (bfloat16) if those are larger: at most 10 for the largest relative
//         error, 1.2 for the mean one and for the root mean square error over
//         that of the reference. Elements below the floor count by their
//         largest absolute error: at most 10 times that of torch's kernel, or
//         of 2^-30 (float32) and 2^-16.
// budget: profile strict: JudgeCall(). Anything but PASS and FAIL is a result
//         that is not caught, and an alarm on a right one.
const std::vector<Rule>& Rules();

// The elements of the call's first output for RoundingBias; the arithmetic
// error is u * (a + b sqrt(n)) * C of the budget. Empty for float32.
std::vector<RoundingStep> RoundingSteps(StudyCall& call);

}  // namespace flaggems::study

#endif  // BENCHMARKS_STUDY_RULES_H_
