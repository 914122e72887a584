// Conformance of the pointwise operators of one tensor.

#include "flaggems/kernels/cpu/op_exp.h"
#include "flaggems/kernels/cpu/op_gelu.h"
#include "flaggems/kernels/cpu/op_log.h"
#include "flaggems/kernels/cpu/op_neg.h"
#include "flaggems/kernels/cpu/op_pow.h"
#include "flaggems/kernels/cpu/op_relu.h"
#include "flaggems/kernels/cpu/op_rsqrt.h"
#include "flaggems/kernels/cpu/op_sigmoid.h"
#include "flaggems/kernels/cpu/op_silu.h"
#include "flaggems/kernels/cpu/op_sqrt.h"
#include "flaggems/kernels/cpu/op_tanh.h"
#include "flaggems/kernels/testing/conformance.h"
#include "flaggems/kernels/testing/unary_cases.h"

namespace flaggems {
namespace kernels {
namespace testing {
namespace {

INSTANTIATE_TEST_SUITE_P(
    Unary, ConformanceTest,
    ::testing::ValuesIn(CasesOf(
        {KernelOf<&cpu::gelu>("aten::gelu"), KernelOf<&cpu::neg>("aten::neg"),
         KernelOf<&cpu::relu>("aten::relu"),
         KernelOf<&cpu::relu_>("aten::relu_"), KernelOf<&cpu::exp>("aten::exp"),
         KernelOf<&cpu::log>("aten::log"), KernelOf<&cpu::sqrt>("aten::sqrt"),
         KernelOf<&cpu::rsqrt>("aten::rsqrt"),
         KernelOf<&cpu::sigmoid>("aten::sigmoid"),
         KernelOf<&cpu::tanh>("aten::tanh"), KernelOf<&cpu::silu>("aten::silu"),
         KernelOf<&cpu::pow>("aten::pow.Tensor_Scalar")},
        UnaryOperators(), at::kCPU)),
    NameOf);

}  // namespace
}  // namespace testing
}  // namespace kernels
}  // namespace flaggems
