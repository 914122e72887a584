#ifndef BENCHMARKS_STUDY_WRONG_KERNELS_H_
#define BENCHMARKS_STUDY_WRONG_KERNELS_H_

// Kernels with one subtle error each.

#include "absl/types/span.h"
#include "benchmarks/study/study_case.h"

namespace flaggems::study {

absl::Span<const StudyCase> WrongKernels();

}  // namespace flaggems::study

#endif  // BENCHMARKS_STUDY_WRONG_KERNELS_H_
