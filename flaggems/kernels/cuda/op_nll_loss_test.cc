// Conformance of nll_loss on a GPU.

#include "flaggems/kernels/cuda/op_nll_loss.h"

#include "flaggems/kernels/testing/conformance.h"
#include "flaggems/kernels/testing/loss_cases.h"

namespace flaggems {
namespace kernels {
namespace testing {
namespace {

INSTANTIATE_TEST_SUITE_P(
    NllLoss, ConformanceTest,
    ::testing::ValuesIn(CasesOf(
        {KernelOf<&cuda::nll_loss_forward>("aten::nll_loss_forward"),
         KernelOf<&cuda::nll_loss_backward>("aten::nll_loss_backward"),
         KernelOf<&cuda::nll_loss2d_forward>("aten::nll_loss2d_forward"),
         KernelOf<&cuda::nll_loss2d_backward>("aten::nll_loss2d_backward")},
        LossOperators(), at::kCUDA)),
    NameOf);

}  // namespace
}  // namespace testing
}  // namespace kernels
}  // namespace flaggems
