// Conformance of where and masked_fill.

#include "flaggems/kernels/cpu/op_masked_fill.h"
#include "flaggems/kernels/cpu/op_where.h"
#include "flaggems/kernels/testing/conformance.h"
#include "flaggems/kernels/testing/select_cases.h"

namespace flaggems {
namespace kernels {
namespace testing {
namespace {

INSTANTIATE_TEST_SUITE_P(
    Select, ConformanceTest,
    ::testing::ValuesIn(
        CasesOf({KernelOf<&cpu::where>("aten::where.self"),
                 KernelOf<&cpu::masked_fill>("aten::masked_fill.Scalar")},
                SelectOperators(), at::kCPU)),
    NameOf);

}  // namespace
}  // namespace testing
}  // namespace kernels
}  // namespace flaggems
