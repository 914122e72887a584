// Conformance of topk.

#include "flaggems/kernels/cuda/op_topk.h"

#include "flaggems/kernels/testing/conformance.h"
#include "flaggems/kernels/testing/scan_cases.h"

namespace flaggems {
namespace kernels {
namespace testing {
namespace {

INSTANTIATE_TEST_SUITE_P(Reduce, ConformanceTest,
                         ::testing::ValuesIn(CasesOf(
                             {
                                 KernelOf<&cuda::topk>("aten::topk"),
                             },
                             AllReduceOperators(), at::kCUDA)),
                         NameOf);

}  // namespace
}  // namespace testing
}  // namespace kernels
}  // namespace flaggems
