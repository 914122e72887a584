// Conformance of _softmax and _log_softmax.

#include "flaggems/kernels/cpu/op_softmax.h"

#include "flaggems/kernels/cpu/op_log_softmax.h"
#include "flaggems/kernels/testing/conformance.h"
#include "flaggems/kernels/testing/softmax_cases.h"

namespace flaggems {
namespace kernels {
namespace testing {
namespace {

INSTANTIATE_TEST_SUITE_P(
    Softmax, ConformanceTest,
    ::testing::ValuesIn(
        CasesOf({KernelOf<&cpu::softmax>("aten::_softmax"),
                 KernelOf<&cpu::log_softmax>("aten::_log_softmax")},
                SoftmaxOperators(), at::kCPU)),
    NameOf);

}  // namespace
}  // namespace testing
}  // namespace kernels
}  // namespace flaggems
