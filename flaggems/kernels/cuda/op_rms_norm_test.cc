// Conformance of _fused_rms_norm and its backward.

#include "flaggems/kernels/cuda/op_rms_norm.h"

#include "flaggems/kernels/testing/conformance.h"
#include "flaggems/kernels/testing/norm_cases.h"

namespace flaggems {
namespace kernels {
namespace testing {
namespace {

INSTANTIATE_TEST_SUITE_P(
    RmsNorm, ConformanceTest,
    ::testing::ValuesIn(CasesOf(
        {KernelOf<&cuda::rms_norm>("aten::_fused_rms_norm"),
         KernelOf<&cuda::rms_norm_backward>("aten::_fused_rms_norm_backward")},
        NormOperators(), at::kCUDA)),
    NameOf);

}  // namespace
}  // namespace testing
}  // namespace kernels
}  // namespace flaggems
