// Checks on a GPU with reference = cpu, inside a program: right kernels pass,
// wrong ones are found, and the program does not wait for either.

#include <ATen/ATen.h>
#include <ATen/cuda/Sleep.h>
#include <c10/cuda/CUDAFunctions.h>
#include <c10/cuda/CUDAGuard.h>
#include <c10/cuda/CUDAStream.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <torch/library.h>

#include <cstdint>
#include <vector>

#include "flaggems/precision.h"
#include "flaggems/testutil.h"

namespace flaggems {
namespace {

class HostJudgedChecksTest : public CudaCheckTest {
 protected:
  HostJudgedChecksTest() : CudaCheckTest(ReferencePlace::kCpu) {}
};

TEST_F(HostJudgedChecksTest, RightCallsPassWhateverTheProgramWritesLater) {
  Check({"aten::*"});
  for (const at::ScalarType type : {at::kFloat, at::kBFloat16}) {
    at::Tensor x = at::randn({64, 100}, Cuda()).to(type);
    at::mm(x, x.t()).fill_(0);
    at::softmax(x, -1).zero_();
    at::cat({x, x.narrow(0, 3, 5)}).neg_();
    x.t().contiguous();
    x.add_(1).mul_(x);
    x.view({-1}).unsqueeze(0).expand({2, 6400});
    at::sum(x, {0});
    x.fill_(3);
    // The host keeps up.
    for (const OpSummary& op : PrecisionSummary()) {
      EXPECT_EQ(op.failed, 0) << op.op;
      EXPECT_TRUE(op.errors.empty()) << op.op;
      EXPECT_EQ(op.skipped.count("throttle"), size_t{0}) << op.op;
    }
  }
  EXPECT_EQ(SummaryOf("mm").passed, 2);
}

TEST_F(HostJudgedChecksTest, AWrongResultThatIsWrittenAfterwardsIsFound) {
  torch::Library wrong(torch::Library::IMPL, "aten", c10::DispatchKey::CUDA,
                       __FILE__, __LINE__);
  wrong.impl("relu", torch::CppFunction([](const at::Tensor& x) {
               at::Tensor y = x.cpu().clamp_min(0);
               y[0] = 5;
               return y.cuda();
             }));
  Check({"aten::relu"});
  const at::Tensor x = at::ones({64}, Cuda());
  at::relu(x).fill_(1);
  x.fill_(5);
  EXPECT_EQ(SummaryOf("relu").failed, 1);
}

TEST_F(HostJudgedChecksTest, AnArgumentThatIsOverwrittenIsFound) {
  torch::Library wrong(torch::Library::IMPL, "aten", c10::DispatchKey::CUDA,
                       __FILE__, __LINE__);
  wrong.impl("relu", torch::CppFunction([](const at::Tensor& x) {
               at::Tensor y = x.cpu().clamp_min(0).cuda();
               x[7].fill_(2);
               return y;
             }));
  Check({"aten::relu"});
  at::relu(at::ones({64}, Cuda()));
  EXPECT_EQ(SummaryOf("relu").failed, 1);
  EXPECT_THAT(Log(), testing::HasSubstr("argument self was changed"));
}

TEST_F(HostJudgedChecksTest, AViewMayReachWhatItsArgumentDoesNot) {
  Check({"aten::as_strided"});
  const at::Tensor x = at::arange(8, Cuda());
  x.narrow(0, 2, 3).as_strided({2}, {1}, 6);
  EXPECT_EQ(SummaryOf("as_strided").failed, 0);
  EXPECT_GT(SummaryOf("as_strided").passed, 0);
}

TEST_F(HostJudgedChecksTest, ACheckedCallDoesNotWaitForTheDevice) {
  Check({"aten::relu", "aten::mm"});
  const at::Tensor x = at::randn({256, 256}, Cuda());
  // What a first call sets up may wait: page-locked memory, for as many calls
  // as are under way below.
  const auto work = [&] {
    for (int i = 0; i < 5; ++i) at::mm(at::relu(x), x);
  };
  at::cuda::sleep(int64_t{1} << 31);
  work();
  PrecisionSummary();
  c10::cuda::device_synchronize();
  const c10::cuda::CUDAStream stream = c10::cuda::getCurrentCUDAStream();
  at::cuda::sleep(int64_t{1} << 31);  // about a second
  work();
  EXPECT_FALSE(stream.query());
  EXPECT_EQ(SummaryOf("mm").passed, 10);
  EXPECT_EQ(SummaryOf("relu").passed, 10);
}

TEST_F(HostJudgedChecksTest, CallsOnSeveralStreamsPass) {
  Check({"aten::relu"});
  std::vector<at::Tensor> inputs;
  for (int i = 0; i < 8; ++i) inputs.push_back(at::randn({1 << 18}, Cuda()));
  c10::cuda::device_synchronize();
  for (int round = 0; round < 5; ++round) {
    for (const at::Tensor& input : inputs) {
      const c10::cuda::CUDAStreamGuard guard(c10::cuda::getStreamFromPool());
      at::relu(input);
    }
    PrecisionSummary();
  }
  EXPECT_EQ(SummaryOf("relu").passed, 40);
}

}  // namespace
}  // namespace flaggems
