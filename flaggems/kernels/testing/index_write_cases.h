// Calls of the indexing operators that index_cases.h leaves out: into given
// tensors, by several tensors, with sums; and sizes around the vectors and
// tables of the CUDA kernels.

#ifndef FLAGGEMS_KERNELS_TESTING_INDEX_WRITE_CASES_H_
#define FLAGGEMS_KERNELS_TESTING_INDEX_WRITE_CASES_H_

#include <vector>

#include "flaggems/kernels/testing/conformance.h"

namespace flaggems {
namespace kernels {
namespace testing {

std::vector<Operator> IndexWriteOperators();

}  // namespace testing
}  // namespace kernels
}  // namespace flaggems

#endif  // FLAGGEMS_KERNELS_TESTING_INDEX_WRITE_CASES_H_
