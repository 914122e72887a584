// Conformance of embedding, index_select, gather and cat.

#include "flaggems/kernels/cpu/op_cat.h"
#include "flaggems/kernels/cpu/op_embedding.h"
#include "flaggems/kernels/cpu/op_gather.h"
#include "flaggems/kernels/cpu/op_index_select.h"
#include "flaggems/kernels/testing/conformance.h"
#include "flaggems/kernels/testing/index_cases.h"

namespace flaggems {
namespace kernels {
namespace testing {
namespace {

INSTANTIATE_TEST_SUITE_P(
    Index, ConformanceTest,
    ::testing::ValuesIn(
        CasesOf({KernelOf<&cpu::embedding>("aten::embedding"),
                 KernelOf<&cpu::index_select>("aten::index_select"),
                 KernelOf<&cpu::gather>("aten::gather"),
                 KernelOf<&cpu::cat>("aten::cat")},
                IndexOperators(), at::kCPU)),
    NameOf);

}  // namespace
}  // namespace testing
}  // namespace kernels
}  // namespace flaggems
