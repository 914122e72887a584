// Conformance of maxima and minima.

#include "flaggems/kernels/cuda/op_amax.h"

#include "flaggems/kernels/testing/conformance.h"
#include "flaggems/kernels/testing/scan_cases.h"

namespace flaggems {
namespace kernels {
namespace testing {
namespace {

INSTANTIATE_TEST_SUITE_P(Reduce, ConformanceTest,
                         ::testing::ValuesIn(CasesOf(
                             {
                                 KernelOf<&cuda::amax>("aten::amax"),
                                 KernelOf<&cuda::amax_out>("aten::amax.out"),
                                 KernelOf<&cuda::amin>("aten::amin"),
                                 KernelOf<&cuda::amin_out>("aten::amin.out"),
                                 KernelOf<&cuda::max>("aten::max"),
                                 KernelOf<&cuda::min>("aten::min"),
                             },
                             AllReduceOperators(), at::kCUDA)),
                         NameOf);

}  // namespace
}  // namespace testing
}  // namespace kernels
}  // namespace flaggems
