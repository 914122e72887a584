// Calls of _softmax and _log_softmax, for the
// conformance suite on any device.

#ifndef FLAGGEMS_KERNELS_TESTING_SOFTMAX_CASES_H_
#define FLAGGEMS_KERNELS_TESTING_SOFTMAX_CASES_H_

#include <vector>

#include "flaggems/kernels/testing/conformance.h"

namespace flaggems {
namespace kernels {
namespace testing {

std::vector<Operator> SoftmaxOperators();

}  // namespace testing
}  // namespace kernels
}  // namespace flaggems

#endif  // FLAGGEMS_KERNELS_TESTING_SOFTMAX_CASES_H_
