// Conformance of products.

#include "flaggems/kernels/cuda/op_prod.h"

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
            KernelOf<&cuda::prod>("aten::prod"),
            KernelOf<&cuda::prod_dim>("aten::prod.dim_int"),
        },
        AllReduceOperators(), at::kCUDA)),
    NameOf);

}  // namespace
}  // namespace testing
}  // namespace kernels
}  // namespace flaggems
