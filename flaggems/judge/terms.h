#ifndef FLAGGEMS_JUDGE_TERMS_H_
#define FLAGGEMS_JUDGE_TERMS_H_

// n of the error budget.

#include <ATen/core/Tensor.h>

#include "flaggems/judge/kernel_call.h"

namespace flaggems {

// How many terms one element of this result is made of, at least 1: the K of a
// product, the elements that a reduction takes together, the length of a row.
// An estimate from shapes, on the high side where they do not tell. Cost: looks
// at shapes only.
double TermsOf(const KernelCall& call, const at::Tensor& result);

}  // namespace flaggems

#endif  // FLAGGEMS_JUDGE_TERMS_H_
