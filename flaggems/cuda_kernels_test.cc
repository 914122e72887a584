// Our CUDA kernels inside a program, on a GPU: what the conformance suite of
// one kernel at a time does not reach. Tensors and offsets beyond 2^31,
// streams, graphs, several GPUs, errors, fall-through to native kernels, and
// the check itself on a device.

#include <ATen/ATen.h>
#include <ATen/cuda/CUDAGraph.h>
#include <c10/cuda/CUDAFunctions.h>
#include <c10/cuda/CUDAGuard.h>
#include <c10/cuda/CUDAStream.h>
#include <gtest/gtest.h>

#include <functional>
#include <optional>
#include <ostream>
#include <string>
#include <typeinfo>
#include <utility>
#include <vector>

#include "flaggems/precision.h"

namespace flaggems {
namespace {

using Tensors = std::vector<at::Tensor>;

constexpr int64_t kBeyondInt32 = (int64_t{1} << 31) + 17;

const at::TensorOptions& Cuda() {
  static const auto& options = *new at::TensorOptions(at::kCUDA);
  return options;
}

class CudaKernelsTest : public testing::Test {
 protected:
  void SetUp() override {
    if (!at::hasCUDA()) {
      GTEST_SKIP() << "this machine has no GPU that torch can use";
    }
    at::globalContext().setAllowTF32CuBLAS(false);
  }

