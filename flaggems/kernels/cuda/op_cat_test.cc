// Conformance of cat on a GPU.

#include "flaggems/kernels/cuda/op_cat.h"

#include <ATen/ATen.h>
#include <cuda_runtime_api.h>

#include <cstdint>
#include <vector>

#include "flaggems/kernels/testing/conformance.h"
#include "flaggems/kernels/testing/index_cases.h"
#include "flaggems/kernels/testing/index_write_cases.h"
#include "flaggems/kernels/testing/joined.h"

namespace flaggems {
namespace kernels {
namespace testing {
namespace {

INSTANTIATE_TEST_SUITE_P(Cat, ConformanceTest,
                         ::testing::ValuesIn(CasesOf(
                             {KernelOf<&cuda::cat>("aten::cat"),
                              KernelOf<&cuda::cat_out>("aten::cat.out")},
                             Joined({IndexOperators(), IndexWriteOperators()}),
                             at::kCUDA)),
                         NameOf);

bool HasMemory(size_t bytes) {
  size_t available = 0, total = 0;
  return at::hasCUDA() && cudaMemGetInfo(&available, &total) == cudaSuccess &&
         available > bytes;
}

TEST(CatLargeTest, OffsetsAndCountsBeyond31Bits) {
  if (!HasMemory(size_t{24} << 30)) GTEST_SKIP() << "needs 24 GB on a GPU";
  const at::Tensor a =
      at::arange(1500000001, at::TensorOptions(at::kCUDA).dtype(at::kInt))
          .to(at::kByte);
  const at::Tensor b = a.narrow(0, 3, 1400000002);
  const std::vector<at::Tensor> vectors = {a, b};
  const at::Tensor out = cuda::cat(at::ITensorListRef(vectors), 0);
  EXPECT_TRUE(at::equal(out.narrow(0, 0, a.numel()), a));
  EXPECT_TRUE(at::equal(out.narrow(0, a.numel(), b.numel()), b));
  // Rows of 1 and 2 bytes.
  const at::Tensor one = a.narrow(0, 0, 720000000).unsqueeze(1);
  const at::Tensor two = a.narrow(0, 1, 1440000000).view({-1, 2});
  const std::vector<at::Tensor> columns = {two, one};
  const at::Tensor rows = cuda::cat(at::ITensorListRef(columns), 1);
  EXPECT_TRUE(at::equal(rows.narrow(1, 0, 2), two));
  EXPECT_TRUE(at::equal(rows.narrow(1, 2, 1), one));
}

}  // namespace
}  // namespace testing
}  // namespace kernels
}  // namespace flaggems
