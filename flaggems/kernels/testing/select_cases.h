// Calls of where and masked_fill, for the
// conformance suite on any device.

#ifndef FLAGGEMS_KERNELS_TESTING_SELECT_CASES_H_
#define FLAGGEMS_KERNELS_TESTING_SELECT_CASES_H_

#include <vector>

#include "flaggems/kernels/testing/conformance.h"

namespace flaggems {
namespace kernels {
namespace testing {

std::vector<Operator> SelectOperators();

}  // namespace testing
}  // namespace kernels
}  // namespace flaggems

#endif  // FLAGGEMS_KERNELS_TESTING_SELECT_CASES_H_
