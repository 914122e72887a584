#ifndef FLAGGEMS_JUDGE_ROW_SAMPLE_H_
#define FLAGGEMS_JUDGE_ROW_SAMPLE_H_

// Calls that are too large to be computed again as a whole: some rows of the
// kernel's full result.

#include <cstdint>
#include <optional>

#include "flaggems/judge/judgement.h"
#include "flaggems/judge/kernel_call.h"

namespace flaggems {

// Bytes that judging the call as a whole takes for copies and references,
// about.
int64_t JudgingBytes(const KernelCall& call);

// Judges rows of the call: slices of the result along one dimension that depend
// on the same slices of the arguments alone. The first, the last, and one of
// each of equal parts between them, as many as `memory_limit` bytes allow. The
// kernel has computed the whole; what it changed beside its results is looked
// for in the whole too, strides and aliases are not.
//
// nullopt: the operator has no such dimension (a table in the .cc and the tag
// pointwise say which have), or not even two rows fit. Deterministic in `seed`.
// Does not throw but for lack of memory.
std::optional<Judgement> JudgeRows(const KernelCall& call, int64_t memory_limit,
                                   uint64_t seed);

}  // namespace flaggems

#endif  // FLAGGEMS_JUDGE_ROW_SAMPLE_H_
