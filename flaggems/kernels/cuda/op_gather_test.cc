// Conformance of gather and scatter_add on a GPU.

#include "flaggems/kernels/cuda/op_gather.h"

#include "flaggems/kernels/testing/conformance.h"
#include "flaggems/kernels/testing/index_cases.h"
#include "flaggems/kernels/testing/index_write_cases.h"
#include "flaggems/kernels/testing/joined.h"

namespace flaggems {
namespace kernels {
namespace testing {
namespace {

INSTANTIATE_TEST_SUITE_P(
    Gather, ConformanceTest,
    ::testing::ValuesIn(
        CasesOf({KernelOf<&cuda::gather>("aten::gather"),
                 KernelOf<&cuda::gather_out>("aten::gather.out"),
                 KernelOf<&cuda::scatter_add>("aten::scatter_add"),
                 KernelOf<&cuda::scatter_add_>("aten::scatter_add_"),
                 KernelOf<&cuda::scatter_add_out>("aten::scatter_add.out")},
                Joined({IndexOperators(), IndexWriteOperators()}), at::kCUDA)),
    NameOf);

}  // namespace
}  // namespace testing
}  // namespace kernels
}  // namespace flaggems
