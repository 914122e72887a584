// Conformance of native_group_norm.

#include "flaggems/kernels/cuda/op_group_norm.h"

#include "flaggems/kernels/testing/conformance.h"
#include "flaggems/kernels/testing/norm_cases.h"

namespace flaggems {
namespace kernels {
namespace testing {
namespace {

INSTANTIATE_TEST_SUITE_P(
    GroupNorm, ConformanceTest,
    ::testing::ValuesIn(
        CasesOf({KernelOf<&cuda::group_norm>("aten::native_group_norm")},
                NormOperators(), at::kCUDA)),
    NameOf);

}  // namespace
}  // namespace testing
}  // namespace kernels
}  // namespace flaggems
