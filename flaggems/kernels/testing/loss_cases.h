// Calls of nll_loss, native_dropout, triu and tril, for the conformance suite
// on any device.

#ifndef FLAGGEMS_KERNELS_TESTING_LOSS_CASES_H_
#define FLAGGEMS_KERNELS_TESTING_LOSS_CASES_H_

#include <vector>

#include "flaggems/kernels/testing/conformance.h"

namespace flaggems {
namespace kernels {
namespace testing {

std::vector<Operator> LossOperators();
// Where no element is dropped by chance.
std::vector<Operator> DropoutOperators();
std::vector<Operator> TriangularOperators();

}  // namespace testing
}  // namespace kernels
}  // namespace flaggems

#endif  // FLAGGEMS_KERNELS_TESTING_LOSS_CASES_H_
