// Conformance of gather and scatter_add on a GPU.

#include "flaggems/kernels/cuda/op_gather.h"

#include <vector>

#include "flaggems/kernels/testing/conformance.h"
#include "flaggems/kernels/testing/index_cases.h"
#include "flaggems/kernels/testing/index_write_cases.h"

namespace flaggems {
namespace kernels {
namespace testing {
namespace {

std::vector<Operator> Operators() {
  std::vector<Operator> all = IndexOperators();
  for (const Operator& op : IndexWriteOperators()) all.push_back(op);
  return all;
}

INSTANTIATE_TEST_SUITE_P(
    Gather, ConformanceTest,
    ::testing::ValuesIn(
        CasesOf({KernelOf<&cuda::gather>("aten::gather"),
                 KernelOf<&cuda::gather_out>("aten::gather.out"),
                 KernelOf<&cuda::scatter_add>("aten::scatter_add"),
                 KernelOf<&cuda::scatter_add_>("aten::scatter_add_"),
                 KernelOf<&cuda::scatter_add_out>("aten::scatter_add.out")},
                Operators(), at::kCUDA)),
    NameOf);

}  // namespace
}  // namespace testing
}  // namespace kernels
}  // namespace flaggems
