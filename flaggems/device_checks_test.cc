// Checks on a GPU with reference = device, inside a program: what screens
// accept, what they hand on, and that they do not disturb it.

#include <ATen/ATen.h>
#include <ATen/cuda/CUDAGraph.h>
#include <ATen/cuda/Sleep.h>
#include <c10/cuda/CUDACachingAllocator.h>
#include <c10/cuda/CUDAFunctions.h>
#include <c10/cuda/CUDAGuard.h>
#include <c10/cuda/CUDAStream.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <torch/library.h>

#include <functional>
#include <map>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include "flaggems/precision.h"
#include "flaggems/testutil.h"

namespace flaggems {
namespace {

using testing::HasSubstr;

class DeviceChecksTest : public CudaCheckTest {
 protected:
  DeviceChecksTest() : CudaCheckTest(ReferencePlace::kDevice) {}
};

// ---- right kernels --------------------------------------------------------

struct RightCase {
  std::string name;
  std::function<void(at::ScalarType)> call;
};

at::Tensor Random(at::IntArrayRef sizes, at::ScalarType type) {
  return at::randn(sizes, Cuda()).to(type);
}

std::vector<RightCase> RightCases() {
  using T = at::ScalarType;
  return {
      {"add",
       [](T t) {
         at::add(Random({33, 65}, t), Random({65}, t));
       }},
      {"add_scalar", [](T t) { at::add(Random({7}, t), 0.1, 3); }},
      {"mul",
       [](T t) {
         at::mul(Random({1024, 1001}, t), 0.3);
       }},
      {"div", [](T t) { at::div(Random({1000}, t), Random({1000}, t)); }},
      {"relu",
       [](T t) {
         at::relu(Random({3, 5}, t));
       }},
      {"silu",
       [](T t) {
         at::silu(Random({1024, 1024}, t));
       }},
      {"gelu",
       [](T t) {
         at::gelu(Random({1024, 1024}, t));
       }},
      {"exp",
       [](T t) {
         at::exp(Random({1023, 1023}, t));
       }},
      {"rsqrt", [](T t) { at::rsqrt(Random({1023}, t).abs() + 1); }},
      {"pow", [](T t) { at::pow(Random({1023}, t), 2); }},
      {"softmax",
       [](T t) {
         at::softmax(Random({1024, 1000}, t), -1);
       }},
      {"log_softmax",
       [](T t) {
         at::log_softmax(Random({65, 1000}, t), 0);
       }},
      {"mm",
       [](T t) {
         at::mm(Random({512, 700}, t), Random({700, 300}, t));
       }},
      {"addmm",
       [](T t) {
         at::addmm(Random({300}, t), Random({512, 700}, t),
                   Random({700, 300}, t));
       }},
      {"bmm",
       [](T t) {
         at::bmm(Random({8, 64, 128}, t), Random({8, 128, 64}, t));
       }},
      {"mean",
       [](T t) {
         at::mean(Random({64, 4096}, t), {-1}, true);
       }},
      {"sum",
       [](T t) {
         at::sum(Random({4096, 64}, t), {0});
       }},
      {"amax",
       [](T t) {
         at::amax(Random({64, 4097}, t), {-1});
       }},
      {"argmax",
       [](T t) {
         at::argmax(Random({64, 4097}, t), -1);
       }},
      {"layer_norm",
       [](T t) {
         at::native_layer_norm(Random({64, 1024}, t), {1024}, Random({1024}, t),
                               Random({1024}, t), 1e-5);
       }},
      {"cat",
       [](T t) {
         at::cat({Random({3, 4}, t), Random({5, 4}, t)});
       }},
      {"index_select",
       [](T t) {
         at::index_select(Random({50, 4}, t), 0,
                          at::randint(50, {20}, Cuda().dtype(at::kLong)));
       }},
      {"embedding",
       [](T t) {
         at::embedding(Random({50, 64}, t),
                       at::randint(50, {2, 20}, Cuda().dtype(at::kLong)));
       }},
      {"transposed",
       [](T t) {
         at::neg(Random({50, 64}, t).t());
       }},
      {"strided",
       [](T t) {
         at::neg(Random({50, 64}, t).slice(1, 0, 64, 3));
       }},
      {"expanded",
       [](T t) {
         at::neg(Random({50, 1}, t).expand({50, 9}));
       }},
      {"copy",
       [](T t) {
         Random({50, 9}, t).t().contiguous();
       }},
      {"cast",
       [](T t) {
         Random({50, 9}, t).to(at::kHalf);
       }},
      {"view",
       [](T t) {
         Random({50, 9}, t).t().unsqueeze(0).expand({2, 9, 50});
       }},
      {"comparison",
       [](T t) {
         at::lt(Random({50, 9}, t), 0.2);
       }},
      {"where",
       [](T t) {
         const at::Tensor x = Random({50, 9}, t);
         at::where(x > 0, x, at::zeros_like(x));
       }},
      {"in_place",
       [](T t) {
         Random({50, 9}, t).add_(Random({9}, t)).mul_(2);
       }},
      {"out",
       [](T t) {
         at::Tensor out = at::empty({50, 9}, Cuda().dtype(t));
         at::sigmoid_out(out, Random({50, 9}, t));
       }},
      {"topk",
       [](T t) {
         at::topk(Random({5, 900}, t), 7);
       }},
      {"cumsum",
       [](T t) {
         at::cumsum(Random({5, 900}, t), -1);
       }},
      {"empty",
       [](T t) {
         at::add(Random({0, 9}, t), 1);
       }},
      {"scalar", [](T t) { at::add(Random({}, t), Random({}, t)); }},
      {"special",
       [](T t) {
         at::exp(
             at::tensor({0.0F, -0.0F, INFINITY, -INFINITY, NAN, 100.0F}, Cuda())
                 .to(t));
       }},
  };
}

void PrintTo(const RightCase& c, std::ostream* os) { *os << c.name; }

class RightKernelTest : public DeviceChecksTest,
                        public testing::WithParamInterface<RightCase> {};

TEST_P(RightKernelTest, IsAcceptedByItsScreen) {
  for (const at::ScalarType type : {at::kFloat, at::kBFloat16, at::kHalf}) {
    Check({"aten::*"});
    for (int i = 0; i < 3; ++i) GetParam().call(type);
    const std::map<std::string, int64_t> costs = PrecisionCosts();
    int64_t failed = 0;
    int64_t errors = 0;
    for (const OpSummary& op : PrecisionSummary()) {
      failed += op.failed;
      for (const auto& [reason, count] : op.errors) errors += count;
    }
    EXPECT_GT(costs.at("screened"), 0);
    // The first call of an operator may find that it needs a condition.
    EXPECT_EQ(costs.at("accepted"), costs.at("screened"))
        << c10::toString(type) << ": " << costs.at("in_full")
        << " calls were judged in full\n"
        << PrecisionSummaryTable();
    EXPECT_EQ(failed, 0);
    EXPECT_EQ(errors, 0);
    EXPECT_EQ(Log(), "") << c10::toString(type);
  }
}

INSTANTIATE_TEST_SUITE_P(Ops, RightKernelTest, testing::ValuesIn(RightCases()),
                         [](const auto& info) { return info.param.name; });

// ---- wrong kernels --------------------------------------------------------

// Registered over torch's own for as long as it lives.
class WrongKernel {
 public:
  template <typename Function>
  WrongKernel(const char* op, Function&& function)
      : library_(torch::Library::IMPL, "aten", c10::DispatchKey::CUDA, __FILE__,
                 __LINE__) {
    library_.impl(op, torch::CppFunction(std::forward<Function>(function)));
  }

