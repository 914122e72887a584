// Conformance of add, sub, mul and div.

#include "flaggems/kernels/cpu/op_add.h"
#include "flaggems/kernels/cpu/op_div.h"
#include "flaggems/kernels/cpu/op_mul.h"
#include "flaggems/kernels/cpu/op_sub.h"
#include "flaggems/kernels/testing/binary_cases.h"
#include "flaggems/kernels/testing/conformance.h"

namespace flaggems {
namespace kernels {
namespace testing {
namespace {

INSTANTIATE_TEST_SUITE_P(
    Binary, ConformanceTest,
    ::testing::ValuesIn(CasesOf({KernelOf<&cpu::add>("aten::add.Tensor"),
                                 KernelOf<&cpu::add_>("aten::add_.Tensor"),
                                 KernelOf<&cpu::add_out>("aten::add.out"),
                                 KernelOf<&cpu::sub>("aten::sub.Tensor"),
                                 KernelOf<&cpu::mul>("aten::mul.Tensor"),
                                 KernelOf<&cpu::mul_>("aten::mul_.Tensor"),
                                 KernelOf<&cpu::div>("aten::div.Tensor")},
                                BinaryOperators(), at::kCPU)),
    NameOf);

}  // namespace
}  // namespace testing
}  // namespace kernels
}  // namespace flaggems
