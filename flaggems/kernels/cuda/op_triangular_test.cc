// Conformance of triu and tril on a GPU.

#include "flaggems/kernels/cuda/op_triangular.h"

#include "flaggems/kernels/testing/conformance.h"
#include "flaggems/kernels/testing/loss_cases.h"

namespace flaggems {
namespace kernels {
namespace testing {
namespace {

INSTANTIATE_TEST_SUITE_P(
    Triangular, ConformanceTest,
    ::testing::ValuesIn(CasesOf({KernelOf<&cuda::triu>("aten::triu"),
                                 KernelOf<&cuda::triu_>("aten::triu_"),
                                 KernelOf<&cuda::triu_out>("aten::triu.out"),
                                 KernelOf<&cuda::tril>("aten::tril"),
                                 KernelOf<&cuda::tril_>("aten::tril_"),
                                 KernelOf<&cuda::tril_out>("aten::tril.out")},
                                TriangularOperators(), at::kCUDA)),
    NameOf);

}  // namespace
}  // namespace testing
}  // namespace kernels
}  // namespace flaggems
