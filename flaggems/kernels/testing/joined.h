// Operators of several areas in one list, for families that belong to more than
// one.

#ifndef FLAGGEMS_KERNELS_TESTING_JOINED_H_
#define FLAGGEMS_KERNELS_TESTING_JOINED_H_

#include <vector>

#include "flaggems/kernels/testing/conformance.h"

namespace flaggems {
namespace kernels {
namespace testing {

// The lists one after the other.
std::vector<Operator> Joined(const std::vector<std::vector<Operator>>& lists);

}  // namespace testing
}  // namespace kernels
}  // namespace flaggems

#endif  // FLAGGEMS_KERNELS_TESTING_JOINED_H_
