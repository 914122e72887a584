// Conformance of mm, addmm and bmm.

#include "flaggems/kernels/cpu/op_addmm.h"
#include "flaggems/kernels/cpu/op_bmm.h"
#include "flaggems/kernels/cpu/op_mm.h"
#include "flaggems/kernels/testing/conformance.h"
#include "flaggems/kernels/testing/matmul_cases.h"

namespace flaggems {
namespace kernels {
namespace testing {
namespace {

INSTANTIATE_TEST_SUITE_P(
    Matmul, ConformanceTest,
    ::testing::ValuesIn(CasesOf({KernelOf<&cpu::mm>("aten::mm"),
                                 KernelOf<&cpu::addmm>("aten::addmm"),
                                 KernelOf<&cpu::bmm>("aten::bmm")},
                                MatmulOperators(), at::kCPU)),
    NameOf);

}  // namespace
}  // namespace testing
}  // namespace kernels
}  // namespace flaggems
