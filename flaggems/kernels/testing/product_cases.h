// Calls of the matrix products that only GPU kernels have: baddbmm, and the out
// and in-place variants of all.

#ifndef FLAGGEMS_KERNELS_TESTING_PRODUCT_CASES_H_
#define FLAGGEMS_KERNELS_TESTING_PRODUCT_CASES_H_

#include <vector>

#include "flaggems/kernels/testing/conformance.h"

namespace flaggems {
namespace kernels {
namespace testing {

std::vector<Operator> ProductOperators();

}  // namespace testing
}  // namespace kernels
}  // namespace flaggems

#endif  // FLAGGEMS_KERNELS_TESTING_PRODUCT_CASES_H_
