// Calls of the reductions, sorts and selections that reduce_cases.h does not
// have, for the conformance suite on any device.

#ifndef FLAGGEMS_KERNELS_TESTING_SCAN_CASES_H_
#define FLAGGEMS_KERNELS_TESTING_SCAN_CASES_H_

#include <vector>

#include "flaggems/kernels/testing/conformance.h"

namespace flaggems {
namespace kernels {
namespace testing {

std::vector<Operator> ScanOperators();

// reduce_cases.h's and these.
std::vector<Operator> AllReduceOperators();

}  // namespace testing
}  // namespace kernels
}  // namespace flaggems

#endif  // FLAGGEMS_KERNELS_TESTING_SCAN_CASES_H_
