// Conformance of embedding and index_select on a GPU.

#include "flaggems/kernels/cuda/op_index_select.h"

#include <ATen/ATen.h>
#include <cuda_runtime_api.h>

#include <cstdint>

#include "flaggems/kernels/testing/conformance.h"
#include "flaggems/kernels/testing/index_cases.h"
#include "flaggems/kernels/testing/index_write_cases.h"
#include "flaggems/kernels/testing/joined.h"

namespace flaggems {
namespace kernels {
namespace testing {
namespace {

INSTANTIATE_TEST_SUITE_P(
    IndexSelect, ConformanceTest,
    ::testing::ValuesIn(
        CasesOf({KernelOf<&cuda::embedding>("aten::embedding"),
                 KernelOf<&cuda::index_select>("aten::index_select"),
                 KernelOf<&cuda::index_select_out>("aten::index_select.out")},
                Joined({IndexOperators(), IndexWriteOperators()}), at::kCUDA)),
    NameOf);

bool HasMemory(size_t bytes) {
  size_t available = 0, total = 0;
  return at::hasCUDA() && cudaMemGetInfo(&available, &total) == cudaSuccess &&
         available > bytes;
}

TEST(IndexSelectLargeTest, OffsetsAndCountsBeyond31Bits) {
  if (!HasMemory(size_t{16} << 30)) GTEST_SKIP() << "needs 16 GB on a GPU";
  const at::TensorOptions options = at::TensorOptions(at::kCUDA);
  // Rows of 3 bytes move byte by byte: more than 2^31 of them.
  constexpr int64_t kRows = 720000000;
  at::Tensor self =
      at::arange(kRows, options.dtype(at::kInt)).to(at::kByte).unsqueeze(1);
  self = at::cat({self, self.add(1), self.mul(3)}, 1);
  const at::Tensor index = at::arange(kRows, options.dtype(at::kInt));
  const at::Tensor out = cuda::index_select(self, 0, index);
  EXPECT_TRUE(at::equal(out, self));
  // The last rows, by vectors.
  const at::Tensor wide = self.view({-1, 240});
  const at::Tensor last =
      at::arange(wide.size(0) - 5, wide.size(0), options.dtype(at::kLong));
  EXPECT_TRUE(at::equal(cuda::index_select(wide, 0, last),
                        wide.narrow(0, wide.size(0) - 5, 5)));
}

}  // namespace
}  // namespace testing
}  // namespace kernels
}  // namespace flaggems
