// Calls of add, sub, mul and div, for the
// conformance suite on any device.

#ifndef FLAGGEMS_KERNELS_TESTING_BINARY_CASES_H_
#define FLAGGEMS_KERNELS_TESTING_BINARY_CASES_H_

#include <vector>

#include "flaggems/kernels/testing/conformance.h"

namespace flaggems {
namespace kernels {
namespace testing {

std::vector<Operator> BinaryOperators();

}  // namespace testing
}  // namespace kernels
}  // namespace flaggems

#endif  // FLAGGEMS_KERNELS_TESTING_BINARY_CASES_H_
