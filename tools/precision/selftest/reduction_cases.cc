// Sums, extrema, variances and other reductions.

#include <ATen/ATen.h>

#include <algorithm>
#include <cmath>

#include "tools/precision/selftest/case_util.h"
#include "tools/precision/selftest/selftest_cases.h"

namespace flaggems::selftest {
namespace {

// The sum of a vector with every partial sum rounded to T.
template <typename T>
T SumIn(const at::Tensor& x) {
  const at::Tensor in = x.to(at::kFloat).contiguous();
  const float* values = in.const_data_ptr<float>();
  T sum = 0;
  for (int64_t i = 0; i < in.numel(); ++i) {
    sum = static_cast<T>(static_cast<float>(sum) + values[i]);
  }
  return sum;
}

double ExactSum(const at::Tensor& x) {
  const at::Tensor in = x.to(at::kDouble).contiguous();
  const double* values = in.const_data_ptr<double>();
  // Neumaier's sum: the lost low parts are collected.
  double sum = 0, lost = 0;
  for (int64_t i = 0; i < in.numel(); ++i) {
    const double next = sum + values[i];
    lost += std::fabs(sum) >= std::fabs(values[i]) ? (sum - next) + values[i]
                                                   : (values[i] - next) + sum;
    sum = next;
  }
  return sum + lost;
}

at::Tensor ScalarLike(const at::Tensor& x, double value) {
  return Filled({}, value, x.scalar_type());
}

// --- Wrong. ---

void SumInInputDtype(const NativeCall& native, Stack* stack) {
  const at::ScalarType dtype = TensorAt(stack, 0).scalar_type();
  native(stack);
  Return(stack, {TensorAt(stack, 0).to(dtype)});
}

void MaxWithoutNan(const NativeCall& native, Stack* stack) {
  stack->at(0) = at::nan_to_num(TensorAt(stack, 0), -kInf, kInf, -kInf);
  native(stack);
}

void VarWithoutCorrection(const NativeCall& native, Stack* stack) {
  stack->at(2) = 0;
  native(stack);
}

void SumInHalf(const NativeCall&, Stack* stack) {
  const at::Tensor x = TensorAt(stack, 0);
  Return(stack, {ScalarLike(x, SumIn<c10::Half>(x))});
}

void MeanInBfloat16(const NativeCall&, Stack* stack) {
  const at::Tensor x = TensorAt(stack, 0);
  const float sum = SumIn<c10::BFloat16>(x);
  Return(stack, {ScalarLike(x, sum / x.numel())});
}

void SumOfNoDims(const NativeCall& native, Stack* stack) {
  const at::Tensor x = TensorAt(stack, 0);
  const c10::IValue dims = stack->at(1);
  if (!dims.isNone() && dims.toIntVector().empty()) {
    Return(stack, {x.clone()});
    return;
  }
  native(stack);
}

void SumWithoutKeepdim(const NativeCall& native, Stack* stack) {
  stack->at(2) = false;
  native(stack);
}

void AmaxTailAgainstZero(const NativeCall& native, Stack* stack) {
  const bool padded = TensorAt(stack, 0).size(-1) % 8 != 0;
  native(stack);
  if (padded) Return(stack, {at::clamp_min(TensorAt(stack, 0), 0)});
}

void MeanOfAllButLast(const NativeCall& native, Stack* stack) {
  const at::Tensor x = TensorAt(stack, 0);
  stack->at(0) = x.narrow(0, 0, x.size(0) - 1);
  native(stack);
}

void MeanOverOneLess(const NativeCall& native, Stack* stack) {
  const at::Tensor x = TensorAt(stack, 0);
  const double n = x.size(0);
  native(stack);
  TensorAt(stack, 0).mul_(n / (n - 1));
}

void ProdSkipsNan(const NativeCall& native, Stack* stack) {
  stack->at(0) = at::nan_to_num(TensorAt(stack, 0), 1, kInf, -kInf);
  native(stack);
}

void SumSkipsNan(const NativeCall& native, Stack* stack) {
  stack->at(0) = at::nan_to_num(TensorAt(stack, 0), 0, kInf, -kInf);
  native(stack);
}

void ArgminOfPadded(const NativeCall& native, Stack* stack) {
  const at::Tensor x = TensorAt(stack, 0);
  const int64_t rest = x.size(1) % 32;
  if (rest != 0) stack->at(0) = at::constant_pad_nd(x, {0, 32 - rest}, 0);
  native(stack);
}

void AnyOfFirstEight(const NativeCall& native, Stack* stack) {
  const at::Tensor x = TensorAt(stack, 0);
  stack->at(0) = x.narrow(1, 0, std::min<int64_t>(8, x.size(1)));
  native(stack);
}

void AllOfFirstRow(const NativeCall& native, Stack* stack) {
  stack->at(0) = TensorAt(stack, 0).narrow(0, 0, 1);
  native(stack);
}

void SumInInt8(const NativeCall&, Stack* stack) {
  const at::Tensor in = TensorAt(stack, 0).contiguous();
  const int8_t* values = in.const_data_ptr<int8_t>();
  uint8_t sum = 0;
  for (int64_t i = 0; i < in.numel(); ++i) {
    sum = static_cast<uint8_t>(sum + values[i]);
  }
  Return(stack, {Filled({}, static_cast<int8_t>(sum), at::kLong)});
}

void LogsumexpWithoutMax(const NativeCall&, Stack* stack) {
  Return(stack,
         {at::log(at::sum(at::exp(TensorAt(stack, 0)),
                          stack->at(1).toIntVector(), stack->at(2).toBool()))});
}

void SumDimOfStorage(const NativeCall& native, Stack* stack) {
  stack->at(0) = ReadLinearly(TensorAt(stack, 0));
  native(stack);
}

void VarBySquares(const NativeCall&, Stack* stack) {
  const at::Tensor in = TensorAt(stack, 0).contiguous();
  const float* values = in.const_data_ptr<float>();
  const float n = in.numel();
  float sum = 0, squares = 0;
  for (int64_t i = 0; i < in.numel(); ++i) {
    sum += values[i];
    squares += values[i] * values[i];
  }
  const float mean = sum / n;
  Return(stack, {ScalarLike(in, (squares / n - mean * mean) * n / (n - 1))});
}

void AminOfMagnitude(const NativeCall& native, Stack* stack) {
  stack->at(0) = TensorAt(stack, 0).abs();
  native(stack);
}

void AmaxIntsInFloat(const NativeCall& native, Stack* stack) {
  stack->at(0) = TensorAt(stack, 0).to(at::kFloat);
  native(stack);
  Return(stack, {TensorAt(stack, 0).to(at::kLong)});
}

void NormWithoutRoot(const NativeCall& native, Stack* stack) {
  native(stack);
  Return(stack, {at::square(TensorAt(stack, 0))});
}

void StdDivergesInSecondRow(const NativeCall& native, Stack* stack) {
  native(stack);
  const at::Tensor out = TensorAt(stack, 0);
  if (out.numel() > 1) out.narrow(0, 1, out.numel() - 1).mul_(1.0001);
}

// --- Right. ---

void SumExact(const NativeCall&, Stack* stack) {
  const at::Tensor x = TensorAt(stack, 0);
  Return(stack, {ScalarLike(x, ExactSum(x))});
}

void MaxOtherIndex(const NativeCall& native, Stack* stack) {
  const at::Tensor x = TensorAt(stack, 0);
  const int64_t dim = stack->at(1).toInt();
  stack->at(0) = at::flip(x, {dim});
  native(stack);
  // The last of equal values instead of the first.
  const at::Tensor index = at::rsub(TensorAt(stack, 1), x.size(dim) - 1);
  Return(stack, {stack->at(0), index});
}

void SumBlocked(const NativeCall&, Stack* stack) {
  const at::Tensor in = TensorAt(stack, 0).contiguous();
  const float* values = in.const_data_ptr<float>();
  float sum = 0;
  for (int64_t from = 0; from < in.numel(); from += 64) {
    float block = 0;
    for (int64_t i = from; i < std::min(from + 64, in.numel()); ++i) {
      block += values[i];
    }
    sum += block;
  }
  Return(stack, {ScalarLike(in, sum)});
}

void SumReversed(const NativeCall&, Stack* stack) {
  const at::Tensor in = TensorAt(stack, 0).contiguous();
  const float* values = in.const_data_ptr<float>();
  float sum = 0;
  for (int64_t i = in.numel(); i-- > 0;) sum += values[i];
  Return(stack, {ScalarLike(in, sum)});
}

float PairwiseSum(const float* values, int64_t n) {
  if (n <= 2) return n == 0 ? 0 : n == 1 ? values[0] : values[0] + values[1];
  return PairwiseSum(values, n / 2) + PairwiseSum(values + n / 2, n - n / 2);
}

void SumPairwise(const NativeCall&, Stack* stack) {
  const at::Tensor in = TensorAt(stack, 0).contiguous();
  Return(stack,
         {ScalarLike(in, PairwiseSum(in.const_data_ptr<float>(), in.numel()))});
}

void SumByFloat(const NativeCall&, Stack* stack) {
  const at::Tensor x = TensorAt(stack, 0);
  Return(stack, {ScalarLike(x, SumIn<float>(x))});
}

void MeanByFloat(const NativeCall&, Stack* stack) {
  const at::Tensor x = TensorAt(stack, 0);
  Return(stack, {ScalarLike(x, SumIn<float>(x) / x.numel())});
}

void VarByWelford(const NativeCall&, Stack* stack) {
  const at::Tensor in = TensorAt(stack, 0).contiguous();
  const float* values = in.const_data_ptr<float>();
  float mean = 0, squares = 0;
  for (int64_t i = 0; i < in.numel(); ++i) {
    const float delta = values[i] - mean;
    mean += delta / (i + 1);
    squares += delta * (values[i] - mean);
  }
  Return(stack, {ScalarLike(in, squares / (in.numel() - 1))});
}

void VarByTwoPasses(const NativeCall&, Stack* stack) {
  const at::Tensor in = TensorAt(stack, 0).contiguous();
  const float* values = in.const_data_ptr<float>();
  const float mean =
      PairwiseSum(values, in.numel()) / static_cast<float>(in.numel());
  float squares = 0;
  for (int64_t i = 0; i < in.numel(); ++i) {
    squares += (values[i] - mean) * (values[i] - mean);
  }
  Return(stack, {ScalarLike(in, squares / (in.numel() - 1))});
}

void LogsumexpShifted(const NativeCall&, Stack* stack) {
  const at::Tensor x = TensorAt(stack, 0);
  const std::vector<int64_t> dims = stack->at(1).toIntVector();
  const at::Tensor shift = at::amax(x, dims, /*keepdim=*/true);
  const at::Tensor sum = at::sum(at::exp(at::sub(x, shift)), dims, true);
  const at::Tensor out = at::add(at::log(sum), shift);
  Return(stack, {stack->at(2).toBool() ? out : out.squeeze(dims[0])});
}

CallList SumOf(const at::Tensor& x) { return Calls("aten::sum", {{x}}); }

// Blocks of +1e8 and -1e8 with noise: the sum is that of the noise.
at::Tensor Cancelling() {
  const at::Tensor x = Filled({4, 256}, 1e8);
  x.narrow(0, 1, 1).neg_();
  x.narrow(0, 3, 1).neg_();
  return x.add_(Randn(3, {4, 256}).mul_(100)).view({-1});
}

const SelftestCase kCases[] = {
    {"W05", "reduction", "aten::sum", "the sum has the input's dtype",
     Verdict::kFailDtype, SumInInputDtype,
     [] {
       return SumOf(I32({1, 2, 3}));
     },
     [] {
       return SumOf(I64({1, 2, 3}));
     }},
    {"W19", "reduction", "aten::max", "a NaN counts as -inf",
     Verdict::kFailSpecial, MaxWithoutNan,
     [] {
       return Calls("aten::max", {{F32({1, kNan})}});
     },
     [] {
       return Calls("aten::max", {{F32({1, 2})}});
     }},
    {"W21", "reduction", "aten::var.correction",
     "the correction is ignored: divides by n", Verdict::kFailValue,
     VarWithoutCorrection,
     [] {
       return Calls("aten::var.correction", {{Randn(21, {100000}), kNone, 1}});
     },
     [] {
       return Calls("aten::var.correction", {{Filled({8}, 3), kNone, 1}});
     }},
    {"W23", "reduction", "aten::sum", "accumulates in float16",
     Verdict::kFailValue, SumInHalf,
     [] { return SumOf(Filled({4096}, 1, at::kHalf)); },
     [] { return SumOf(Filled({2048}, 1, at::kHalf)); }},
    {"X201", "reduction", "aten::mean", "accumulates in bfloat16",
     Verdict::kFailValue, MeanInBfloat16,
     [] { return Calls("aten::mean", {{Filled({1000}, 1, at::kBFloat16)}}); },
     [] { return Calls("aten::mean", {{Filled({128}, 1, at::kBFloat16)}}); }},
    {"X202", "reduction", "aten::sum.dim_IntList",
     "an empty list of dims reduces nothing", Verdict::kFailShape, SumOfNoDims,
     [] {
       return Calls("aten::sum.dim_IntList", {{Iota({4}), Ints({})}});
     },
     [] {
       return Calls("aten::sum.dim_IntList", {{Iota({4}), Ints({0})}});
     }},
    {"X203", "reduction", "aten::sum.dim_IntList", "keepdim is lost",
     Verdict::kFailShape, SumWithoutKeepdim,
     [] {
       return Calls("aten::sum.dim_IntList",
                    {{Randn(3, {4, 5}), Ints({1}), true}});
     },
     [] {
       return Calls("aten::sum.dim_IntList",
                    {{Randn(3, {4, 5}), Ints({1}), false}});
     }},
    {"X204", "reduction", "aten::amax", "lanes of the tail are masked with 0",
     Verdict::kFailValue, AmaxTailAgainstZero,
     [] {
       return Calls("aten::amax", {{Uniform(4, {3, 13}, -2, -1), Ints({1})}});
     },
     [] {
       return Calls("aten::amax", {{Uniform(4, {3, 16}, -2, -1), Ints({1})}});
     }},
    {"X205", "reduction", "aten::mean.dim", "the last term is missing",
     Verdict::kFailValue, MeanOfAllButLast,
     [] {
       return Calls("aten::mean.dim", {{Randn(5, {10}), Ints({0})}});
     },
     [] {
       return Calls("aten::mean.dim", {{Filled({10}, 3), Ints({0})}});
     }},
    {"X206", "reduction", "aten::mean.dim", "divides by n - 1",
     Verdict::kFailValue, MeanOverOneLess,
     [] {
       return Calls("aten::mean.dim", {{Uniform(6, {4096}, 0, 1), Ints({0})}});
     }},
    {"X207", "reduction", "aten::prod", "a NaN is skipped",
     Verdict::kFailSpecial, ProdSkipsNan,
     [] {
       return Calls("aten::prod", {{F32({2, kNan, 3})}});
     },
     [] {
       return Calls("aten::prod", {{F32({2, 3})}});
     }},
    {"X208", "reduction", "aten::sum", "a NaN is skipped",
     Verdict::kFailSpecial, SumSkipsNan,
     [] {
       return SumOf(F32({2, kNan, 3}));
     },
     [] {
       return SumOf(F32({2, kInf, 3}));
     }},
    {"X209", "reduction", "aten::argmin",
     "the padding of a row wins, its index is out of range",
     Verdict::kFailValue, ArgminOfPadded,
     [] {
       return Calls("aten::argmin", {{Uniform(9, {32, 20}, 1, 2), 1}});
     },
     [] {
       return Calls("aten::argmin", {{Uniform(9, {20, 32}, 1, 2), 1}});
     }},
    {"X210", "reduction", "aten::any.dim", "reads the first 8 of a row",
     Verdict::kFailValue, AnyOfFirstEight,
     [] {
       return Calls("aten::any.dim",
                    {{at::eq(Iota({2, 12}).remainder(12), 9), 1}});
     },
     [] {
       return Calls("aten::any.dim",
                    {{at::eq(Iota({2, 12}).remainder(12), 3), 1}});
     }},
    {"X211", "reduction", "aten::all", "reads the first row",
     Verdict::kFailValue, AllOfFirstRow,
     [] {
       return Calls("aten::all", {{Bools({1, 1, 1, 0}).view({2, 2})}});
     },
     [] {
       return Calls("aten::all", {{Bools({1, 0, 1, 1}).view({2, 2})}});
     }},
    {"X212", "reduction", "aten::sum", "int8 wraps around within the sum",
     Verdict::kFailValue, SumInInt8,
     [] { return SumOf(Filled({5}, 100, at::kChar)); },
     [] { return SumOf(Filled({5}, 10, at::kChar)); }},
    {"X213", "reduction", "aten::logsumexp",
     "overflows: no maximum is taken out", Verdict::kFailSpecial,
     LogsumexpWithoutMax,
     [] {
       return Calls("aten::logsumexp", {{F32({100, 99}), Ints({0})}});
     },
     [] {
       return Calls("aten::logsumexp", {{F32({2, 1}), Ints({0})}});
     }},
    {"X214", "reduction", "aten::sum.dim_IntList",
     "a transposed input is read as contiguous", Verdict::kFailValue,
     SumDimOfStorage,
     [] {
       return Calls("aten::sum.dim_IntList",
                    {{Randn(14, {8, 8}).t(), Ints({1})}});
     },
     [] {
       return Calls("aten::sum.dim_IntList", {{Randn(14, {8, 8}), Ints({1})}});
     }},
    {"X215", "reduction", "aten::var.correction",
     "mean of squares minus square of mean in float32", Verdict::kFailValue,
     VarBySquares,
     [] {
       return Calls("aten::var.correction",
                    {{Randn(15, {64}).add_(10000), kNone, 1}});
     },
     [] {
       return Calls("aten::var.correction",
                    {{F32({1, -1, 2, -2, 4, -4, 8, -8}), kNone, 1}});
     }},
    {"X216", "reduction", "aten::amin", "the smallest magnitude",
     Verdict::kFailValue, AminOfMagnitude,
     [] {
       return Calls("aten::amin", {{Randn(16, {5, 9}), Ints({1})}});
     },
     [] {
       return Calls("aten::amin", {{Uniform(16, {5, 9}, 1, 2), Ints({1})}});
     }},
    {"X217", "reduction", "aten::amax", "int64 is folded in float32",
     Verdict::kFailValue, AmaxIntsInFloat,
     [] {
       return Calls("aten::amax", {{I64({16777217, 3}), Ints({0})}});
     },
     [] {
       return Calls("aten::amax", {{I64({1677721, 3}), Ints({0})}});
     }},
    {"X218", "reduction", "aten::linalg_vector_norm", "the root is missing",
     Verdict::kFailValue, NormWithoutRoot,
     [] {
       return Calls("aten::linalg_vector_norm", {{F32({3, 4})}});
     },
     [] {
       return Calls("aten::linalg_vector_norm", {{F32({1, 0})}});
     }},
    {"X219", "reduction", "aten::std.correction",
     "rows after the first are off by 1e-4", Verdict::kFailValue,
     StdDivergesInSecondRow,
     [] {
       return Calls("aten::std.correction", {{Randn(19, {3, 50}), Ints({1})}});
     },
     [] {
       return Calls("aten::std.correction", {{Randn(19, {1, 50}), Ints({1})}});
     }},

    {"R3", "reduction", "aten::sum", "exact, where +1e8 and -1e8 cancel",
     Verdict::kPass, SumExact, [] { return SumOf(Cancelling()); }},
    {"R5", "reduction", "aten::max.dim", "the last of equal values",
     Verdict::kPass, MaxOtherIndex,
     [] {
       return Calls("aten::max.dim",
                    {{F32({1, 3, 3, 2, 2, 2, 5, 1, 5}).view({3, 3}), 1}});
     }},
    {"Q201", "reduction", "aten::sum", "blocks of 64", Verdict::kPass,
     SumBlocked, [] { return SumOf(Randn(1, {5000})); }},
    {"Q202", "reduction", "aten::sum", "from the last to the first",
     Verdict::kPass, SumReversed, [] { return SumOf(Randn(2, {5000})); }},
    {"Q203", "reduction", "aten::sum", "pairwise", Verdict::kPass, SumPairwise,
     [] { return SumOf(Randn(3, {5000})); }},
    {"Q204", "reduction", "aten::sum", "compensated", Verdict::kPass, SumExact,
     [] { return SumOf(Randn(4, {5000})); }},
    {"Q205", "reduction", "aten::sum", "float16 in float32, rounded once",
     Verdict::kPass, SumByFloat,
     [] { return SumOf(Randn(5, {3000}, at::kHalf)); }},
    {"Q206", "reduction", "aten::mean", "bfloat16 in float32, rounded once",
     Verdict::kPass, MeanByFloat,
     [] { return Calls("aten::mean", {{Randn(6, {3000}, at::kBFloat16)}}); }},
    {"Q207", "reduction", "aten::var.correction", "Welford's update in float32",
     Verdict::kPass, VarByWelford,
     [] {
       return Calls("aten::var.correction", {{Randn(7, {1000}), kNone, 1}});
     }},
    {"Q208", "reduction", "aten::var.correction", "two passes in float32",
     Verdict::kPass, VarByTwoPasses,
     [] {
       return Calls("aten::var.correction", {{Randn(8, {1000}), kNone, 1}});
     }},
    {"Q209", "reduction", "aten::logsumexp", "shifted by the maximum",
     Verdict::kPass, LogsumexpShifted,
     [] {
       return Calls("aten::logsumexp", {{Randn(9, {7, 90}), Ints({1})}});
     }},
};

}  // namespace

absl::Span<const SelftestCase> ReductionCases() { return kCases; }

}  // namespace flaggems::selftest
