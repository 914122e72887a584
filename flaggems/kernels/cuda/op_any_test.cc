// Conformance of any and all.

#include "flaggems/kernels/cuda/op_any.h"

#include "flaggems/kernels/testing/conformance.h"
#include "flaggems/kernels/testing/scan_cases.h"

namespace flaggems {
namespace kernels {
namespace testing {
namespace {

INSTANTIATE_TEST_SUITE_P(Reduce, ConformanceTest,
                         ::testing::ValuesIn(CasesOf(
                             {
                                 KernelOf<&cuda::all>("aten::all"),
                                 KernelOf<&cuda::all_dim>("aten::all.dim"),
                                 KernelOf<&cuda::all_dims>("aten::all.dims"),
                                 KernelOf<&cuda::any>("aten::any"),
                                 KernelOf<&cuda::any_dim>("aten::any.dim"),
                                 KernelOf<&cuda::any_dims>("aten::any.dims"),
                             },
                             AllReduceOperators(), at::kCUDA)),
                         NameOf);

}  // namespace
}  // namespace testing
}  // namespace kernels
}  // namespace flaggems
