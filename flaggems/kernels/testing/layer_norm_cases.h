// Calls of native_layer_norm, for the
// conformance suite on any device.

#ifndef FLAGGEMS_KERNELS_TESTING_LAYER_NORM_CASES_H_
#define FLAGGEMS_KERNELS_TESTING_LAYER_NORM_CASES_H_

#include <vector>

#include "flaggems/kernels/testing/conformance.h"

namespace flaggems {
namespace kernels {
namespace testing {

std::vector<Operator> LayerNormOperators();

}  // namespace testing
}  // namespace kernels
}  // namespace flaggems

#endif  // FLAGGEMS_KERNELS_TESTING_LAYER_NORM_CASES_H_
