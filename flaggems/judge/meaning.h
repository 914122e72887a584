#ifndef FLAGGEMS_JUDGE_MEANING_H_
#define FLAGGEMS_JUDGE_MEANING_H_

// Results that differ from the reference's and are right all the same.

#include <optional>
#include <string>

#include "flaggems/judge/kernel_call.h"
#include "flaggems/judge/reference_runs.h"

namespace flaggems {

// What a call of an operator with several right results (policy/meaning_table)
// did wrong, judged by what its results mean and not by the reference's choice.
struct BrokenMeaning {
  std::string message;  // empty: the results are right
};

// nullopt: the operator has one right result, or the results do not have the
// form that its meaning needs. Results have the shapes and dtypes of the
// reference's. May throw what torch throws.
std::optional<BrokenMeaning> JudgeMeaning(const KernelCall& call,
                                          ReferenceRuns& runs);

}  // namespace flaggems

#endif  // FLAGGEMS_JUDGE_MEANING_H_
