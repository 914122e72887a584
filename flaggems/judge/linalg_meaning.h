#ifndef FLAGGEMS_JUDGE_LINALG_MEANING_H_
#define FLAGGEMS_JUDGE_LINALG_MEANING_H_

// Decompositions of matrices, judged by what their factors have to be.

#include <optional>

#include "flaggems/judge/kernel_call.h"
#include "flaggems/judge/meaning.h"
#include "flaggems/judge/reference_runs.h"
#include "flaggems/policy/meaning_table.h"

namespace flaggems {

// JudgeMeaning() of kEigen, kGeneralEigen, kUnordered, kSingular and
// kOrthogonalTriangular. Requires that runs.Native() computed the call.
std::optional<BrokenMeaning> JudgeLinalgMeaning(const KernelCall& call,
                                                ReferenceRuns& runs,
                                                Meaning meaning);

}  // namespace flaggems

#endif  // FLAGGEMS_JUDGE_LINALG_MEANING_H_
