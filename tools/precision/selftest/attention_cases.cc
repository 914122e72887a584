// Scaled dot product attention.

#include <ATen/ATen.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "tools/precision/selftest/case_util.h"
#include "tools/precision/selftest/selftest_cases.h"

namespace flaggems::selftest {
namespace {

constexpr char kAttention[] = "aten::scaled_dot_product_attention";
constexpr int64_t kBlock = 4;  // keys a block

// Arguments of the operator.
enum { kQuery, kKey, kValue, kMask, kDropout, kCausal, kScale, kGroupedHeads };

double ScaleOf(const Stack* stack) {
  return stack->at(kScale).isNone() ? 1 / std::sqrt(static_cast<double>(
                                              TensorAt(stack, kQuery).size(-1)))
                                    : stack->at(kScale).toDouble();
}

// Scores and everything after them in float64; `edit(scores)` in between.
template <typename Edit>
void ByScores(Stack* stack, Edit edit) {
  const at::Tensor query = TensorAt(stack, kQuery);
  const at::Tensor scores = at::mul(
      at::matmul(query.to(at::kDouble),
                 TensorAt(stack, kKey).to(at::kDouble).transpose(-2, -1)),
      ScaleOf(stack));
  edit(scores);
  Return(stack, {at::matmul(at::softmax(scores, -1),
                            TensorAt(stack, kValue).to(at::kDouble))
                     .to(query.scalar_type())});
}

// --- Wrong. ---

void ScaleFromSecondBlock(const NativeCall&, Stack* stack) {
  ByScores(stack, [](const at::Tensor& scores) {
    const int64_t keys = scores.size(-1);
    if (keys > kBlock) {
      scores.narrow(-1, kBlock, keys - kBlock).mul_(1.4427);
    }
  });
}

void CausalOffByOne(const NativeCall&, Stack* stack) {
  const bool causal = stack->at(kCausal).toBool();
  ByScores(stack, [causal](const at::Tensor& scores) {
    if (!causal) return;
    const at::Tensor hidden =
        at::triu(at::ones({scores.size(-2), scores.size(-1)}, at::kBool), 2);
    scores.masked_fill_(hidden, -kInf);
  });
}

void ScaledTwice(const NativeCall& native, Stack* stack) {
  const double scale = ScaleOf(stack);
  stack->at(kScale) = scale * scale;
  native(stack);
}

void MaskOnlyInFirstBlock(const NativeCall& native, Stack* stack) {
  const at::Tensor mask = TensorAt(stack, kMask).clone();
  const int64_t keys = mask.size(-1);
  if (keys > kBlock) mask.narrow(-1, kBlock, keys - kBlock).fill_(true);
  stack->at(kMask) = mask;
  native(stack);
}

void HeadsModulo(const NativeCall& native, Stack* stack) {
  const int64_t times =
      TensorAt(stack, kQuery).size(1) / TensorAt(stack, kKey).size(1);
  stack->at(kKey) = TensorAt(stack, kKey).repeat({1, times, 1, 1});
  stack->at(kValue) = TensorAt(stack, kValue).repeat({1, times, 1, 1});
  stack->at(kGroupedHeads) = false;
  native(stack);
}

void ValueReadLinearly(const NativeCall& native, Stack* stack) {
  stack->at(kValue) = ReadLinearly(TensorAt(stack, kValue));
  native(stack);
}

void LastKeyMissing(const NativeCall& native, Stack* stack) {
  const int64_t keys = TensorAt(stack, kKey).size(-2);
  if (keys % kBlock != 0) {
    stack->at(kKey) = TensorAt(stack, kKey).narrow(-2, 0, keys - 1);
    stack->at(kValue) = TensorAt(stack, kValue).narrow(-2, 0, keys - 1);
  }
  native(stack);
}

// The running sum is not rescaled when a block raises the maximum.
void SumNotRescaled(const NativeCall&, Stack* stack) {
  const at::Tensor q = TensorAt(stack, kQuery).to(at::kDouble);
  const at::Tensor k = TensorAt(stack, kKey).to(at::kDouble);
  const at::Tensor v = TensorAt(stack, kValue).to(at::kDouble);
  const at::Tensor scores =
      at::mul(at::matmul(q, k.transpose(-2, -1)), ScaleOf(stack));
  const at::Tensor max = at::amax(scores, {-1}, true);
  const at::Tensor weights = at::exp(at::sub(scores, max));
  const at::Tensor first = at::amax(scores.narrow(-1, 0, kBlock), {-1}, true);
  at::Tensor sum =
      at::sum(at::exp(at::sub(scores.narrow(-1, 0, kBlock), first)),
              at::OptionalIntArrayRef({-1}), true);
  const int64_t rest = scores.size(-1) - kBlock;
  if (rest > 0) {
    sum = at::add(sum, at::sum(weights.narrow(-1, kBlock, rest),
                               at::OptionalIntArrayRef({-1}), true));
  }
  Return(stack, {at::div(at::matmul(weights, v), sum).to(at::kFloat)});
}

// --- Right. ---

// Online softmax over blocks of keys, in float32.
void Online(const NativeCall&, Stack* stack) {
  const at::Tensor q = TensorAt(stack, kQuery).contiguous();
  const at::Tensor k = TensorAt(stack, kKey).contiguous();
  const at::Tensor v = TensorAt(stack, kValue).contiguous();
  const float scale = static_cast<float>(ScaleOf(stack));
  const int64_t heads = q.size(0) * q.size(1);
  const int64_t queries = q.size(2), keys = k.size(2), width = q.size(3);
  const at::Tensor out = at::empty_like(q);
  for (int64_t row = 0; row < heads * queries; ++row) {
    const int64_t head = row / queries;
    const float* x = q.const_data_ptr<float>() + row * width;
    const float* key = k.const_data_ptr<float>() + head * keys * width;
    const float* value = v.const_data_ptr<float>() + head * keys * width;
    float* to = out.mutable_data_ptr<float>() + row * width;
    std::fill(to, to + width, 0.0f);
    float max = -INFINITY, sum = 0;
    for (int64_t j = 0; j < keys; ++j) {
      float score = 0;
      for (int64_t i = 0; i < width; ++i) score += x[i] * key[j * width + i];
      score *= scale;
      const float next = std::max(max, score);
      const float shrink = std::exp(max - next),
                  weight = std::exp(score - next);
      sum = sum * shrink + weight;
      for (int64_t i = 0; i < width; ++i) {
        to[i] = to[i] * shrink + weight * value[j * width + i];
      }
      max = next;
    }
    for (int64_t i = 0; i < width; ++i) to[i] /= sum;
  }
  Return(stack, {out});
}

void InDouble(const NativeCall&, Stack* stack) {
  const c10::IValue mask = stack->at(kMask);
  ByScores(stack, [&mask](const at::Tensor& scores) {
    if (mask.isTensor()) {
      scores.masked_fill_(mask.toTensor().logical_not(), -kInf);
    }
  });
}

std::vector<c10::IValue> Call(int64_t keys, c10::IValue mask = {},
                              bool causal = false, c10::IValue scale = {},
                              int64_t key_heads = 2) {
  return {Randn(1, {1, 2, 6, 16}),
          Randn(2, {1, key_heads, keys, 16}),
          Randn(3, {1, key_heads, keys, 16}),
          mask,
          0.0,
          causal,
          scale};
}

std::vector<c10::IValue> GroupedCall(int64_t key_heads) {
  return {Randn(1, {1, 4, 6, 16}),
          Randn(2, {1, key_heads, 5, 16}),
          Randn(3, {1, key_heads, 5, 16}),
          kNone,
          0.0,
          false,
          kNone,
          true};
}

// Every query may see the first key; of those from `from` on only some.
at::Tensor MaskFrom(int64_t from, int64_t keys) {
  const at::Tensor mask = at::gt(Randn(4, {6, keys}), 0);
  mask.narrow(1, 0, 1).fill_(true);
  if (from > 0) mask.narrow(1, 0, from).fill_(true);
  return mask;
}

std::vector<c10::IValue> TransposedValueCall(bool transposed) {
  std::vector<c10::IValue> call = Call(16);
  if (transposed) call[kValue] = Randn(3, {1, 2, 16, 16}).transpose(2, 3);
  return call;
}

const SelftestCase kCases[] = {
    {"W28", "attention", kAttention,
     "the scale is multiplied by log2(e) from the second block of keys on",
     Verdict::kFailValue, ScaleFromSecondBlock,
     [] { return Calls(kAttention, {Call(8)}); },
     [] { return Calls(kAttention, {Call(4)}); }},
    {"X701", "attention", kAttention, "the causal mask is off by one",
     Verdict::kFailValue, CausalOffByOne,
     [] { return Calls(kAttention, {Call(6, kNone, true)}); },
     [] { return Calls(kAttention, {Call(6)}); }},
    {"X702", "attention", kAttention, "scaled twice", Verdict::kFailValue,
     ScaledTwice, [] { return Calls(kAttention, {Call(6)}); },
     [] { return Calls(kAttention, {Call(6, kNone, false, 1.0)}); }},
    {"X703", "attention", kAttention,
     "the mask is ignored beyond the first block of keys", Verdict::kFailValue,
     MaskOnlyInFirstBlock,
     [] { return Calls(kAttention, {Call(8, MaskFrom(4, 8))}); },
     [] { return Calls(kAttention, {Call(4, MaskFrom(0, 4))}); }},
    {"X704", "attention", kAttention,
     "query head h reads key head h mod n, not h / group", Verdict::kFailValue,
     HeadsModulo, [] { return Calls(kAttention, {GroupedCall(2)}); },
     [] { return Calls(kAttention, {GroupedCall(4)}); }},
    {"X705", "attention", kAttention,
     "a transposed value is read as contiguous", Verdict::kFailValue,
     ValueReadLinearly,
     [] { return Calls(kAttention, {TransposedValueCall(true)}); },
     [] { return Calls(kAttention, {TransposedValueCall(false)}); }},
    {"X706", "attention", kAttention, "the last key of a partial block is lost",
     Verdict::kFailValue, LastKeyMissing,
     [] { return Calls(kAttention, {Call(9)}); },
     [] { return Calls(kAttention, {Call(8)}); }},
    {"X707", "attention", kAttention,
     "the sum is not rescaled when the maximum rises", Verdict::kFailValue,
     SumNotRescaled, [] { return Calls(kAttention, {Call(12)}); },
     [] { return Calls(kAttention, {Call(4)}); }},

    {"Q701", "attention", kAttention, "online softmax in float32",
     Verdict::kPass, Online, [] { return Calls(kAttention, {Call(40)}); }},
    {"Q702", "attention", kAttention, "in float64, rounded once",
     Verdict::kPass, InDouble,
     [] {
       return Calls(kAttention, {Call(9, MaskFrom(0, 9)), Call(30)});
     }},
};

}  // namespace

absl::Span<const SelftestCase> AttentionCases() { return kCases; }

}  // namespace flaggems::selftest
