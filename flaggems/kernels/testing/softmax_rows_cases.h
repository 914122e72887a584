// Calls of the softmax family beyond softmax_cases.h: sizes around the tiles of
// a GPU's kernels, out arguments, gradients, for the conformance suite on any
// device.

#ifndef FLAGGEMS_KERNELS_TESTING_SOFTMAX_ROWS_CASES_H_
#define FLAGGEMS_KERNELS_TESTING_SOFTMAX_ROWS_CASES_H_

#include <vector>

#include "flaggems/kernels/testing/conformance.h"

namespace flaggems {
namespace kernels {
namespace testing {

std::vector<Operator> SoftmaxRowsOperators();

}  // namespace testing
}  // namespace kernels
}  // namespace flaggems

#endif  // FLAGGEMS_KERNELS_TESTING_SOFTMAX_ROWS_CASES_H_