 private:
  torch::Library library_;
};

at::Tensor OnHost(const at::Tensor& x) { return x.cpu().to(at::kFloat); }

TEST_F(DeviceChecksTest, AWrongElementIsFoundAtItsCallAndIndex) {
  static int calls = 0;
  calls = 0;
  WrongKernel wrong("relu", [](const at::Tensor& x) {
    at::Tensor y = OnHost(x).clamp_min(0);
    if (++calls == 3) y[4][7] += y[4][7] * 0x1p-6;
    return y.to(x.scalar_type()).cuda();
  });
  Check({"aten::relu"});
  const at::Tensor x = at::rand({9, 11}, Cuda()).add(1).to(at::kBFloat16);
  for (int i = 0; i < 5; ++i) at::relu(x);
  EXPECT_EQ(SummaryOf("relu").failed, 1);
  EXPECT_EQ(SummaryOf("relu").passed, 4);
  const std::string log = Log();
  EXPECT_THAT(log, HasSubstr("relu"));
  EXPECT_THAT(log, HasSubstr("(4, 7)"));
  EXPECT_THAT(log, HasSubstr("call=3"));
}

TEST_F(DeviceChecksTest, AResultThatIsWrittenAfterwardsIsJudgedAsItWas) {
  WrongKernel wrong("relu", [](const at::Tensor& x) {
    at::Tensor y = OnHost(x).clamp_min(0);
    y[0] = 5;
    return y.to(x.scalar_type()).cuda();
  });
  Check({"aten::relu"});
  const at::Tensor x = at::ones({64}, Cuda());
  at::Tensor y = at::relu(x);
  y.fill_(1);
  x.fill_(5);
  EXPECT_EQ(SummaryOf("relu").failed, 1);
}

TEST_F(DeviceChecksTest, AChangedArgumentIsFound) {
  WrongKernel wrong("relu", [](const at::Tensor& x) {
    at::Tensor y = OnHost(x).clamp_min(0).cuda();
    x.view(-1)[3].fill_(7);
    return y;
  });
  Check({"aten::relu"});
  at::relu(at::ones({64}, Cuda()));
  EXPECT_EQ(SummaryOf("relu").failed, 1);
  EXPECT_THAT(Log(), HasSubstr("argument self was changed"));
}

// More than may be judged as a whole: in its rows, counted in the whole.
TEST_F(DeviceChecksTest, AWrongRowOfALargeTensorIsFound) {
  enum class Wrong { kElement, kArgument, kSize };
  const struct {
    Wrong wrong;
    std::string log;
  } kCases[] = {{Wrong::kElement, "(65535, 1023)"},
                {Wrong::kArgument, "argument self was changed"},
                {Wrong::kSize, "reason=shape"}};
  for (const auto& c : kCases) {
    SCOPED_TRACE(c.log);
    WrongKernel kernel("relu", [wrong = c.wrong](const at::Tensor& x) {
      at::Tensor y = at::clamp_min(x, 0);
      if (wrong == Wrong::kElement) y[-1][-1] += 1;
      if (wrong == Wrong::kArgument) x[-1].fill_(7);
      return wrong == Wrong::kSize ? y.narrow(0, 0, 1000).clone() : y;
    });
    Check({"aten::relu"},
          [](PrecisionOptions& options) { options.memory_mb = 64; });
    at::relu(at::randn({1 << 16, 1024}, Cuda()));
    EXPECT_EQ(SummaryOf("relu").failed, 1);
    EXPECT_THAT(Log(), HasSubstr(c.log));
    EXPECT_EQ(PrecisionCosts().at("screened"), 1);
  }
}

TEST_F(DeviceChecksTest, WrongShapesAndDtypesAreFound) {
  for (const bool shape : {true, false}) {
    WrongKernel wrong("relu", [shape](const at::Tensor& x) {
      const at::Tensor y = OnHost(x).clamp_min(0).cuda();
      return shape ? y.narrow(0, 0, 3) : y.to(at::kDouble);
    });
    Check({"aten::relu"});
    at::relu(at::ones({64}, Cuda()));
    EXPECT_EQ(SummaryOf("relu").failed, 1);
    Log();
  }
}

// ---- the program is not disturbed -----------------------------------------

TEST_F(DeviceChecksTest, ACheckedCallDoesNotWaitForTheDevice) {
  Check({"aten::relu", "aten::mm"});
  const at::Tensor x = at::randn({256, 256}, Cuda());
  // What a first call sets up may wait.
  for (int i = 0; i < 3; ++i) at::mm(at::relu(x), x);
  PrecisionSummary();
  c10::cuda::device_synchronize();
  const c10::cuda::CUDAStream stream = c10::cuda::getCurrentCUDAStream();
  at::cuda::sleep(int64_t{1} << 31);  // about a second
  for (int i = 0; i < 5; ++i) at::mm(at::relu(x), x);
  EXPECT_FALSE(stream.query());
  EXPECT_EQ(SummaryOf("mm").passed, 8);
  EXPECT_EQ(SummaryOf("relu").passed, 8);
}

TEST_F(DeviceChecksTest, CallsUnderCaptureAreSkippedAndTheGraphIsWhole) {
  Check({"aten::relu"});
  const at::Tensor x = at::randn({1024}, Cuda());
  at::Tensor y;
  // The other stream does not wait for this one.
  c10::cuda::device_synchronize();
  const c10::cuda::CUDAStream stream = c10::cuda::getStreamFromPool();
  at::cuda::CUDAGraph graph;
  {
    const c10::cuda::CUDAStreamGuard guard(stream);
    at::relu(x);
    graph.capture_begin();
    y = at::relu(x);
    graph.capture_end();
    graph.replay();
  }
  c10::cuda::device_synchronize();
  EXPECT_TRUE(y.cpu().equal(x.cpu().clamp_min(0)));
  EXPECT_EQ(SummaryOf("relu").passed, 1);
  EXPECT_EQ(SummaryOf("relu").skipped.count("capture"), size_t{1});
}

TEST_F(DeviceChecksTest, CallsOnSeveralStreamsAreJudgedOnTheirs) {
  Check({"aten::relu"});
  std::vector<at::Tensor> inputs;
  for (int i = 0; i < 8; ++i) inputs.push_back(at::randn({1 << 20}, Cuda()));
  c10::cuda::device_synchronize();
  for (int round = 0; round < 5; ++round) {
    for (const at::Tensor& input : inputs) {
      const c10::cuda::CUDAStreamGuard guard(c10::cuda::getStreamFromPool());
      at::relu(input);
    }
  }
  EXPECT_EQ(SummaryOf("relu").passed, 40);
  EXPECT_EQ(PrecisionCosts().at("in_full"), 0);
}

// What kernels of torch that a check runs take for themselves while they run,
// float64 products of cuBLAS above all, is not counted.
constexpr int64_t kWorkspaceMb = 32;

// Rows of it are judged on the device, within the memory.
TEST_F(DeviceChecksTest, WhatIsTooLargeForTheMemoryIsJudgedByRows) {
  constexpr int64_t kBudgetMb = 64;
  const auto peak = [] {
    return c10::cuda::CUDACachingAllocator::getDeviceStats(0)
        .allocated_bytes[static_cast<size_t>(
            c10::CachingAllocator::StatType::AGGREGATE)]
        .peak;
  };
  const struct {
    std::string op;
    std::function<at::Tensor(const at::Tensor&)> call;
  } kCases[] = {
      {"relu", [](const at::Tensor& x) { return at::relu(x); }},
      {"add.Tensor", [](const at::Tensor& x) { return at::add(x, x[0]); }},
      {"_softmax", [](const at::Tensor& x) { return at::softmax(x, 1); }},
      {"sum.dim_IntList", [](const at::Tensor& x) { return at::sum(x, {0}); }},
      {"mm",
       [](const at::Tensor& x) {
         return at::mm(x, x[0].view({8, 1}));
       }},
  };
  for (const auto& c : kCases) {
    SCOPED_TRACE(c.op);
    Check({"aten::" + c.op},
          [](PrecisionOptions& options) { options.memory_mb = kBudgetMb; });
    const int64_t rows = c.op == "mm" ? int64_t{1} << 23 : int64_t{1} << 16;
    const at::Tensor x =
        at::randn({rows, (int64_t{1} << 26) / rows}, Cuda());  // 256 MiB
    const auto extra = [&] {
      c10::cuda::CUDACachingAllocator::resetPeakStats(0);
      const int64_t before = peak();
      c.call(x);
      PrecisionSummary();
      return peak() - before;
    };
    const int64_t checked = extra();
    EXPECT_EQ(SummaryOf(c.op).passed, 1);
    EXPECT_EQ(PrecisionCosts().at("screened"), 1);
    EXPECT_EQ(PrecisionCosts().at("in_full"), 0);
    DisablePrecisionCheck();
    const int64_t native = extra();
    EXPECT_LE(checked - native, (kBudgetMb + kWorkspaceMb) << 20);
  }
}

TEST_F(DeviceChecksTest, ExtraMemoryStaysWithinTheBudget) {
  constexpr int64_t kBudgetMb = 256;
  Check({"aten::relu", "aten::mm"},
        [](PrecisionOptions& options) { options.memory_mb = kBudgetMb; });
  const at::Tensor x = at::randn({1024, 1024}, Cuda());  // 4 MiB
  at::mm(at::relu(x), x);
  PrecisionSummary();
  const auto stats = [] {
    return c10::cuda::CUDACachingAllocator::getDeviceStats(0)
        .allocated_bytes[static_cast<size_t>(
            c10::CachingAllocator::StatType::AGGREGATE)];
  };
  c10::cuda::CUDACachingAllocator::resetPeakStats(0);
  const int64_t before = stats().current;
  at::cuda::sleep(int64_t{1} << 28);  // so that verdicts have to wait
  for (int i = 0; i < 50; ++i) at::mm(at::relu(x), x);
  const int64_t own = 3 * x.numel() * 4;
  EXPECT_LE(stats().peak - before, ((kBudgetMb + kWorkspaceMb) << 20) + own);
  PrecisionSummary();
  EXPECT_LE(stats().current, before + own);
  EXPECT_EQ(SummaryOf("mm").failed, 0);
  EXPECT_EQ(SummaryOf("mm").passed, 51);
}

TEST_F(DeviceChecksTest, TheDefaultGeneratorIsLeftAlone) {
  at::manual_seed(1);
  const at::Tensor without = at::randn({8}, Cuda());
  at::manual_seed(1);
  Check({"aten::*"});
  at::softmax(at::ones({4, 1000}, Cuda()), -1);
  const at::Tensor with = at::randn({8}, Cuda());
  EXPECT_TRUE(with.cpu().equal(without.cpu()));
}

}  // namespace
}  // namespace flaggems
