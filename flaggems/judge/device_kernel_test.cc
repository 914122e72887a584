// Calls of operators that only devices have, judged by the golden functions
// that come with the library; the kernels compute as those of CUDA do.

#include <gtest/gtest.h>

#include <limits>
#include <string>
#include <vector>

#include "flaggems/judge/judge_call.h"
#include "flaggems/judge/testutil.h"
#include "flaggems/reference/golden.h"
#include "flaggems/reference/goldens/shipped.h"

namespace flaggems {
namespace {

using namespace judge_testing;  // NOLINT: a test's vocabulary

Judgement OnDevice(const std::string& op, const Values& arguments,
                   const Kernel& kernel, bool native) {
  InstallShippedGoldens();
  CallOptions options;
  options.on_host = false;
  options.native = native;
  options.reference = GoldenSlot::Of(OpKeyOf(OperatorNamed(op))).Get();
  const MadeCall made(op, arguments, kernel, options);
  EXPECT_TRUE(made.thrown().ok()) << made.thrown();
  return JudgeCall(made.call());
}

// ---- batch_norm_backward_reduce ----

// Sums over all but the channels. Threads add float32, each term rounded to
// `type`; a tree adds what 64 threads have, rounded at every level
// (ATen/native/cuda/Normalization.cuh, Float2).
at::Tensor SumAsCuda(const at::Tensor& terms, at::ScalarType type) {
  const auto rounded = [type](const at::Tensor& x) {
    return x.to(type).to(at::kFloat);
  };
  const at::Tensor of_channels =
      rounded(terms.transpose(0, 1).reshape({terms.size(1), -1}));
  std::vector<at::Tensor> threads;
  for (int64_t t = 0; t < 64; ++t) {
    threads.push_back(t < of_channels.size(1)
                          ? of_channels.slice(1, t, std::nullopt, 64).sum(1)
                          : at::zeros({terms.size(1)}, at::kFloat));
  }
  while (threads.size() > 1) {
    const size_t half = threads.size() / 2;
    for (size_t t = 0; t < half; ++t) {
      threads[t] = threads[t] + rounded(threads[t + half]);
    }
    threads.resize(half);
  }
  return threads[0];
}

// `wrong` leaves out the mean.
Kernel ReduceAsCuda(bool wrong) {
  return [wrong](Values a) -> Values {
    const at::ScalarType type = TensorOf(a).scalar_type();
    const at::Tensor dy = TensorOf(a, 0).to(at::kFloat);
    const at::Tensor x = TensorOf(a, 1).to(at::kFloat);
    const at::Tensor mean =
        wrong ? at::zeros_like(TensorOf(a, 2)) : TensorOf(a, 2);
    const at::Tensor sum = SumAsCuda(dy, type);
    const at::Tensor sum_xmu =
        SumAsCuda(dy * (x - mean.reshape({1, -1, 1, 1})), type);
    return {sum, sum_xmu, sum_xmu * TensorOf(a, 3), sum.clone()};
  };
}

TEST(BatchNormBackwardReduceTest, RoundsIn16BitsIfNative) {
  for (const at::ScalarType type : {at::kHalf, at::kBFloat16}) {
    for (const uint64_t seed : {1, 2, 3, 4, 5}) {
      const Values arguments = {Randn(seed, {6, 4, 7, 5}, type),
                                Randn(seed + 10, {6, 4, 7, 5}, type),
                                Randn(seed + 20, {4}),
                                Randn(seed + 30, {4}).abs() + 0.5,
                                Randn(seed + 40, {4}),
                                true,
                                true,
                                true};
      const std::string op = "aten::batch_norm_backward_reduce";
      const Judgement native =
          OnDevice(op, arguments, ReduceAsCuda(false), /*native=*/true);
      EXPECT_EQ(native.verdict, Verdict::kPass)
          << at::toString(type) << " " << seed << " " << native.message;
      // For others that is too little.
      EXPECT_EQ(OnDevice(op, arguments, ReduceAsCuda(false), /*native=*/false)
                    .verdict,
                Verdict::kFailValue);
      EXPECT_EQ(
          OnDevice(op, arguments, ReduceAsCuda(true), /*native=*/true).verdict,
          Verdict::kFailValue);
    }
  }
}

// ---- _efficient_attention_forward ----

// The golden function itself, in float32, and `value` in cells [begin, end) of
// the second sequence's statistics.
Kernel WithStatistics(int64_t begin, int64_t end, double value) {
  return [=](Values a) -> Values {
    const std::string op = "aten::_efficient_attention_forward";
    Values r = *GoldenSlot::Of(OpKeyOf(OperatorNamed(op)))
                    .Get()
                    ->Compute(std::move(a));
    TensorOf(r, 1).select(0, 1).narrow(1, begin, end - begin).fill_(value);
    return r;
  };
}

TEST(EfficientAttentionTest, StatisticsBehindTheLastTileAreUnread) {
  // 70 and 5 queries; the second sequence has one tile of 32.
  const auto rows = [](uint64_t seed) { return Randn(seed, {1, 75, 2, 8}); };
  const at::Tensor offsets = at::tensor({0, 70, 75}, at::kInt);
  const Values arguments = {rows(1), rows(2), rows(3), kNone, offsets, offsets,
                            70,      70,      0.,      0,     true};
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const std::string op = "aten::_efficient_attention_forward";
  const auto verdict = [&](int64_t begin, int64_t end, double value) {
    return OnDevice(op, arguments, WithStatistics(begin, end, value), false)
        .verdict;
  };
  EXPECT_EQ(verdict(0, 0, 0), Verdict::kPass);
  EXPECT_EQ(verdict(32, 96, nan), Verdict::kPass);
  EXPECT_EQ(verdict(32, 96, 4.5), Verdict::kPass);
  EXPECT_EQ(verdict(31, 96, 4.5), Verdict::kFailSpecial);
  EXPECT_EQ(verdict(4, 5, 400.), Verdict::kFailValue);
}

}  // namespace
}  // namespace flaggems
