// Conformance of the reductions and cumsum.

#include "flaggems/kernels/cpu/op_amax.h"
#include "flaggems/kernels/cpu/op_argmax.h"
#include "flaggems/kernels/cpu/op_cumsum.h"
#include "flaggems/kernels/cpu/op_mean.h"
#include "flaggems/kernels/cpu/op_sum.h"
#include "flaggems/kernels/testing/conformance.h"
#include "flaggems/kernels/testing/reduce_cases.h"

namespace flaggems {
namespace kernels {
namespace testing {
namespace {

INSTANTIATE_TEST_SUITE_P(
    Reduce, ConformanceTest,
    ::testing::ValuesIn(CasesOf({KernelOf<&cpu::sum>("aten::sum.dim_IntList"),
                                 KernelOf<&cpu::mean>("aten::mean.dim"),
                                 KernelOf<&cpu::amax>("aten::amax"),
                                 KernelOf<&cpu::argmax>("aten::argmax"),
                                 KernelOf<&cpu::cumsum>("aten::cumsum")},
                                ReduceOperators(), at::kCPU)),
    NameOf);

}  // namespace
}  // namespace testing
}  // namespace kernels
}  // namespace flaggems
