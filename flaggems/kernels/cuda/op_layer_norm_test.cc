// Conformance of native_layer_norm and its backward.

#include "flaggems/kernels/cuda/op_layer_norm.h"

#include "flaggems/kernels/testing/conformance.h"
#include "flaggems/kernels/testing/joined.h"
#include "flaggems/kernels/testing/layer_norm_cases.h"
#include "flaggems/kernels/testing/norm_cases.h"

namespace flaggems {
namespace kernels {
namespace testing {
namespace {

INSTANTIATE_TEST_SUITE_P(
    LayerNorm, ConformanceTest,
    ::testing::ValuesIn(
        CasesOf({KernelOf<&cuda::layer_norm>("aten::native_layer_norm"),
                 KernelOf<&cuda::layer_norm_backward>(
                     "aten::native_layer_norm_backward")},
                Joined({LayerNormOperators(), NormOperators()}), at::kCUDA)),
    NameOf);

}  // namespace
}  // namespace testing
}  // namespace kernels
}  // namespace flaggems
