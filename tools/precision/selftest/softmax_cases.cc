// Softmax, its logarithm and their gradients.

#include <ATen/ATen.h>

#include <algorithm>
#include <cmath>

#include "tools/precision/selftest/case_util.h"
#include "tools/precision/selftest/selftest_cases.h"

namespace flaggems::selftest {
namespace {

// Softmax over the last dimension of a float32 tensor, `row(x, out, n)` for
// each row.
template <typename Row>
at::Tensor ByRows(const at::Tensor& x, Row row) {
  const at::Tensor in = x.contiguous();
  const at::Tensor out = at::empty_like(in);
  const int64_t n = in.size(-1);
  for (int64_t i = 0; i < in.numel() / n; ++i) {
    row(in.const_data_ptr<float>() + i * n,
        out.mutable_data_ptr<float>() + i * n, n);
  }
  return out;
}

// --- Wrong. ---

void ZerosForLongRows(const NativeCall& native, Stack* stack) {
  const bool is_long = TensorAt(stack, 0).size(-1) > 4096;
  native(stack);
  if (is_long) TensorAt(stack, 0).zero_();
}

// Online, in tiles of four, with -inf minus -inf in the update.
void TileOfMinusInfinity(const NativeCall&, Stack* stack) {
  Return(stack,
         {ByRows(TensorAt(stack, 0), [](const float* x, float* out, int64_t n) {
           float max = -INFINITY, sum = 0;
           for (int64_t from = 0; from < n; from += 4) {
             const int64_t to = std::min(from + 4, n);
             const float next =
                 std::max(max, *std::max_element(x + from, x + to));
             sum *= std::exp(max - next);
             for (int64_t i = from; i < to; ++i) sum += std::exp(x[i] - next);
             // The first tile's maximum was -inf already.
             max = next;
           }
           for (int64_t i = 0; i < n; ++i) out[i] = std::exp(x[i] - max) / sum;
         })});
}

void ReadsStorage(const NativeCall& native, Stack* stack) {
  stack->at(0) = ReadLinearly(TensorAt(stack, 0));
  native(stack);
}

void DenominatorWithoutLastTile(const NativeCall&, Stack* stack) {
  Return(stack,
         {ByRows(TensorAt(stack, 0), [](const float* x, float* out, int64_t n) {
           const float max = *std::max_element(x, x + n);
           double sum = 0;
           for (int64_t i = 0; i < n; ++i) {
             out[i] = std::exp(x[i] - max);
             if (i < n / 8 * 8) sum += out[i];
           }
           for (int64_t i = 0; i < n; ++i) out[i] = out[i] / sum;
         })});
}

void WithoutMaximum(const NativeCall&, Stack* stack) {
  Return(stack,
         {ByRows(TensorAt(stack, 0), [](const float* x, float* out, int64_t n) {
           float sum = 0;
           for (int64_t i = 0; i < n; ++i) sum += out[i] = std::exp(x[i]);
           for (int64_t i = 0; i < n; ++i) out[i] /= sum;
         })});
}

void BackwardWithoutSum(const NativeCall&, Stack* stack) {
  Return(stack, {at::mul(TensorAt(stack, 0), TensorAt(stack, 1))});
}

void LogBackwardWithoutSum(const NativeCall&, Stack* stack) {
  const at::Tensor grad = TensorAt(stack, 0);
  Return(stack, {at::sub(grad, at::exp(TensorAt(stack, 1)))});
}

void LogOfSoftmax(const NativeCall&, Stack* stack) {
  Return(stack, {at::log(at::_softmax(TensorAt(stack, 0), stack->at(1).toInt(),
                                      stack->at(2).toBool()))});
}

void LogInBfloat16(const NativeCall& native, Stack* stack) {
  native(stack);
  Return(stack, {TensorAt(stack, 0).to(at::kBFloat16).to(at::kFloat)});
}

void OtherDimension(const NativeCall& native, Stack* stack) {
  stack->at(1) = TensorAt(stack, 0).dim() - 1;
  native(stack);
}

// --- Right. ---

void ByExp2(const NativeCall&, Stack* stack) {
  Return(stack,
         {ByRows(TensorAt(stack, 0), [](const float* x, float* out, int64_t n) {
           const float max = *std::max_element(x, x + n);
           float sum = 0;
           for (int64_t i = 0; i < n; ++i) {
             const float d = x[i] - max;
             const float high = d * 1.44269504f;
             const float low =
                 std::fma(d, 1.44269504f, -high) + d * 1.92596299e-8f;
             sum += out[i] = std::exp2(high) * (1 + low * 0.693147181f);
           }
           const float scale = 1 / sum;
           for (int64_t i = 0; i < n; ++i) out[i] *= scale;
         })});
}

void Online(const NativeCall&, Stack* stack) {
  Return(stack,
         {ByRows(TensorAt(stack, 0), [](const float* x, float* out, int64_t n) {
           float max = -INFINITY, sum = 0;
           for (int64_t from = 0; from < n; from += 16) {
             const int64_t to = std::min(from + 16, n);
             const float next =
                 std::max(max, *std::max_element(x + from, x + to));
             if (next == -INFINITY) continue;
             sum *= std::exp(max - next);
             for (int64_t i = from; i < to; ++i) sum += std::exp(x[i] - next);
             max = next;
           }
           for (int64_t i = 0; i < n; ++i) out[i] = std::exp(x[i] - max) / sum;
         })});
}

void HalfInFloat(const NativeCall& native, Stack* stack) {
  const at::ScalarType dtype = TensorAt(stack, 0).scalar_type();
  stack->at(0) = TensorAt(stack, 0).to(at::kFloat);
  native(stack);
  Return(stack, {TensorAt(stack, 0).to(dtype)});
}

void LogByParts(const NativeCall&, Stack* stack) {
  const at::Tensor x = TensorAt(stack, 0);
  const int64_t dim = stack->at(1).toInt();
  const at::Tensor shifted = at::sub(x, at::amax(x, {dim}, true));
  Return(stack,
         {at::sub(shifted, at::log(at::sum(at::exp(shifted), {dim}, true)))});
}

void BackwardByParts(const NativeCall&, Stack* stack) {
  const at::Tensor grad = TensorAt(stack, 0), out = TensorAt(stack, 1);
  const at::Tensor sum =
      at::sum(at::mul(grad, out), {stack->at(2).toInt()}, true);
  Return(stack, {at::mul(at::sub(grad, sum), out)});
}

at::Tensor FirstTileMinusInfinity() {
  const at::Tensor x = Randn(2, {2, 12});
  x.narrow(1, 0, 4).fill_(-kInf);
  return x;
}

const SelftestCase kCases[] = {
    {"W25", "softmax", "aten::_softmax",
     "zeros for float16 rows longer than 4096", Verdict::kFailValue,
     ZerosForLongRows,
     [] {
       return Calls("aten::_softmax",
                    {{Uniform(25, {2, 50257}, -1, 1, at::kHalf), -1, false}});
     },
     [] {
       // Native float16 rounds as a right kernel does on short rows.
       return Calls("aten::_softmax",
                    {{Randn(25, {2, 8}, at::kHalf), -1, false}});
     }},
    {"X301", "softmax", "aten::_softmax",
     "a first tile of -inf makes the row NaN", Verdict::kFailSpecial,
     TileOfMinusInfinity,
     [] {
       return Calls("aten::_softmax", {{FirstTileMinusInfinity(), -1, false}});
     },
     [] {
       return Calls("aten::_softmax", {{Randn(2, {2, 12}), -1, false}});
     }},
    {"X302", "softmax", "aten::_softmax",
     "a transposed input is read as contiguous", Verdict::kFailValue,
     ReadsStorage,
     [] {
       return Calls("aten::_softmax", {{Randn(2, {9, 9}).t(), -1, false}});
     },
     [] {
       return Calls("aten::_softmax", {{Randn(2, {9, 9}), -1, false}});
     }},
    {"X303", "softmax", "aten::_softmax",
     "the denominator misses the last, partial tile", Verdict::kFailValue,
     DenominatorWithoutLastTile,
     [] {
       return Calls("aten::_softmax", {{Randn(3, {3, 21}), -1, false}});
     },
     [] {
       return Calls("aten::_softmax", {{Randn(3, {3, 24}), -1, false}});
     }},
    {"X304", "softmax", "aten::_softmax", "overflows: no maximum is taken out",
     Verdict::kFailSpecial, WithoutMaximum,
     [] {
       return Calls("aten::_softmax", {{F32({100, 99}), 0, false}});
     },
     [] {
       return Calls("aten::_softmax", {{F32({3, 2, 1}), 0, false}});
     }},
    {"X305", "softmax", "aten::_softmax_backward_data",
     "the sum over the row is not subtracted", Verdict::kFailValue,
     BackwardWithoutSum,
     [] {
       return Calls("aten::_softmax_backward_data",
                    {{Randn(5, {2, 4}), Filled({2, 4}, .25), 1, at::kFloat}});
     },
     [] {
       return Calls("aten::_softmax_backward_data",
                    {{F32({1, -1, 2, -2}).view({1, 4}), Filled({1, 4}, .25), 1,
                      at::kFloat}});
     }},
    {"X306", "softmax", "aten::_log_softmax_backward_data",
     "the sum of the gradient is taken as one", Verdict::kFailValue,
     LogBackwardWithoutSum,
     [] {
       return Calls("aten::_log_softmax_backward_data",
                    {{Randn(6, {2, 4}), Filled({2, 4}, -1.386294361119891), 1,
                      at::kFloat}});
     },
     [] {
       return Calls("aten::_log_softmax_backward_data",
                    {{F32({2, -3, 1, 1}).view({1, 4}),
                      Filled({1, 4}, -1.386294361119891), 1, at::kFloat}});
     }},
    {"X307", "softmax", "aten::_log_softmax",
     "the logarithm of an underflowed softmax", Verdict::kFailSpecial,
     LogOfSoftmax,
     [] {
       return Calls("aten::_log_softmax", {{F32({0, 200}), 0, false}});
     },
     [] {
       return Calls("aten::_log_softmax", {{F32({0, 1, -.5}), 0, false}});
     }},
    {"X308", "softmax", "aten::_log_softmax", "a float32 result from bfloat16",
     Verdict::kFailValue, LogInBfloat16,
     [] {
       return Calls("aten::_log_softmax", {{Randn(8, {3, 50}), 1, false}});
     }},
    {"X309", "softmax", "aten::_softmax", "always over the last dimension",
     Verdict::kFailValue, OtherDimension,
     [] {
       return Calls("aten::_softmax", {{Randn(9, {6, 7}), 0, false}});
     },
     [] {
       return Calls("aten::_softmax", {{Randn(9, {6, 7}), 1, false}});
     }},

    {"R12a", "softmax", "aten::_softmax", "through exp2 within 2 ulps",
     Verdict::kPass, ByExp2,
     [] {
       return Calls("aten::_softmax", {{Randn(12, {5, 300}), -1, false}});
     }},
    {"Q301", "softmax", "aten::_softmax", "online in tiles, a tile of -inf too",
     Verdict::kPass, Online,
     [] {
       const at::Tensor x = Randn(1, {3, 100});
       x.narrow(1, 0, 16).fill_(-kInf);
       return Calls("aten::_softmax",
                    {{x, -1, false}, {Randn(2, {3, 100}), -1, false}});
     }},
    {"Q302", "softmax", "aten::_softmax", "float16 in float32, rounded once",
     Verdict::kPass, HalfInFloat,
     [] {
       return Calls("aten::_softmax",
                    {{Randn(2, {4, 600}, at::kHalf), -1, false}});
     }},
    {"Q303", "softmax", "aten::_log_softmax",
     "bfloat16 in float32, rounded once", Verdict::kPass, HalfInFloat,
     [] {
       return Calls("aten::_log_softmax",
                    {{Randn(3, {4, 600}, at::kBFloat16), -1, false}});
     }},
    {"Q304", "softmax", "aten::_log_softmax", "by maximum, exp, sum and log",
     Verdict::kPass, LogByParts,
     [] {
       return Calls("aten::_log_softmax", {{Randn(4, {5, 120}), 1, false}});
     }},
    {"Q305", "softmax", "aten::_softmax_backward_data",
     "(grad - sum(grad out)) out", Verdict::kPass, BackwardByParts,
     [] {
       return Calls(
           "aten::_softmax_backward_data",
           {{Randn(5, {4, 32}), Filled({4, 32}, 1.0 / 32), 1, at::kFloat}});
     }},
};

}  // namespace

absl::Span<const SelftestCase> SoftmaxCases() { return kCases; }

}  // namespace flaggems::selftest
