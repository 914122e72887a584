// Conformance of index and index_put on a GPU.

#include "flaggems/kernels/cuda/op_index.h"

#include "flaggems/kernels/testing/conformance.h"
#include "flaggems/kernels/testing/index_write_cases.h"

namespace flaggems {
namespace kernels {
namespace testing {
namespace {

INSTANTIATE_TEST_SUITE_P(
    Index, ConformanceTest,
    ::testing::ValuesIn(
        CasesOf({KernelOf<&cuda::index>("aten::index.Tensor"),
                 KernelOf<&cuda::index_out>("aten::index.Tensor_out"),
                 KernelOf<&cuda::index_put_impl_>("aten::_index_put_impl_"),
                 KernelOf<&cuda::index_put_>("aten::index_put_")},
                IndexWriteOperators(), at::kCUDA)),
    NameOf);

}  // namespace
}  // namespace testing
}  // namespace kernels
}  // namespace flaggems
