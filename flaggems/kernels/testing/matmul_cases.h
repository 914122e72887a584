// Calls of mm, addmm and bmm, for the
// conformance suite on any device.

#ifndef FLAGGEMS_KERNELS_TESTING_MATMUL_CASES_H_
#define FLAGGEMS_KERNELS_TESTING_MATMUL_CASES_H_

#include <vector>

#include "flaggems/kernels/testing/conformance.h"

namespace flaggems {
namespace kernels {
namespace testing {

std::vector<Operator> MatmulOperators();

}  // namespace testing
}  // namespace kernels
}  // namespace flaggems

#endif  // FLAGGEMS_KERNELS_TESTING_MATMUL_CASES_H_
