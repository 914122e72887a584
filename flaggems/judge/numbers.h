#ifndef FLAGGEMS_JUDGE_NUMBERS_H_
#define FLAGGEMS_JUDGE_NUMBERS_H_

// Whether rounding explains the difference of one result from the reference.

#include <ATen/core/Tensor.h>

#include <cstddef>

#include "flaggems/judge/judgement.h"
#include "flaggems/judge/kernel_call.h"
#include "flaggems/judge/reference_runs.h"

namespace flaggems {

// Judges value `index` of the call (ValuesOf) by its error budget
// (docs/tolerance.md), cheap steps first: what is right within the rounding of
// the output and two roundings of the arithmetic needs nothing but the
// reference; a condition is computed if an element needs it; on a failure
// Python numbers are tried in their other roundings, and the reference is
// computed once more with another number of threads.
//
// got is on the CPU, strided, without conjugate and negative bits, and has the
// shape of the reference. Verdicts: PASS, FAIL value or special, UNTRUSTED
// empty, all_nan, reference or allowance, ERROR. Does not throw.
Judgement JudgeNumbers(const KernelCall& call, ReferenceRuns& runs,
                       size_t index, const at::Tensor& got);

}  // namespace flaggems

#endif  // FLAGGEMS_JUDGE_NUMBERS_H_
