// Conformance of sums and means.

#include "flaggems/kernels/cuda/op_sum.h"

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
            KernelOf<&cuda::mean>("aten::mean"),
            KernelOf<&cuda::mean_dim>("aten::mean.dim"),
            KernelOf<&cuda::mean_out>("aten::mean.out"),
            KernelOf<&cuda::sum>("aten::sum"),
            KernelOf<&cuda::sum_out>("aten::sum.IntList_out"),
            KernelOf<&cuda::sum_dim>("aten::sum.dim_IntList"),
        },
        AllReduceOperators(), at::kCUDA)),
    NameOf);

}  // namespace
}  // namespace testing
}  // namespace kernels
}  // namespace flaggems
