// Conformance of native_dropout on a GPU.

#include "flaggems/kernels/cuda/op_dropout.h"

#include <ATen/ATen.h>
#include <ATen/cuda/CUDAGraph.h>
#include <c10/cuda/CUDAGuard.h>
#include <c10/cuda/CUDAStream.h>

#include <cmath>
#include <tuple>

#include "flaggems/kernels/testing/conformance.h"
#include "flaggems/kernels/testing/loss_cases.h"

namespace flaggems {
namespace kernels {
namespace testing {
namespace {

INSTANTIATE_TEST_SUITE_P(
    Dropout, ConformanceTest,
    ::testing::ValuesIn(
        CasesOf({KernelOf<&cuda::native_dropout>("aten::native_dropout"),
                 KernelOf<&cuda::native_dropout_backward>(
                     "aten::native_dropout_backward")},
                DropoutOperators(), at::kCUDA)),
    NameOf);

class DropoutRandomTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!at::hasCUDA()) {
      GTEST_SKIP() << "this machine has no GPU that torch can use";
    }
  }

  static at::Tensor Ones(int64_t n, at::ScalarType dtype = at::kFloat) {
    return at::ones({n}, at::TensorOptions(at::kCUDA).dtype(dtype));
  }

  static at::Tensor MaskOf(const at::Tensor& input) {
    return std::get<1>(cuda::native_dropout(input, 0.3, true));
  }
};

TEST_F(DropoutRandomTest, SameSeedSameMask) {
  const at::Tensor x = Ones(100003);
  at::manual_seed(7);
  const at::Tensor first = MaskOf(x);
  const at::Tensor second = MaskOf(x);
  EXPECT_FALSE(at::equal(first, second));
  at::manual_seed(7);
  EXPECT_TRUE(at::equal(MaskOf(x), first));
  EXPECT_TRUE(at::equal(MaskOf(x), second));
  at::manual_seed(8);
  EXPECT_FALSE(at::equal(MaskOf(x), first));
}

TEST_F(DropoutRandomTest, MaskDoesNotDependOnDtypeOrAlignment) {
  constexpr int64_t kCount = 4099;
  at::manual_seed(7);
  const at::Tensor want = MaskOf(Ones(kCount));
  for (const at::ScalarType dtype : {at::kHalf, at::kBFloat16, at::kDouble}) {
    at::manual_seed(7);
    EXPECT_TRUE(at::equal(MaskOf(Ones(kCount, dtype)), want)) << dtype;
    at::manual_seed(7);
    const at::Tensor shifted = Ones(kCount + 1, dtype).narrow(0, 1, kCount);
    EXPECT_TRUE(at::equal(MaskOf(shifted), want)) << dtype;
  }
}

TEST_F(DropoutRandomTest, KeepsTheShareThatWasAskedFor) {
  constexpr int64_t kCount = 1 << 22;
  at::manual_seed(7);
  for (const double p : {0.1, 0.5, 0.9}) {
    const auto [out, mask] = cuda::native_dropout(Ones(kCount), p, true);
    const double kept = mask.to(at::kDouble).mean().item<double>();
    EXPECT_NEAR(kept, 1 - p, 5 * std::sqrt(p * (1 - p) / kCount)) << p;
    const at::Tensor want = mask.to(at::kFloat) / (1 - p);
    EXPECT_TRUE(at::allclose(out, want, 1e-6, 0)) << p;
    // Neighbours are independent.
    const at::Tensor d = mask.to(at::kDouble) - (1 - p);
    const double correlation =
        (d.narrow(0, 1, kCount - 1) * d.narrow(0, 0, kCount - 1))
            .mean()
            .item<double>() /
        (p * (1 - p));
    EXPECT_NEAR(correlation, 0, 5 / std::sqrt(double{kCount})) << p;
  }
}

TEST_F(DropoutRandomTest, GraphReplaysMoveTheGenerator) {
  const at::Tensor x = Ones(10007);
  MaskOf(x);
  const c10::cuda::CUDAStreamGuard guard(c10::cuda::getStreamFromPool());
  at::cuda::CUDAGraph graph;
  graph.capture_begin();
  const at::Tensor mask = MaskOf(x);
  graph.capture_end();
  at::manual_seed(7);
  graph.replay();
  const at::Tensor first = mask.clone();
  graph.replay();
  EXPECT_FALSE(at::equal(mask, first));
  at::manual_seed(7);
  graph.replay();
  EXPECT_TRUE(at::equal(mask, first));
  at::manual_seed(7);
  EXPECT_TRUE(at::equal(MaskOf(x), first));
}

}  // namespace
}  // namespace testing
}  // namespace kernels
}  // namespace flaggems
