// Conformance of variances.

#include "flaggems/kernels/cuda/op_var.h"

#include "flaggems/kernels/testing/conformance.h"
#include "flaggems/kernels/testing/scan_cases.h"

namespace flaggems {
namespace kernels {
namespace testing {
namespace {

INSTANTIATE_TEST_SUITE_P(
    Reduce, ConformanceTest,
    ::testing::ValuesIn(CasesOf(
        {
            KernelOf<&cuda::std>("aten::std.correction"),
            KernelOf<&cuda::var>("aten::var.correction"),
            KernelOf<&cuda::var_mean>("aten::var_mean.correction"),
        },
        AllReduceOperators(), at::kCUDA)),
    NameOf);

}  // namespace
}  // namespace testing
}  // namespace kernels
}  // namespace flaggems
