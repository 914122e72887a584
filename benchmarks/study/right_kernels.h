#ifndef BENCHMARKS_STUDY_RIGHT_KERNELS_H_
#define BENCHMARKS_STUDY_RIGHT_KERNELS_H_

// Right kernels: what a library may choose to do otherwise than torch does.

#include "absl/types/span.h"
#include "benchmarks/study/study_case.h"

namespace flaggems::study {

absl::Span<const StudyCase> RightKernels();

}  // namespace flaggems::study

#endif  // BENCHMARKS_STUDY_RIGHT_KERNELS_H_
