// Cumulative sums, products and extrema.

#include <ATen/ATen.h>

#include <cmath>

#include "tools/precision/selftest/case_util.h"
#include "tools/precision/selftest/selftest_cases.h"

namespace flaggems::selftest {
namespace {

// --- Wrong. All on one dimension. ---

void CarryLost(const NativeCall&, Stack* stack) {
  float sum = 0;
  int64_t i = 0;
  Return(stack, {MapFloat(TensorAt(stack, 0), [&](float x) {
           if (i++ % 8 == 0) sum = 0;
           return sum += x;
         })});
}

void LastLaneRepeats(const NativeCall& native, Stack* stack) {
  native(stack);
  const at::Tensor out = TensorAt(stack, 0);
  for (int64_t i = 4; i < out.numel(); ++i) {
    out.narrow(0, i, 1).copy_(out.narrow(0, 3, 1));
  }
}

void SumInBfloat16(const NativeCall&, Stack* stack) {
  c10::BFloat16 sum = 0;
  Return(stack, {MapFloat(TensorAt(stack, 0).to(at::kFloat), [&](float x) {
                   return static_cast<float>(sum = static_cast<float>(sum) + x);
                 }).to(at::kBFloat16)});
}

void CummaxSkipsNan(const NativeCall& native, Stack* stack) {
  stack->at(0) = at::nan_to_num(TensorAt(stack, 0), -kInf, kInf, -kInf);
  native(stack);
}

void CumprodRestarts(const NativeCall&, Stack* stack) {
  float product = 1;
  int64_t i = 0;
  Return(stack, {MapFloat(TensorAt(stack, 0), [&](float x) {
           if (i++ % 16 == 0) product = 1;
           return product *= x;
         })});
}

void LogcumsumexpOverflows(const NativeCall&, Stack* stack) {
  double sum = 0;
  Return(stack, {MapFloat(TensorAt(stack, 0), [&](float x) {
           sum += std::exp(x);
           return static_cast<float>(std::log(static_cast<float>(sum)));
         })});
}

void FromTheEnd(const NativeCall& native, Stack* stack) {
  const int64_t dim = stack->at(1).toInt();
  if (dim < 0) {
    stack->at(0) = at::flip(TensorAt(stack, 0), {dim});
    native(stack);
    stack->at(0) = at::flip(TensorAt(stack, 0), {dim});
    return;
  }
  native(stack);
}

void Exclusive(const NativeCall& native, Stack* stack) {
  const at::Tensor x = TensorAt(stack, 0);
  native(stack);
  Return(stack, {at::sub(TensorAt(stack, 0), x)});
}

void IntsThroughFloat(const NativeCall& native, Stack* stack) {
  stack->at(0) = TensorAt(stack, 0).to(at::kFloat);
  native(stack);
  Return(stack, {TensorAt(stack, 0).to(at::kLong)});
}

void CumminIndexOfBlock(const NativeCall& native, Stack* stack) {
  native(stack);
  stack->at(1) = at::remainder(TensorAt(stack, 1), 8);
}

// --- Right. ---

// Blocks of 16, then the carries.
void Blocked(const NativeCall&, Stack* stack) {
  float carry = 0, sum = 0;
  int64_t i = 0;
  Return(stack, {MapFloat(TensorAt(stack, 0), [&](float x) {
           if (i++ % 16 == 0) {
             carry += sum;
             sum = 0;
           }
           sum += x;
           return carry + sum;
         })});
}

// Every step adds the element at twice the distance (Kogge and Stone).
void ByDoubling(const NativeCall&, Stack* stack) {
  at::Tensor sum = TensorAt(stack, 0).clone();
  const int64_t n = sum.numel();
  for (int64_t step = 1; step < n; step *= 2) {
    const at::Tensor next = sum.clone();
    next.narrow(0, step, n - step).add_(sum.narrow(0, 0, n - step));
    sum = next;
  }
  Return(stack, {sum});
}

void HalfByFloat(const NativeCall&, Stack* stack) {
  float sum = 0;
  Return(stack, {MapFloat(TensorAt(stack, 0).to(at::kFloat), [&](float x) {
                   return sum += x;
                 }).to(at::kHalf)});
}

void ProductInDouble(const NativeCall&, Stack* stack) {
  double product = 1;
  Return(stack, {MapFloat(TensorAt(stack, 0), [&](float x) {
           return static_cast<float>(product *= x);
         })});
}

CallList CumsumOf(const at::Tensor& x) {
  return Calls("aten::cumsum", {{x, 0}});
}

const SelftestCase kCases[] = {
    {"X851", "scan", "aten::cumsum", "the carry between blocks of 8 is lost",
     Verdict::kFailValue, CarryLost, [] { return CumsumOf(Randn(1, {30})); },
     [] { return CumsumOf(Randn(1, {8})); }},
    {"X852", "scan", "aten::cumsum", "eight ones give 1 2 3 4 4 4 4 4",
     Verdict::kFailValue, LastLaneRepeats,
     [] { return CumsumOf(Filled({8}, 1)); },
     [] { return CumsumOf(Filled({4}, 1)); }},
    {"X853", "scan", "aten::cumsum", "accumulates in bfloat16",
     Verdict::kFailValue, SumInBfloat16,
     [] { return CumsumOf(Filled({300}, 1, at::kBFloat16)); },
     [] { return CumsumOf(Filled({200}, 1, at::kBFloat16)); }},
    {"X854", "scan", "aten::cummax", "a NaN does not carry on",
     Verdict::kFailSpecial, CummaxSkipsNan,
     [] {
       return Calls("aten::cummax", {{F32({1, kNan, 2}), 0}});
     },
     [] {
       return Calls("aten::cummax", {{F32({1, 3, 2}), 0}});
     }},
    {"X855", "scan", "aten::cumprod", "starts again every 16 elements",
     Verdict::kFailValue, CumprodRestarts,
     [] {
       return Calls("aten::cumprod", {{Uniform(5, {20}, .8, 1.2), 0}});
     },
     [] {
       return Calls("aten::cumprod", {{Uniform(5, {16}, .8, 1.2), 0}});
     }},
    {"X856", "scan", "aten::logcumsumexp", "overflows: no maximum is taken out",
     Verdict::kFailSpecial, LogcumsumexpOverflows,
     [] {
       return Calls("aten::logcumsumexp", {{F32({1, 100, 3}), 0}});
     },
     [] {
       return Calls("aten::logcumsumexp", {{F32({1, 2, 3}), 0}});
     }},
    {"X857", "scan", "aten::cumsum", "a negative dim counts from the end",
     Verdict::kFailValue, FromTheEnd,
     [] {
       return Calls("aten::cumsum", {{Randn(7, {3, 9}), -1}});
     },
     [] {
       return Calls("aten::cumsum", {{Randn(7, {3, 9}), 1}});
     }},
    {"X858", "scan", "aten::cumsum", "the element itself is left out",
     Verdict::kFailValue, Exclusive, [] { return CumsumOf(Randn(8, {9})); }},
    {"X859", "scan", "aten::cumsum", "int64 in float32", Verdict::kFailValue,
     IntsThroughFloat,
     [] {
       return CumsumOf(I64({16777216, 1, 1}));
     },
     [] {
       return CumsumOf(I64({1677721, 1, 1}));
     }},
    {"X860", "scan", "aten::cummin", "indices start again every 8 elements",
     Verdict::kFailValue, CumminIndexOfBlock,
     [] {
       return Calls("aten::cummin", {{Iota({12}).neg_(), 0}});
     },
     [] {
       return Calls("aten::cummin", {{Iota({8}).neg_(), 0}});
     }},

    {"Q851", "scan", "aten::cumsum", "blocks of 16 and their carries",
     Verdict::kPass, Blocked, [] { return CumsumOf(Randn(1, {1000})); }},
    {"Q852", "scan", "aten::cumsum", "by doubling distances", Verdict::kPass,
     ByDoubling, [] { return CumsumOf(Randn(2, {1000})); }},
    {"Q853", "scan", "aten::cumsum", "float16 in float32, each rounded once",
     Verdict::kPass, HalfByFloat,
     [] { return CumsumOf(Randn(3, {500}, at::kHalf)); }},
    {"Q854", "scan", "aten::cumprod", "float32 in float64", Verdict::kPass,
     ProductInDouble,
     [] {
       return Calls("aten::cumprod", {{Uniform(4, {200}, .9, 1.1), 0}});
     }},
};

}  // namespace

absl::Span<const SelftestCase> ScanCases() { return kCases; }

}  // namespace flaggems::selftest