  static Registration Enabled() {
    absl::StatusOr<Registration> registration = Enable();
    EXPECT_TRUE(registration.ok()) << registration.status();
    return registration.ok() ? *std::move(registration) : Registration();
  }
};

// Largest |a - b|, a piece at a time: a whole difference may not fit.
double LargestDifference(const at::Tensor& a, const at::Tensor& b) {
  constexpr int64_t kPiece = int64_t{1} << 28;
  const at::Tensor x = a.reshape(-1);
  const at::Tensor y = b.reshape(-1);
  double largest = 0;
  for (int64_t i = 0; i < x.numel(); i += kPiece) {
    const int64_t n = std::min(kPiece, x.numel() - i);
    largest = std::max(largest, (x.narrow(0, i, n).to(at::kFloat) -
                                 y.narrow(0, i, n).to(at::kFloat))
                                    .abs()
                                    .max()
                                    .item<double>());
  }
  return largest;
}

// ---- more than 2^31 elements ----------------------------------------------

struct LargeCase {
  std::string name;
  std::function<at::Tensor()> call;
  double tolerance;  // against the native kernel's result
};

void PrintTo(const LargeCase& c, std::ostream* os) { *os << c.name; }

std::vector<LargeCase> LargeCases() {
  const auto halves = [](int64_t n) {
    return at::rand({n}, Cuda().dtype(at::kBFloat16));
  };
  const auto bytes = [](at::IntArrayRef shape) {
    return at::randint(0, 100, shape, Cuda().dtype(at::kChar));
  };
  return {
      {"Exp", [=] { return at::exp(halves(kBeyondInt32)); }, 0.02},
      {"Add",
       [=] {
         const at::Tensor x = halves(kBeyondInt32);
         return at::add(x, x.narrow(0, 0, 1));
       },
       0.02},
      {"AddStrided",
       [=] {
         // Every second element: offsets, not counts, are beyond 2^31.
         const at::Tensor x = halves(kBeyondInt32);
         const at::Tensor view = x.as_strided({kBeyondInt32 / 2}, {2}, 1);
         return at::add(view, view);
       },
       0.02},
      {"AddTransposed",
       [=] {
         const at::Tensor x = halves(int64_t{46400} * 46400).view({46400, -1});
         return at::add(x, x.t()).narrow(0, 46000, 400);
       },
       0.02},
      {"IndexSelectRows",
       [=] {
         const at::Tensor x = bytes({kBeyondInt32 / 1024 + 1, 1024});
         const at::Tensor index =
             at::arange(x.size(0) - 1, -1, -1, Cuda().dtype(at::kLong));
         return at::index_select(x, 0, index);
       },
       0},
      {"IndexSelectColumns",
       [=] {
         const at::Tensor x = bytes({1024, kBeyondInt32 / 1024 + 1});
         const at::Tensor index =
             at::arange(x.size(1) - 1, -1, -1, Cuda().dtype(at::kLong));
         return at::index_select(x, 1, index);
       },
       0},
      {"Cat",
       [=] {
         const at::Tensor x = bytes({kBeyondInt32 / 2});
         return at::cat({x, x, x.narrow(0, 0, 5)});
       },
       0},
      {"CatColumns",
       [=] {
         const at::Tensor x = bytes({1024, kBeyondInt32 / 2048 + 3});
         return at::cat({x, x}, 1);
       },
       0},
      {"SumAll",
       [=] { return at::sum(halves(kBeyondInt32).sub_(0.5), at::kFloat); },
       // Of about 2^31 numbers of mean 0; both round.
       300},
      {"SumRows",
       [=] {
         return at::sum(halves(int64_t{2049} << 20).view({2049, -1}), {1},
                        false, at::kFloat);
       },
       8},
      {"SumColumns",
       [=] {
         return at::sum(halves(int64_t{2049} << 20).view({-1, 2049}), {0},
                        false, at::kFloat);
       },
       8},
      {"Softmax",
       [=] {
         return at::_softmax(halves(int64_t{2049} << 20).view({-1, 2049}), 1,
                             false);
       },
       1e-5},
      {"LayerNorm",
       [=] {
         return std::get<0>(
             at::native_layer_norm(halves(int64_t{2049} << 20).view({-1, 2049}),
                                   {2049}, {}, {}, 1e-5));
       },
       0.02},
      {"MaskedFill",
       [=] {
         const at::Tensor x = bytes({kBeyondInt32});
         return at::masked_fill(x, x > 50, 7);
       },
       0},
      {"CumsumRows",
       [=] {
         return at::cumsum(bytes({kBeyondInt32 / 4096 + 1, 4096}), 1, at::kInt);
       },
       0},
  };
}

class LargeTest : public CudaKernelsTest,
                  public testing::WithParamInterface<LargeCase> {};

TEST_P(LargeTest, AgreesWithNative) {
  size_t free = 0, total = 0;
  ASSERT_EQ(cudaMemGetInfo(&free, &total), cudaSuccess);
  if (free < (size_t{60} << 30)) {
    GTEST_SKIP() << "needs 60 GiB of free GPU memory";
  }
  at::manual_seed(1);
  const at::Tensor want = GetParam().call();
  at::manual_seed(1);
  at::Tensor got;
  {
    const Registration own = Enabled();
    got = GetParam().call();
  }
  ASSERT_EQ(got.sizes(), want.sizes());
  EXPECT_LE(LargestDifference(got, want), GetParam().tolerance);
}

INSTANTIATE_TEST_SUITE_P(Kernels, LargeTest, testing::ValuesIn(LargeCases()),
                         [](const auto& info) { return info.param.name; });

// ---- streams, graphs, devices ----------------------------------------------

// A few calls of every family, of x (64, 96) and a square of it.
Tensors SomeOfEverything(const at::Tensor& x) {
  const at::Tensor wide = x.repeat({1, 3});
  const at::Tensor index = at::arange(63, -1, -2, x.options().dtype(at::kLong));
  const at::Tensor weight = x.select(0, 0).contiguous();
  return {
      at::exp(x),
      at::add(x, x.select(0, 1)),
      at::add(x.narrow(1, 0, 64), x.narrow(1, 0, 64).t()),
      at::gelu(x),
      at::where(x > 0, x, x.neg()),
      at::sum(x, 0),
      at::amax(x, 1),
      at::argmax(x, 1),
      at::cumsum(x, 1),
      std::get<0>(at::sort(x, 1)),
      std::get<0>(at::topk(x, 5, 1)),
      at::_softmax(x, 1, false),
      at::_log_softmax(x, 0, false),
      std::get<0>(at::native_layer_norm(x, {96}, weight, weight, 1e-5)),
      at::mm(x, x.t()),
      at::addmm(weight.narrow(0, 0, 64), x, x.t()),
      at::index_select(x, 0, index),
      at::cat({x, wide}, 1),
      at::tril(x),
      at::masked_fill(x, x > 1, 3),
  };
}

void ExpectClose(const Tensors& got, const Tensors& want) {
  ASSERT_EQ(got.size(), want.size());
  for (size_t i = 0; i < got.size(); ++i) {
    EXPECT_TRUE(at::allclose(got[i].to(at::kDouble).cpu(),
                             want[i].to(at::kDouble).cpu(), 1e-4, 1e-5))
        << "call " << i;
  }
}

TEST_F(CudaKernelsTest, RunOnTheStreamOfTheCaller) {
  const at::Tensor source = at::randn({64, 96}, Cuda());
  const Tensors want = SomeOfEverything(source);
  const at::Tensor busy = at::randn({4096, 4096}, Cuda());
  const at::Tensor x = at::zeros({64, 96}, Cuda());
  c10::cuda::device_synchronize();
  const Registration own = Enabled();
  Tensors got;
  {
    const c10::cuda::CUDAStreamGuard guard(
        c10::cuda::getStreamFromPool(/*isHighPriority=*/false));
    // The input is written late on this stream; another one would read zeros.
    at::Tensor work = busy;
    for (int i = 0; i < 10; ++i) work = at::_ops::mm::call(work, busy);
    x.copy_(source);
    got = SomeOfEverything(x);
    c10::cuda::getCurrentCUDAStream().synchronize();
  }
  ExpectClose(got, want);
}

TEST_F(CudaKernelsTest, CanBeCapturedAndReplayed) {
  const at::Tensor first = at::randn({64, 96}, Cuda());
  const at::Tensor second = at::randn({64, 96}, Cuda());
  const Tensors want = SomeOfEverything(second);
  const Registration own = Enabled();
  const at::Tensor x = first.clone();
  const c10::cuda::CUDAStreamGuard guard(c10::cuda::getStreamFromPool());
  SomeOfEverything(x);  // handles and workspaces exist before the capture
  c10::cuda::device_synchronize();
  at::cuda::CUDAGraph graph;
  graph.capture_begin();
  const Tensors got = SomeOfEverything(x);
  graph.capture_end();
  x.copy_(second);
  graph.replay();
  c10::cuda::device_synchronize();
  ExpectClose(got, want);
}

TEST_F(CudaKernelsTest, RunOnTheDeviceOfTheirTensors) {
  if (c10::cuda::device_count() < 2) GTEST_SKIP() << "this machine has one GPU";
  const at::Tensor x = at::randn({64, 96}, Cuda());
  const Tensors want = SomeOfEverything(x);
  const Registration own = Enabled();
  ASSERT_EQ(c10::cuda::current_device(), 0);
  const Tensors got = SomeOfEverything(x.to("cuda:1"));
  EXPECT_EQ(c10::cuda::current_device(), 0);
  for (const at::Tensor& t : got) EXPECT_EQ(t.device(), at::Device("cuda:1"));
  ExpectClose(got, want);
}

// ---- errors
// ------------------------------------------------------------------

struct BadCase {
  std::string name;
  std::function<void()> call;
};

void PrintTo(const BadCase& c, std::ostream* os) { *os << c.name; }

std::string ExceptionOf(const std::function<void()>& call,
                        std::string* message) {
  try {
    call();
    c10::cuda::device_synchronize();
  } catch (const c10::Error& e) {
    *message = e.what_without_backtrace();
    return typeid(e).name();
  } catch (const std::exception& e) {
    *message = e.what();
    return typeid(e).name();
  }
  return "";
}

std::vector<BadCase> BadCases() {
  const auto on = [](at::IntArrayRef shape, at::ScalarType dtype = at::kFloat) {
    return at::ones(shape, Cuda().dtype(dtype));
  };
  const auto host = [](at::IntArrayRef shape) { return at::ones(shape); };
  return {
      {"AddOfTwoDevices", [=] { at::add(on({3}), host({3})); }},
      {"WhereOfTwoDevices",
       [=] { at::where(on({3}, at::kBool), on({3}), host({3})); }},
      {"MmOfTwoDevices",
       [=] {
         at::mm(on({3, 3}), host({3, 3}));
       }},
      {"BmmOfTwoDevices",
       [=] {
         at::bmm(on({2, 3, 3}), host({2, 3, 3}));
       }},
      {"IndexSelectOfTwoDevices",
       [=] { at::index_select(on({3}), 0, at::zeros({1}, at::kLong)); }},
      {"GatherOfTwoDevices",
       [=] { at::gather(on({3}), 0, at::zeros({1}, at::kLong)); }},
      {"LayerNormOfTwoDevices",
       [=] {
         at::native_layer_norm(on({2, 3}), {3}, host({3}), {}, 1e-5);
       }},
      {"CatOfTwoDevices",
       [=] {
         at::cat({on({3}), host({3})});
       }},
      {"EmbeddingOfTwoDevices",
       [=] {
         at::embedding(on({3, 4}), at::zeros({2}, at::kLong));
       }},
      {"ShapesDiffer", [=] { at::add(on({3}), on({4})); }},
      {"MmShapesDiffer",
       [=] {
         at::mm(on({3, 4}), on({3, 4}));
       }},
      {"MmOfVectors", [=] { at::mm(on({3}), on({3})); }},
      {"MmDtypesDiffer",
       [=] {
         at::mm(on({3, 3}), on({3, 3}, at::kDouble));
       }},
      {"MmOfIntegers",
       [=] {
         at::mm(on({3, 3}, at::kInt), on({3, 3}, at::kInt));
       }},
      {"SoftmaxOfIntegers", [=] { at::_softmax(on({3}, at::kInt), 0, false); }},
      {"SoftmaxDim", [=] { at::_softmax(on({3}), 1, false); }},
      {"GeluOfIntegers", [=] { at::gelu(on({3}, at::kInt)); }},
      {"LayerNormOfIntegers",
       [=] {
         at::native_layer_norm(on({2, 3}, at::kInt), {3}, {}, {}, 1e-5);
       }},
      {"AmaxOfNothing", [=] { at::amax(on({0}), 0); }},
      {"ArgmaxOfNothing", [=] { at::argmax(on({0})); }},
      {"SumDimTwice",
       [=] {
         at::sum(on({2, 3}), at::IntArrayRef({0, 0}));
       }},
      {"TopkTooMany", [=] { at::topk(on({3}), 4); }},
      {"SortDim", [=] { at::sort(on({3}), 1); }},
      {"CumsumToBool", [=] { at::cumsum(on({3}), 0, at::kBool); }},
      {"IndexOfFloats", [=] { at::index_select(on({3}), 0, on({1})); }},
      {"NllTargetShape",
       [=] {
         at::nll_loss_forward(on({3, 4}), on({2}, at::kLong), {}, 1, -100);
       }},
      {"TooManyDims",
       [=] {
         const std::vector<int64_t> sizes(20, 2);
         std::vector<int64_t> order(20);
         for (int64_t i = 0; i < 20; ++i) order[i] = 19 - i;
         at::add(on(sizes), on(sizes).permute(order));
       }},
      {"OutOfMemory",
       [=] {
         // A broadcast to 4 TiB; nothing is written.
         at::add(on({1 << 20, 1}), on({1, 1 << 20}));
       }},
  };
}

class BadTest : public CudaKernelsTest,
                public testing::WithParamInterface<BadCase> {};

TEST_P(BadTest, ThrowsWhatNativeThrows) {
  std::string native_message, own_message;
  const std::string native = ExceptionOf(GetParam().call, &native_message);
  const Registration own = Enabled();
  const std::string got = ExceptionOf(GetParam().call, &own_message);
  EXPECT_EQ(got, native) << "ours: " << own_message
                         << "\nnative: " << native_message;
}

INSTANTIATE_TEST_SUITE_P(Kernels, BadTest, testing::ValuesIn(BadCases()),
                         [](const auto& info) { return info.param.name; });

TEST_F(CudaKernelsTest, LeaveOtherDtypesToNative) {
  const at::Tensor z = at::randn({5, 7}, Cuda().dtype(at::kComplexFloat));
  const Tensors want = {at::exp(z), at::mm(z, z.t()), at::sum(z, 1),
                        at::add(z, z)};
  const Registration own = Enabled();
  const Tensors got = {at::exp(z), at::mm(z, z.t()), at::sum(z, 1),
                       at::add(z, z)};
  for (size_t i = 0; i < want.size(); ++i) {
    EXPECT_TRUE(at::allclose(got[i], want[i], 1e-5)) << "call " << i;
  }
}

// ---- the check
// -----------------------------------------------------------------

TEST_F(CudaKernelsTest, PassTheStrictCheck) {
  PrecisionOptions options = PrecisionOptions::Strict();
  options.path = testing::TempDir() + "/cuda_kernels_test.log";
  options.summary_at_exit = false;
  ASSERT_TRUE(EnablePrecisionCheck(options).ok());
  EnableOptions enable;
  enable.registrar = RegistrarKind::kPrecisionCheck;
  const absl::StatusOr<Registration> own = Enable(enable);
  ASSERT_TRUE(own.ok()) << own.status();
  for (const at::ScalarType dtype : {at::kFloat, at::kHalf, at::kBFloat16}) {
    SomeOfEverything(at::randn({64, 96}, Cuda().dtype(dtype)));
  }
  DisablePrecisionCheck();
  int64_t passed = 0;
  for (const OpSummary& op : PrecisionSummary()) {
    EXPECT_EQ(op.failed, 0) << op.op;
    EXPECT_TRUE(op.errors.empty()) << op.op;
    passed += op.passed;
  }
  EXPECT_GE(passed, 50);
}

}  // namespace
}  // namespace flaggems
