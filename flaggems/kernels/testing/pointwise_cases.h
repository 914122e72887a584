// Calls of the elementwise operators beyond those of unary_cases, binary_cases
// and select_cases, and shapes that an elementwise engine tells apart: vectors,
// rows, transposed and misaligned operands.

#ifndef FLAGGEMS_KERNELS_TESTING_POINTWISE_CASES_H_
#define FLAGGEMS_KERNELS_TESTING_POINTWISE_CASES_H_

#include <vector>

#include "flaggems/kernels/testing/conformance.h"

namespace flaggems {
namespace kernels {
namespace testing {

std::vector<Operator> ElementwiseUnaryOperators();
std::vector<Operator> ActivationOperators();
std::vector<Operator> ArithmeticOperators();
std::vector<Operator> CompareOperators();
std::vector<Operator> ClampOperators();
std::vector<Operator> PowOperators();
std::vector<Operator> FillOperators();

}  // namespace testing
}  // namespace kernels
}  // namespace flaggems

#endif  // FLAGGEMS_KERNELS_TESTING_POINTWISE_CASES_H_
