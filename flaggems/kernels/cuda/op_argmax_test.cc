// Conformance of positions of maxima and minima.

#include "flaggems/kernels/cuda/op_argmax.h"

#include "flaggems/kernels/testing/conformance.h"
#include "flaggems/kernels/testing/scan_cases.h"

namespace flaggems {
namespace kernels {
namespace testing {
namespace {

INSTANTIATE_TEST_SUITE_P(Reduce, ConformanceTest,
                         ::testing::ValuesIn(CasesOf(
                             {
                                 KernelOf<&cuda::argmax>("aten::argmax"),
                                 KernelOf<&cuda::argmin>("aten::argmin"),
                                 KernelOf<&cuda::max_dim>("aten::max.dim"),
                                 KernelOf<&cuda::min_dim>("aten::min.dim"),
                             },
                             AllReduceOperators(), at::kCUDA)),
                         NameOf);

}  // namespace
}  // namespace testing
}  // namespace kernels
}  // namespace flaggems
