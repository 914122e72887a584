// Convolutions and pooling.

#include <ATen/ATen.h>

#include "tools/precision/selftest/case_util.h"
#include "tools/precision/selftest/selftest_cases.h"

namespace flaggems::selftest {
namespace {

constexpr char kConv[] = "aten::conv2d";

// Arguments of conv2d.
enum { kInput, kWeight, kBias, kStride, kPadding, kDilation, kGroups };

// --- Wrong. ---

// All padding on the near side.
void PaddingShifted(const NativeCall& native, Stack* stack) {
  const std::vector<int64_t> padding = stack->at(kPadding).toIntVector();
  stack->at(kInput) = at::constant_pad_nd(
      TensorAt(stack, kInput), {2 * padding[1], 0, 2 * padding[0], 0}, 0);
  stack->at(kPadding) = Ints({0, 0});
  native(stack);
}

void GroupsReversed(const NativeCall& native, Stack* stack) {
  const at::Tensor weight = TensorAt(stack, kWeight);
  const int64_t groups = stack->at(kGroups).toInt();
  stack->at(kWeight) = at::flip(weight.view({groups, -1}), {0}).view_as(weight);
  native(stack);
}

void BiasNotOnLastChannel(const NativeCall& native, Stack* stack) {
  if (stack->at(kBias).isTensor()) {
    const at::Tensor bias = TensorAt(stack, kBias).clone();
    bias.narrow(0, bias.numel() - 1, 1).zero_();
    stack->at(kBias) = bias;
  }
  native(stack);
}

void DilationIgnored(const NativeCall& native, Stack* stack) {
  stack->at(kDilation) = Ints({1, 1});
  native(stack);
}

void WeightTransposed(const NativeCall& native, Stack* stack) {
  stack->at(kWeight) = TensorAt(stack, kWeight).transpose(2, 3);
  native(stack);
}

void ConvInBfloat16(const NativeCall& native, Stack* stack) {
  for (const int i : {kInput, kWeight}) {
    stack->at(i) = TensorAt(stack, i).to(at::kBFloat16).to(at::kFloat);
  }
  native(stack);
}

void MaxPoolPadsWithZero(const NativeCall& native, Stack* stack) {
  const bool padded = stack->at(3).toIntVector().at(0) != 0;
  native(stack);
  if (padded) stack->at(0) = at::clamp_min(TensorAt(stack, 0), 0);
}

void AvgPoolDividesByAll(const NativeCall& native, Stack* stack) {
  stack->at(5) = true;
  native(stack);
}

// --- Right. ---

void ConvExact(const NativeCall& native, Stack* stack) {
  for (const int i : {kInput, kWeight, kBias}) {
    if (stack->at(i).isTensor()) {
      stack->at(i) = TensorAt(stack, i).to(at::kDouble);
    }
  }
  native(stack);
  Return(stack, {TensorAt(stack, 0).to(at::kFloat)});
}

void ConvByIm2col(const NativeCall&, Stack* stack) {
  const at::Tensor x = TensorAt(stack, kInput);
  const at::Tensor weight = TensorAt(stack, kWeight);
  const std::vector<int64_t> padding = stack->at(kPadding).toIntVector();
  const int64_t height = x.size(2) + 2 * padding[0] - weight.size(2) + 1;
  const int64_t width = x.size(3) + 2 * padding[1] - weight.size(3) + 1;
  const at::Tensor columns =
      at::im2col(x, {weight.size(2), weight.size(3)}, {1, 1}, padding, {1, 1});
  const at::Tensor product =
      at::matmul(weight.view({weight.size(0), -1}), columns);
  const at::Tensor out =
      product.view({x.size(0), weight.size(0), height, width});
  Return(stack, {stack->at(kBias).isTensor()
                     ? at::add(out, TensorAt(stack, kBias).view({-1, 1, 1}))
                     : out});
}

void ConvHalfInFloat(const NativeCall& native, Stack* stack) {
  for (const int i : {kInput, kWeight, kBias}) {
    if (stack->at(i).isTensor()) {
      stack->at(i) = TensorAt(stack, i).to(at::kFloat);
    }
  }
  native(stack);
  Return(stack, {TensorAt(stack, 0).to(at::kHalf)});
}

CallList ConvOf(const c10::IValue& bias, int64_t padding, int64_t dilation,
                int64_t groups) {
  return Calls(kConv, {{Randn(1, {2, 4, 9, 9}), Randn(2, {6, 4 / groups, 3, 3}),
                        bias, Ints({1, 1}), Ints({padding, padding}),
                        Ints({dilation, dilation}), groups}});
}

at::Tensor Negatives() { return Uniform(7, {1, 2, 6, 6}, -2, -1); }

const SelftestCase kCases[] = {
    {"X601", "convolution", kConv, "all of the padding is on the near side",
     Verdict::kFailValue, PaddingShifted, [] { return ConvOf(kNone, 1, 1, 1); },
     [] { return ConvOf(kNone, 0, 1, 1); }},
    {"X602", "convolution", kConv, "groups get each other's weights",
     Verdict::kFailValue, GroupsReversed, [] { return ConvOf(kNone, 0, 1, 2); },
     [] { return ConvOf(kNone, 0, 1, 1); }},
    {"X603", "convolution", kConv, "the last channel gets no bias",
     Verdict::kFailValue, BiasNotOnLastChannel,
     [] { return ConvOf(Randn(3, {6}), 0, 1, 1); },
     [] { return ConvOf(kNone, 0, 1, 1); }},
    {"X604", "convolution", kConv, "dilation is ignored", Verdict::kFailShape,
     DilationIgnored, [] { return ConvOf(kNone, 0, 2, 1); },
     [] { return ConvOf(kNone, 0, 1, 1); }},
    {"X605", "convolution", kConv, "rows and columns of the weight are swapped",
     Verdict::kFailValue, WeightTransposed,
     [] { return ConvOf(kNone, 0, 1, 1); },
     [] {
       return Calls(kConv, {{Randn(1, {1, 4, 5, 5}), Randn(2, {6, 4, 1, 1})}});
     }},
    {"X606", "convolution", kConv, "inputs are rounded to bfloat16",
     Verdict::kFailValue, ConvInBfloat16, [] { return ConvOf(kNone, 1, 1, 1); },
     [] {
       return Calls(kConv, {{Uniform(1, {1, 4, 5, 5}, -4, 4).round(),
                             Uniform(2, {6, 4, 3, 3}, -4, 4).round()}});
     }},
    {"X607", "convolution", "aten::max_pool2d_with_indices",
     "the padding counts as zero", Verdict::kFailValue, MaxPoolPadsWithZero,
     [] {
       return Calls("aten::max_pool2d_with_indices",
                    {{Negatives(), Ints({2, 2}), Ints({2, 2}), Ints({1, 1})}});
     },
     [] {
       return Calls("aten::max_pool2d_with_indices",
                    {{Negatives(), Ints({2, 2}), Ints({2, 2}), Ints({0, 0})}});
     }},
    {"X608", "convolution", "aten::avg_pool2d",
     "divides by the padding too, though told not to", Verdict::kFailValue,
     AvgPoolDividesByAll,
     [] {
       return Calls("aten::avg_pool2d",
                    {{Randn(8, {1, 2, 6, 6}), Ints({3, 3}), Ints({2, 2}),
                      Ints({1, 1}), false, false}});
     },
     [] {
       return Calls("aten::avg_pool2d",
                    {{Randn(8, {1, 2, 6, 6}), Ints({2, 2}), Ints({2, 2}),
                      Ints({0, 0}), false, false}});
     }},

    {"R1c", "convolution", kConv,
     "float32, exact, rounded once, 576 and 4608 terms", Verdict::kPass,
     ConvExact,
     [] {
       return Calls(kConv,
                    {{Randn(1, {1, 64, 5, 5}), Randn(2, {4, 64, 3, 3})},
                     {Randn(3, {1, 512, 4, 4}), Randn(4, {2, 512, 3, 3})}});
     }},
    {"Q601", "convolution", kConv, "as a product with unfolded columns",
     Verdict::kPass, ConvByIm2col,
     [] { return ConvOf(Randn(3, {6}), 1, 1, 1); }},
    {"Q602", "convolution", kConv, "float16 in float32, rounded once",
     Verdict::kPass, ConvHalfInFloat,
     [] {
       return Calls(kConv, {{Randn(1, {1, 16, 6, 6}, at::kHalf),
                             Randn(2, {4, 16, 3, 3}, at::kHalf),
                             Randn(3, {4}, at::kHalf)}});
     }},
};

}  // namespace

absl::Span<const SelftestCase> ConvolutionCases() { return kCases; }

}  // namespace flaggems::selftest
