// Conformance of embedding_dense_backward on a GPU.

#include "flaggems/kernels/cuda/op_embedding_backward.h"

#include "flaggems/kernels/testing/conformance.h"
#include "flaggems/kernels/testing/index_write_cases.h"

namespace flaggems {
namespace kernels {
namespace testing {
namespace {

INSTANTIATE_TEST_SUITE_P(
    EmbeddingBackward, ConformanceTest,
    ::testing::ValuesIn(CasesOf({KernelOf<&cuda::embedding_dense_backward>(
                                    "aten::embedding_dense_backward")},
                                IndexWriteOperators(), at::kCUDA)),
    NameOf);

}  // namespace
}  // namespace testing
}  // namespace kernels
}  // namespace flaggems
