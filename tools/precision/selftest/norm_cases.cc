// Layer, group and batch normalization.

#include <ATen/ATen.h>

#include <cmath>
#include <tuple>

#include "tools/precision/selftest/case_util.h"
#include "tools/precision/selftest/selftest_cases.h"

namespace flaggems::selftest {
namespace {

constexpr char kLayerNorm[] = "aten::native_layer_norm";
constexpr char kBatchNorm[] = "aten::native_batch_norm";
constexpr char kGroupNorm[] = "aten::native_group_norm";
constexpr char kLayerNormBackward[] = "aten::native_layer_norm_backward";

// Arguments of native_batch_norm.
enum { kRunningMean = 3, kRunningVar = 4, kTraining = 5, kMomentum = 6 };

// --- Wrong. ---

void RunningVarBiased(const NativeCall& native, Stack* stack) {
  const at::Tensor x = TensorAt(stack, 0);
  const at::Tensor running = TensorAt(stack, kRunningVar);
  const bool training = stack->at(kTraining).toBool();
  const double momentum = stack->at(kMomentum).toDouble();
  const at::Tensor before = running.clone();
  native(stack);
  if (!training) return;
  const double n = static_cast<double>(x.numel() / x.size(1));
  // What the update added is scaled from n - 1 to n.
  const at::Tensor kept = at::mul(before, 1 - momentum);
  running.copy_(at::add(kept, at::mul(at::sub(running, kept), (n - 1) / n)));
}

void RunningMomentumSwapped(const NativeCall& native, Stack* stack) {
  stack->at(kMomentum) = 1 - stack->at(kMomentum).toDouble();
  native(stack);
}

void BatchNormUpdatesInEval(const NativeCall& native, Stack* stack) {
  const at::Tensor running = TensorAt(stack, kRunningMean);
  const bool training = stack->at(kTraining).toBool();
  native(stack);
  if (!training) running.mul_(0.9);
}

void FixedEps(const NativeCall& native, Stack* stack) {
  stack->at(4) = 1e-5;
  native(stack);
}

void EpsOutsideRoot(const NativeCall&, Stack* stack) {
  const at::Tensor x = TensorAt(stack, 0);
  const double eps = stack->at(4).toDouble();
  const auto [var, mean] =
      at::var_mean(x, at::OptionalIntArrayRef({-1}), 0, true);
  const at::Tensor rstd = at::reciprocal(at::add(at::sqrt(var), eps));
  Return(stack, {at::mul(at::sub(x, mean), rstd), mean, rstd});
}

void UnbiasedVariance(const NativeCall&, Stack* stack) {
  const at::Tensor x = TensorAt(stack, 0);
  const double eps = stack->at(4).toDouble();
  const auto [var, mean] =
      at::var_mean(x, at::OptionalIntArrayRef({-1}), 1, true);
  const at::Tensor rstd = at::rsqrt(at::add(var, eps));
  Return(stack, {at::mul(at::sub(x, mean), rstd), mean, rstd});
}

void DoubleStatistics(const NativeCall& native, Stack* stack) {
  native(stack);
  stack->at(1) = TensorAt(stack, 1).to(at::kDouble);
  stack->at(2) = TensorAt(stack, 2).to(at::kDouble);
}

void WeightNotInTail(const NativeCall& native, Stack* stack) {
  const at::Tensor weight = TensorAt(stack, 2).clone();
  Tail(weight, 8).fill_(1);
  stack->at(2) = weight;
  native(stack);
}

void GroupsIgnored(const NativeCall& native, Stack* stack) {
  const at::Tensor x = TensorAt(stack, 0);
  const int64_t groups = stack->at(6).toInt();
  stack->at(6) = 1;
  native(stack);
  stack->at(1) = TensorAt(stack, 1).expand({x.size(0), groups}).contiguous();
  stack->at(2) = TensorAt(stack, 2).expand({x.size(0), groups}).contiguous();
}

void BackwardBiasOfFirstRows(const NativeCall& native, Stack* stack) {
  const at::Tensor grad = TensorAt(stack, 0);
  native(stack);
  stack->at(2) = at::sum(grad.narrow(0, 0, std::min<int64_t>(2, grad.size(0))),
                         at::OptionalIntArrayRef({0}));
}

void RstdIsVariance(const NativeCall& native, Stack* stack) {
  const double eps = stack->at(4).toDouble();
  native(stack);
  const at::Tensor rstd = TensorAt(stack, 2);
  stack->at(2) = at::sub(at::reciprocal(at::square(rstd)), eps);
}

void MeanOfFirstRowForAll(const NativeCall& native, Stack* stack) {
  const at::Tensor x = TensorAt(stack, 0);
  native(stack);
  const at::Tensor mean = TensorAt(stack, 1);
  const at::Tensor first = mean.select(0, 0);
  const at::Tensor shift = at::mul(at::sub(mean, first), TensorAt(stack, 2));
  stack->at(0) = at::add(TensorAt(stack, 0), shift);
}

// --- Right. ---

// 16-bit input, float32 statistics, as CUDA has them.
void LayerNormFloatStatistics(const NativeCall& native, Stack* stack) {
  const at::ScalarType dtype = TensorAt(stack, 0).scalar_type();
  for (const int i : {0, 2, 3}) {
    if (stack->at(i).isTensor()) {
      stack->at(i) = TensorAt(stack, i).to(at::kFloat);
    }
  }
  native(stack);
  stack->at(0) = TensorAt(stack, 0).to(dtype);
}

void GroupNormFloatStatistics(const NativeCall& native, Stack* stack) {
  const at::ScalarType dtype = TensorAt(stack, 0).scalar_type();
  for (const int i : {0, 1, 2}) {
    if (stack->at(i).isTensor()) {
      stack->at(i) = TensorAt(stack, i).to(at::kFloat);
    }
  }
  native(stack);
  stack->at(0) = TensorAt(stack, 0).to(dtype);
}

// Rows of float32 by Welford's update.
void LayerNormByWelford(const NativeCall&, Stack* stack) {
  const at::Tensor in = TensorAt(stack, 0).contiguous();
  const float eps = static_cast<float>(stack->at(4).toDouble());
  const int64_t rows = in.size(0), n = in.size(1);
  const at::Tensor out = at::empty_like(in);
  const at::Tensor means = at::empty({rows, 1}), rstds = at::empty({rows, 1});
  for (int64_t r = 0; r < rows; ++r) {
    const float* x = in.const_data_ptr<float>() + r * n;
    float* y = out.mutable_data_ptr<float>() + r * n;
    float mean = 0, squares = 0;
    for (int64_t i = 0; i < n; ++i) {
      const float delta = x[i] - mean;
      mean += delta / static_cast<float>(i + 1);
      squares += delta * (x[i] - mean);
    }
    const float rstd = 1 / std::sqrt(squares / static_cast<float>(n) + eps);
    for (int64_t i = 0; i < n; ++i) y[i] = (x[i] - mean) * rstd;
    means.mutable_data_ptr<float>()[r] = mean;
    rstds.mutable_data_ptr<float>()[r] = rstd;
  }
  Return(stack, {out, means, rstds});
}

void BatchNormInDouble(const NativeCall& native, Stack* stack) {
  const at::Tensor mean = TensorAt(stack, kRunningMean);
  const at::Tensor var = TensorAt(stack, kRunningVar);
  const at::Tensor wide_mean = mean.to(at::kDouble);
  const at::Tensor wide_var = var.to(at::kDouble);
  for (const int i : {0, 1, 2}) {
    if (stack->at(i).isTensor()) {
      stack->at(i) = TensorAt(stack, i).to(at::kDouble);
    }
  }
  stack->at(kRunningMean) = wide_mean;
  stack->at(kRunningVar) = wide_var;
  native(stack);
  mean.copy_(wide_mean);
  var.copy_(wide_var);
  for (c10::IValue& result : *stack) {
    result = result.toTensor().to(at::kFloat);
  }
}

CallList LayerNormOf(const at::Tensor& x, double eps, bool affine = false,
                     at::ScalarType dtype = at::kFloat) {
  const int64_t n = x.size(-1);
  const c10::IValue weight =
      affine ? c10::IValue(Uniform(71, {n}, .5, 2, dtype)) : kNone;
  const c10::IValue bias = affine ? c10::IValue(Randn(72, {n}, dtype)) : kNone;
  return Calls(kLayerNorm, {{x, Ints({n}), weight, bias, eps}});
}

CallList BatchNormOf(bool training, double momentum) {
  return Calls(
      kBatchNorm,
      {{Randn(16, {2, 3, 2}), Uniform(1, {3}, .5, 2), Randn(2, {3}),
        Randn(3, {3}), Uniform(4, {3}, .5, 2), training, momentum, 1e-5}});
}

CallList GroupNormOf(at::ScalarType dtype, int64_t groups) {
  return Calls(kGroupNorm,
               {{Randn(9, {2, 6, 10}, dtype), Uniform(1, {6}, .5, 2, dtype),
                 Randn(2, {6}, dtype), 2, 6, 10, groups, 1e-5}});
}

CallList BackwardOf(int64_t rows) {
  const at::Tensor x = Randn(1, {rows, 10});
  const auto [var, mean] =
      at::var_mean(x, at::OptionalIntArrayRef({-1}), 0, true);
  const at::Tensor rstd = at::rsqrt(at::add(var, 1e-5));
  return Calls(kLayerNormBackward,
               {{Randn(2, {rows, 10}), x, Ints({10}), mean, rstd,
                 Uniform(3, {10}, .5, 2), Randn(4, {10}),
                 std::vector<bool>{true, true, true}}});
}

// Mean 0 and variance 1 to the bit.
at::Tensor UnitVariance() {
  return F32({1, -1, 1, -1, -1, 1, 1, -1}).view({1, 8});
}

const SelftestCase kCases[] = {
    {"W16", "norm", kBatchNorm,
     "the running variance is updated with the biased one",
     Verdict::kFailArgument, RunningVarBiased,
     [] { return BatchNormOf(true, .5); },
     [] { return BatchNormOf(false, .5); }},
    {"W26", "norm", kLayerNorm, "eps is always 1e-5", Verdict::kFailValue,
     FixedEps,
     [] {
       return LayerNormOf(Randn(26, {4, 32}).mul_(1e-2), 1e-3);
     },
     [] {
       return LayerNormOf(Randn(26, {4, 32}), 1e-5);
     }},
    {"X401", "norm", kLayerNorm, "eps is added after the root",
     Verdict::kFailValue, EpsOutsideRoot,
     [] {
       return LayerNormOf(Randn(1, {4, 32}).mul_(1e-2), 1e-3);
     },
     [] {
       return LayerNormOf(Randn(1, {4, 32}), 0);
     }},
    {"X402", "norm", kLayerNorm, "the variance is divided by n - 1",
     Verdict::kFailValue, UnbiasedVariance,
     [] {
       return LayerNormOf(Randn(2, {4, 768}), 1e-5);
     }},
    {"X403", "norm", kLayerNorm, "statistics of float32 come in float64",
     Verdict::kFailDtype, DoubleStatistics,
     [] {
       return LayerNormOf(Randn(3, {4, 32}), 1e-5);
     },
     [] {
       return LayerNormOf(Randn(3, {4, 32}, at::kDouble), 1e-5);
     }},
    {"X404", "norm", kLayerNorm, "the weight is not applied to n mod 8",
     Verdict::kFailValue, WeightNotInTail,
     [] {
       return LayerNormOf(Randn(4, {3, 13}), 1e-5, true);
     },
     [] {
       return LayerNormOf(Randn(4, {3, 16}), 1e-5, true);
     }},
    {"X405", "norm", kBatchNorm, "momentum counts for the old statistics",
     Verdict::kFailArgument, RunningMomentumSwapped,
     [] { return BatchNormOf(true, .1); },
     [] { return BatchNormOf(true, .5); }},
    {"X406", "norm", kBatchNorm, "running statistics change in eval mode",
     Verdict::kFailArgument, BatchNormUpdatesInEval,
     [] { return BatchNormOf(false, .1); },
     [] { return BatchNormOf(true, .1); }},
    {"X407", "norm", kGroupNorm, "all channels are one group",
     Verdict::kFailValue, GroupsIgnored,
     [] { return GroupNormOf(at::kFloat, 3); },
     [] { return GroupNormOf(at::kFloat, 1); }},
    {"X408", "norm", kLayerNormBackward,
     "the bias gradient sums the first two rows", Verdict::kFailValue,
     BackwardBiasOfFirstRows, [] { return BackwardOf(5); },
     [] { return BackwardOf(2); }},
    {"X409", "norm", kLayerNorm, "the third result is the variance",
     Verdict::kFailValue, RstdIsVariance,
     [] {
       return LayerNormOf(Randn(9, {4, 32}).mul_(3), 1e-5);
     },
     [] { return LayerNormOf(UnitVariance(), 0); }},
    {"X410", "norm", kLayerNorm, "all rows are centred by the first's mean",
     Verdict::kFailValue, MeanOfFirstRowForAll,
     [] {
       return LayerNormOf(Randn(10, {4, 32}), 1e-5);
     },
     [] {
       return LayerNormOf(Randn(10, {1, 32}), 1e-5);
     }},

    {"R9a", "norm", kLayerNorm,
     "float16 with statistics in float32, as on CUDA", Verdict::kPass,
     LayerNormFloatStatistics,
     [] {
       return LayerNormOf(Randn(9, {4, 64}, at::kHalf), 1e-5, true, at::kHalf);
     }},
    {"R9b", "norm", kGroupNorm,
     "bfloat16 with statistics in float32, as on CUDA", Verdict::kPass,
     GroupNormFloatStatistics, [] { return GroupNormOf(at::kBFloat16, 3); }},
    {"Q401", "norm", kLayerNorm, "Welford's update in float32", Verdict::kPass,
     LayerNormByWelford,
     [] {
       return LayerNormOf(Randn(1, {4, 300}), 1e-5);
     }},
    {"Q402", "norm", kBatchNorm, "in float64, rounded once", Verdict::kPass,
     BatchNormInDouble, [] { return BatchNormOf(true, .1); }},
};

}  // namespace

absl::Span<const SelftestCase> NormCases() { return kCases; }

}  // namespace flaggems::selftest
