// Matrix products.

#include <ATen/ATen.h>

#include <algorithm>
#include <vector>

#include "tools/precision/selftest/case_util.h"
#include "tools/precision/selftest/selftest_cases.h"

namespace flaggems::selftest {
namespace {

// --- Wrong. ---

void InputsOfTenBits(const NativeCall& native, Stack* stack) {
  stack->at(0) = Truncated(TensorAt(stack, 0), 13);
  stack->at(1) = Truncated(TensorAt(stack, 1), 13);
  native(stack);
}

void InputsOfTenBitsRounded(const NativeCall& native, Stack* stack) {
  stack->at(0) = RoundedTo(TensorAt(stack, 0), 10);
  stack->at(1) = RoundedTo(TensorAt(stack, 1), 10);
  native(stack);
}

void InputsInBfloat16(const NativeCall& native, Stack* stack) {
  stack->at(0) = TensorAt(stack, 0).to(at::kBFloat16).to(at::kFloat);
  stack->at(1) = TensorAt(stack, 1).to(at::kBFloat16).to(at::kFloat);
  native(stack);
}

// A partial step of the k loop reads one slice more than there is: the last
// one again.
void StaleSlice(const NativeCall& native, Stack* stack) {
  const at::Tensor a = TensorAt(stack, 0), b = TensorAt(stack, 1);
  const int64_t k = a.size(1);
  if (k % 32 != 0) {
    stack->at(0) = at::cat({a, a.narrow(1, k - 1, 1)}, 1);
    stack->at(1) = at::cat({b, b.narrow(0, k - 1, 1)}, 0);
  }
  native(stack);
}

void TailOfKMissing(const NativeCall& native, Stack* stack) {
  const at::Tensor a = TensorAt(stack, 0), b = TensorAt(stack, 1);
  const int64_t k = std::max<int64_t>(16, a.size(-1) / 16 * 16);
  stack->at(0) = a.narrow(-1, 0, k);
  stack->at(1) = b.narrow(-2, 0, k);
  native(stack);
}

void MvTailOfKMissing(const NativeCall& native, Stack* stack) {
  const int64_t k = TensorAt(stack, 0).size(1) / 8 * 8;
  stack->at(0) = TensorAt(stack, 0).narrow(1, 0, k);
  stack->at(1) = TensorAt(stack, 1).narrow(0, 0, k);
  native(stack);
}

void BiasRowForAll(const NativeCall& native, Stack* stack) {
  const at::Tensor bias = TensorAt(stack, 0);
  if (bias.dim() == 2) stack->at(0) = bias.narrow(0, 0, 1);
  native(stack);
}

void BetaIgnored(const NativeCall& native, Stack* stack) {
  stack->at(3) = 1;
  native(stack);
}

void AlphaOnBiasToo(const NativeCall& native, Stack* stack) {
  stack->at(0) = at::mul(TensorAt(stack, 0), stack->at(4).toScalar());
  native(stack);
}

// Sums of products in float16, one rounding a step.
void BmmInHalf(const NativeCall&, Stack* stack) {
  const at::Tensor a = TensorAt(stack, 0).to(at::kFloat).contiguous();
  const at::Tensor b = TensorAt(stack, 1).to(at::kFloat).contiguous();
  at::Tensor sum = at::zeros({a.size(0), a.size(1), b.size(2)}, at::kHalf);
  for (int64_t k = 0; k < a.size(2); ++k) {
    const at::Tensor product = at::mul(a.narrow(2, k, 1), b.narrow(1, k, 1));
    sum = at::add(sum.to(at::kFloat), product).to(at::kHalf);
  }
  Return(stack, {sum});
}

void SecondReadLinearly(const NativeCall& native, Stack* stack) {
  stack->at(1) = ReadLinearly(TensorAt(stack, 1));
  native(stack);
}

void FirstBatchForAll(const NativeCall& native, Stack* stack) {
  const at::Tensor b = TensorAt(stack, 1);
  stack->at(1) = b.narrow(0, 0, 1).expand_as(b);
  native(stack);
}

// The product is rounded to bfloat16 before the bias is added.
void ProductRoundedFirst(const NativeCall&, Stack* stack) {
  const at::Tensor product = at::mm(TensorAt(stack, 1), TensorAt(stack, 2));
  Return(stack, {at::add(TensorAt(stack, 0), product)});
}

void IntProductInFloat(const NativeCall& native, Stack* stack) {
  stack->at(0) = TensorAt(stack, 0).to(at::kFloat);
  stack->at(1) = TensorAt(stack, 1).to(at::kFloat);
  native(stack);
  Return(stack, {TensorAt(stack, 0).to(at::kLong)});
}

void LastOfOddRows(const NativeCall& native, Stack* stack) {
  native(stack);
  const at::Tensor out = TensorAt(stack, 0);
  if (out.size(0) % 2 == 1) out.narrow(0, out.size(0) - 1, 1).zero_();
}

// --- Right. ---

void MmExact(const NativeCall&, Stack* stack) {
  Return(stack, {ExactProduct(TensorAt(stack, 0), TensorAt(stack, 1))});
}

void AddmmExact(const NativeCall&, Stack* stack) {
  const at::Tensor product = at::mm(TensorAt(stack, 1).to(at::kDouble),
                                    TensorAt(stack, 2).to(at::kDouble));
  Return(stack,
         {at::add(TensorAt(stack, 0).to(at::kDouble), product).to(at::kFloat)});
}

// Partial products over eight parts of k, added up at the end.
void MmSplitK(const NativeCall& native, Stack* stack) {
  const at::Tensor a = TensorAt(stack, 0), b = TensorAt(stack, 1);
  const int64_t part = (a.size(1) + 7) / 8;
  at::Tensor sum = at::zeros({a.size(0), b.size(1)});
  for (int64_t from = 0; from < a.size(1); from += part) {
    const int64_t size = std::min(part, a.size(1) - from);
    Stack partial = {a.narrow(1, from, size), b.narrow(0, from, size)};
    native(&partial);
    sum = at::add(sum, partial[0].toTensor());
  }
  Return(stack, {sum});
}

// One long chain of float32 additions, from the end.
void MmReversed(const NativeCall&, Stack* stack) {
  const at::Tensor a = TensorAt(stack, 0).contiguous();
  const at::Tensor b = TensorAt(stack, 1).contiguous();
  const int64_t m = a.size(0), k = a.size(1), n = b.size(1);
  const at::Tensor out = at::empty({m, n});
  const float* x = a.const_data_ptr<float>();
  const float* y = b.const_data_ptr<float>();
  float* to = out.mutable_data_ptr<float>();
  for (int64_t i = 0; i < m; ++i) {
    for (int64_t j = 0; j < n; ++j) {
      float sum = 0;
      for (int64_t l = k; l-- > 0;) sum += x[i * k + l] * y[l * n + j];
      to[i * n + j] = sum;
    }
  }
  Return(stack, {out});
}

void SixteenBitInFloat(const NativeCall& native, Stack* stack) {
  const at::ScalarType dtype = TensorAt(stack, 0).scalar_type();
  stack->at(0) = TensorAt(stack, 0).to(at::kFloat);
  stack->at(1) = TensorAt(stack, 1).to(at::kFloat);
  native(stack);
  Return(stack, {TensorAt(stack, 0).to(dtype)});
}

void ByTransposes(const NativeCall& native, Stack* stack) {
  const at::Tensor a = TensorAt(stack, 0), b = TensorAt(stack, 1);
  Return(stack, {b.t(), a.t()});
  native(stack);
  Return(stack, {TensorAt(stack, 0).t().contiguous()});
}

CallList MmOf(int64_t m, int64_t k, int64_t n) {
  return Calls("aten::mm", {{Randn(1, {m, k}), Randn(2, {k, n})}});
}

CallList SmallIntegers() {
  return Calls("aten::mm", {{Uniform(1, {32, 256}, -4, 4).round(),
                             Uniform(2, {256, 32}, -4, 4).round()}});
}

CallList AddmmOf(const at::Tensor& bias, double beta, double alpha) {
  return Calls("aten::addmm",
               {{bias, Randn(2, {5, 16}), Randn(3, {16, 7}), beta, alpha}});
}

CallList BmmOf(int64_t k, at::ScalarType dtype) {
  return Calls("aten::bmm",
               {{Randn(1, {2, 5, k}, dtype), Randn(2, {2, k, 6}, dtype)}});
}

const SelftestCase kCases[] = {
    {"W30", "product", "aten::mm", "inputs lose 13 low bits, as in TF32",
     Verdict::kFailValue, InputsOfTenBits, [] { return MmOf(32, 256, 32); },
     SmallIntegers},
    {"W31", "product", "aten::mm", "a partial step of k adds a stale slice",
     Verdict::kFailValue, StaleSlice, [] { return MmOf(8, 33, 9); },
     [] { return MmOf(8, 32, 9); }},
    {"X501", "product", "aten::mm", "TF32 inputs, rounded, though not allowed",
     Verdict::kFailValue, InputsOfTenBitsRounded,
     [] { return MmOf(16, 64, 16); }, SmallIntegers},
    {"X502", "product", "aten::mm", "inputs are rounded to bfloat16",
     Verdict::kFailValue, InputsInBfloat16, [] { return MmOf(16, 64, 16); },
     SmallIntegers},
    {"X503", "product", "aten::bmm", "the last k mod 16 terms are missing",
     Verdict::kFailValue, TailOfKMissing, [] { return BmmOf(35, at::kFloat); },
     [] { return BmmOf(32, at::kFloat); }},
    {"X504", "product", "aten::mv", "the last k mod 8 terms are missing",
     Verdict::kFailValue, MvTailOfKMissing,
     [] {
       return Calls("aten::mv", {{Randn(1, {5, 19}), Randn(2, {19})}});
     },
     [] {
       return Calls("aten::mv", {{Randn(1, {5, 16}), Randn(2, {16})}});
     }},
    {"X505", "product", "aten::addmm", "every row gets the bias of the first",
     Verdict::kFailValue, BiasRowForAll,
     [] {
       return AddmmOf(Randn(1, {5, 7}), 1, 1);
     },
     [] { return AddmmOf(Randn(1, {7}), 1, 1); }},
    {"X506", "product", "aten::addmm", "beta is ignored", Verdict::kFailValue,
     BetaIgnored, [] { return AddmmOf(Randn(1, {7}), .5, 1); },
     [] { return AddmmOf(Randn(1, {7}), 1, 2); }},
    {"X507", "product", "aten::addmm", "alpha scales the bias too",
     Verdict::kFailValue, AlphaOnBiasToo,
     [] { return AddmmOf(Randn(1, {7}), 1, .5); },
     [] { return AddmmOf(Randn(1, {7}), 2, 1); }},
    {"X508", "product", "aten::bmm", "accumulates in float16",
     Verdict::kFailValue, BmmInHalf, [] { return BmmOf(200, at::kHalf); },
     [] {
       return Calls("aten::bmm", {{Filled({2, 3, 64}, 1, at::kHalf),
                                   Filled({2, 64, 3}, 2, at::kHalf)}});
     }},
    {"X509", "product", "aten::mm",
     "a transposed operand is read as contiguous", Verdict::kFailValue,
     SecondReadLinearly,
     [] {
       return Calls("aten::mm", {{Randn(1, {8, 8}), Randn(2, {8, 8}).t()}});
     },
     [] { return MmOf(8, 8, 8); }},
    {"X510", "product", "aten::bmm",
     "the first batch of the second operand serves all", Verdict::kFailValue,
     FirstBatchForAll, [] { return BmmOf(16, at::kFloat); },
     [] {
       return Calls("aten::bmm", {{Randn(1, {1, 4, 8}), Randn(2, {1, 8, 4})}});
     }},
    {"X511", "product", "aten::addmm",
     "a bfloat16 product is rounded before a cancelling bias is added",
     Verdict::kFailValue, ProductRoundedFirst,
     [] {
       // 16 * 1.0078125^2 is 16.25 and a rest that bfloat16 drops.
       return Calls("aten::addmm",
                    {{Filled({1, 4}, -16.25, at::kBFloat16),
                      Filled({3, 16}, 1.0078125, at::kBFloat16),
                      Filled({16, 4}, 1.0078125, at::kBFloat16)}});
     },
     [] {
       return Calls("aten::addmm", {{Filled({1, 4}, -15, at::kBFloat16),
                                     Filled({3, 16}, 1, at::kBFloat16),
                                     Filled({16, 4}, 1, at::kBFloat16)}});
     }},
    {"X512", "product", "aten::mm", "int64 is multiplied in float32",
     Verdict::kFailValue, IntProductInFloat,
     [] {
       return Calls("aten::mm", {{I64({4097, 3}).view({1, 2}),
                                  I64({4099, 5}).view({2, 1})}});
     },
     [] {
       return Calls("aten::mm",
                    {{I64({47, 3}).view({1, 2}), I64({49, 5}).view({2, 1})}});
     }},
    {"X513", "product", "aten::mm", "the last row of an odd number stays zero",
     Verdict::kFailValue, LastOfOddRows, [] { return MmOf(7, 16, 4); },
     [] { return MmOf(8, 16, 4); }},

    {"R1a", "product", "aten::mm",
     "float32, exact, rounded once, k = 512, 4096", Verdict::kPass, MmExact,
     [] {
       return Calls("aten::mm", {{Randn(1, {8, 512}), Randn(2, {512, 8})},
                                 {Randn(3, {4, 4096}), Randn(4, {4096, 4})}});
     }},
    {"R1b", "product", "aten::addmm",
     "float32, exact, rounded once, k = 512, 4096", Verdict::kPass, AddmmExact,
     [] {
       return Calls(
           "aten::addmm",
           {{Randn(5, {8}), Randn(1, {8, 512}), Randn(2, {512, 8})},
            {Randn(6, {4}), Randn(3, {4, 4096}), Randn(4, {4096, 4})}});
     }},
    {"R11", "product", "aten::mm", "TF32 inputs, allowed by the user",
     Verdict::kPass, InputsOfTenBitsRounded, [] { return MmOf(16, 256, 16); },
     nullptr, /*allow_tf32=*/true},
    {"Q501", "product", "aten::mm", "split over k", Verdict::kPass, MmSplitK,
     [] { return MmOf(16, 500, 16); }},
    {"Q502", "product", "aten::mm", "one chain of additions, from the end",
     Verdict::kPass, MmReversed, [] { return MmOf(8, 2048, 8); }},
    {"Q503", "product", "aten::bmm", "float16 in float32, rounded once",
     Verdict::kPass, SixteenBitInFloat, [] { return BmmOf(300, at::kHalf); }},
    {"Q504", "product", "aten::mm", "bfloat16 in float32, rounded once",
     Verdict::kPass, SixteenBitInFloat,
     [] {
       return Calls("aten::mm", {{Randn(1, {8, 300}, at::kBFloat16),
                                  Randn(2, {300, 8}, at::kBFloat16)}});
     }},
    {"Q505", "product", "aten::mm", "as the transposed product", Verdict::kPass,
     ByTransposes, [] { return MmOf(9, 130, 11); }},
};

}  // namespace

absl::Span<const SelftestCase> ProductCases() { return kCases; }

}  // namespace flaggems::selftest
