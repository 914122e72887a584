// Conformance of index_add on a GPU.

#include "flaggems/kernels/cuda/op_index_add.h"

#include "flaggems/kernels/testing/conformance.h"
#include "flaggems/kernels/testing/index_write_cases.h"

namespace flaggems {
namespace kernels {
namespace testing {
namespace {

INSTANTIATE_TEST_SUITE_P(
    IndexAdd, ConformanceTest,
    ::testing::ValuesIn(
        CasesOf({KernelOf<&cuda::index_add>("aten::index_add"),
                 KernelOf<&cuda::index_add_>("aten::index_add_"),
                 KernelOf<&cuda::index_add_out>("aten::index_add.out")},
                IndexWriteOperators(), at::kCUDA)),
    NameOf);

}  // namespace
}  // namespace testing
}  // namespace kernels
}  // namespace flaggems
