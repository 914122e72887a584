// Sorting, selection and search: results that are judged by what they mean.

#include <ATen/ATen.h>

#include <algorithm>
#include <vector>

#include "tools/precision/selftest/case_util.h"
#include "tools/precision/selftest/selftest_cases.h"

namespace flaggems::selftest {
namespace {

// --- Wrong. All on one dimension but where said. ---

void TopkOfTwoPerChunk(const NativeCall& native, Stack* stack) {
  const at::Tensor x = TensorAt(stack, 0);
  std::vector<at::Tensor> values, indices;
  for (int64_t from = 0; from < x.size(0); from += 8) {
    Stack chunk = *stack;
    chunk[0] = x.narrow(0, from, 8);
    chunk[1] = 2;
    native(&chunk);
    values.push_back(chunk[0].toTensor());
    indices.push_back(at::add(chunk[1].toTensor(), from));
  }
  const at::Tensor candidates = at::cat(indices);
  stack->at(0) = at::cat(values);
  native(stack);
  stack->at(1) = at::index_select(candidates, 0, TensorAt(stack, 1));
}

void ArgmaxOffByFifty(const NativeCall& native, Stack* stack) {
  const bool is_large = TensorAt(stack, 0).numel() > 1000;
  native(stack);
  if (is_large) Return(stack, {at::sub(TensorAt(stack, 0), 50)});
}

void SortLosesOne(const NativeCall& native, Stack* stack) {
  // Sorted still, but one value stands twice and one is gone.
  native(stack);
  const at::Tensor values = TensorAt(stack, 0), indices = TensorAt(stack, 1);
  const int64_t n = values.size(0);
  if (n <= 16) return;
  values.narrow(0, 16, 1).copy_(values.narrow(0, 15, 1));
  indices.narrow(0, 16, 1).copy_(indices.narrow(0, 15, 1));
}

void SortIndicesShifted(const NativeCall& native, Stack* stack) {
  native(stack);
  const int64_t n = TensorAt(stack, 1).size(0);
  if (n > 16) stack->at(1) = at::roll(TensorAt(stack, 1), {1}, {0});
}

void DescendingInFirstHalf(const NativeCall& native, Stack* stack) {
  const bool descending = stack->at(2).toBool();
  native(stack);
  if (!descending) return;
  for (const int i : {0, 1}) {
    const at::Tensor out = TensorAt(stack, i);
    const int64_t half = out.size(0) / 2;
    const at::Tensor rest = out.narrow(0, half, out.size(0) - half);
    rest.copy_(at::flip(rest, {0}));
  }
}

void LargestIgnored(const NativeCall& native, Stack* stack) {
  stack->at(3) = true;
  native(stack);
}

void StableBroken(const NativeCall& native, Stack* stack) {
  const at::Tensor x = TensorAt(stack, 0);
  stack->at(0) = at::flip(x, {0});
  native(stack);
  stack->at(1) = at::rsub(TensorAt(stack, 1), x.size(0) - 1);
}

void KthOffByOne(const NativeCall& native, Stack* stack) {
  if (stack->at(1).toInt() > 1) stack->at(1) = stack->at(1).toInt() - 1;
  native(stack);
}

void UniqueWithoutInverse(const NativeCall& native, Stack* stack) {
  native(stack);
  stack->at(1) = at::zeros_like(TensorAt(stack, 1));
}

void CountsUpToTwo(const NativeCall& native, Stack* stack) {
  native(stack);
  stack->at(2) = at::clamp_max(TensorAt(stack, 2), 2);
}

void NonzeroFromTheEnd(const NativeCall& native, Stack* stack) {
  native(stack);
  Return(stack, {at::flip(TensorAt(stack, 0), {0})});
}

void RightIgnored(const NativeCall& native, Stack* stack) {
  stack->at(3) = false;
  native(stack);
}

void UpperMedian(const NativeCall& native, Stack* stack) {
  // Of an even number of elements the upper one of the two in the middle.
  const at::Tensor x = TensorAt(stack, 0);
  stack->at(0) = at::neg(x);
  native(stack);
  Return(stack, {at::neg(TensorAt(stack, 0))});
}

void ModeIsLargest(const NativeCall& native, Stack* stack) {
  const at::Tensor x = TensorAt(stack, 0);
  native(stack);
  // Of equal ones the last, as libtorch has it.
  const int64_t at = x.size(0) - 1 - at::flip(x, {0}).argmax().item<int64_t>();
  Return(stack, {x.select(0, at).clone(), I64({at}).squeeze(0)});
}

void NanSortedFirst(const NativeCall& native, Stack* stack) {
  const at::Tensor x = TensorAt(stack, 0);
  const int64_t nans = at::isnan(x).sum().item<int64_t>();
  native(stack);
  if (nans > 0) {
    stack->at(0) = at::roll(TensorAt(stack, 0), {nans}, {0});
    stack->at(1) = at::roll(TensorAt(stack, 1), {nans}, {0});
  }
}

void BucketizeInHalf(const NativeCall& native, Stack* stack) {
  stack->at(0) = TensorAt(stack, 0).to(at::kHalf).to(at::kFloat);
  native(stack);
}

void TopkUnsortedThoughAsked(const NativeCall& native, Stack* stack) {
  native(stack);
  const int64_t k = TensorAt(stack, 0).size(0);
  if (k <= 2) return;
  stack->at(0) = at::roll(TensorAt(stack, 0), {1}, {0});
  stack->at(1) = at::roll(TensorAt(stack, 1), {1}, {0});
}

void ArgmaxOfFlattened(const NativeCall& native, Stack* stack) {
  // The index counts over the whole tensor, not along the row.
  const at::Tensor x = TensorAt(stack, 0);
  native(stack);
  Return(stack, {at::add(TensorAt(stack, 0),
                         at::mul(at::arange(x.size(0)), x.size(1)))});
}

// --- Right. ---

void TiesTheOtherWay(const NativeCall& native, Stack* stack) {
  const at::Tensor x = TensorAt(stack, 0);
  stack->at(0) = at::flip(x, {0});
  native(stack);
  stack->at(1) = at::rsub(TensorAt(stack, 1), x.size(0) - 1);
}

void TopkInAnyOrder(const NativeCall& native, Stack* stack) {
  native(stack);
  stack->at(0) = at::flip(TensorAt(stack, 0), {0});
  stack->at(1) = at::flip(TensorAt(stack, 1), {0});
}

void UniqueInAnyOrder(const NativeCall& native, Stack* stack) {
  native(stack);
  const int64_t n = TensorAt(stack, 0).size(0);
  stack->at(0) = at::flip(TensorAt(stack, 0), {0});
  stack->at(1) = at::rsub(TensorAt(stack, 1), n - 1);
  stack->at(2) = at::flip(TensorAt(stack, 2), {0});
}

void ArgmaxOfLast(const NativeCall& native, Stack* stack) {
  const at::Tensor x = TensorAt(stack, 0);
  stack->at(0) = at::flip(x, {0});
  native(stack);
  Return(stack, {at::rsub(TensorAt(stack, 0), x.size(0) - 1)});
}

void SearchByCounting(const NativeCall&, Stack* stack) {
  const at::Tensor sorted = TensorAt(stack, 0), values = TensorAt(stack, 1);
  Return(stack, {at::sum(at::lt(sorted, values.unsqueeze(-1)),
                         at::OptionalIntArrayRef({-1}))});
}

at::Tensor Shuffled(uint64_t seed, int64_t n) {
  return Permutation(seed, n).to(at::kFloat);
}

at::Tensor WithTies(uint64_t seed, int64_t n) {
  return at::remainder(Permutation(seed, n), 5).to(at::kFloat);
}

CallList UniqueOf(const at::Tensor& x, bool sorted) {
  return Calls("aten::_unique2", {{x, sorted, true, true}});
}

const SelftestCase kCases[] = {
    {"W36", "sorting", "aten::topk", "keeps two of a chunk of 8 for k = 4",
     Verdict::kFailValue, TopkOfTwoPerChunk,
     [] {
       return Calls("aten::topk", {{at::rsub(Iota({16}), 15), 4, 0}});
     },
     [] {
       return Calls(
           "aten::topk",
           {{F32({9, 1, 2, 8, 0, 1, 2, 3, 4, 7, 1, 2, 6, 3, 2, 1}), 4, 0}});
     }},
    {"W38", "sorting", "aten::argmax", "minus 50 for more than 1000 elements",
     Verdict::kFailValue, ArgmaxOffByFifty,
     [] { return Calls("aten::argmax", {{Iota({1000000})}}); },
     [] { return Calls("aten::argmax", {{Iota({100})}}); }},
    {"X861", "sorting", "aten::sort", "not a permutation: a value stands twice",
     Verdict::kFailValue, SortLosesOne,
     [] { return Calls("aten::sort", {{Shuffled(1, 40)}}); },
     [] { return Calls("aten::sort", {{Shuffled(1, 16)}}); }},
    {"X862", "sorting", "aten::sort", "indices belong to the neighbour",
     Verdict::kFailValue, SortIndicesShifted,
     [] { return Calls("aten::sort", {{Shuffled(2, 40)}}); },
     [] { return Calls("aten::sort", {{Shuffled(2, 16)}}); }},
    {"X863", "sorting", "aten::sort", "the second half ascends all the same",
     Verdict::kFailValue, DescendingInFirstHalf,
     [] {
       return Calls("aten::sort", {{Shuffled(3, 20), 0, true}});
     },
     [] {
       return Calls("aten::sort", {{Shuffled(3, 20), 0, false}});
     }},
    {"X864", "sorting", "aten::topk", "largest = false is ignored",
     Verdict::kFailValue, LargestIgnored,
     [] {
       return Calls("aten::topk", {{Shuffled(4, 20), 3, 0, false}});
     },
     [] {
       return Calls("aten::topk", {{Shuffled(4, 20), 3, 0, true}});
     }},
    {"X865", "sorting", "aten::sort.stable", "equal values change their order",
     Verdict::kFailValue, StableBroken,
     [] {
       return Calls("aten::sort.stable", {{WithTies(5, 20), true, 0}});
     },
     [] {
       return Calls("aten::sort.stable", {{Shuffled(5, 20), true, 0}});
     }},
    {"X866", "sorting", "aten::kthvalue", "the one before the kth",
     Verdict::kFailValue, KthOffByOne,
     [] {
       return Calls("aten::kthvalue", {{Shuffled(6, 20), 4}});
     },
     [] {
       return Calls("aten::kthvalue", {{Shuffled(6, 20), 1}});
     }},
    {"X867", "sorting", "aten::_unique2", "the inverse indices are zero",
     Verdict::kFailValue, UniqueWithoutInverse,
     [] {
       return UniqueOf(I64({3, 1, 3, 2}), true);
     },
     [] {
       return UniqueOf(I64({3, 3, 3}), true);
     }},
    {"X868", "sorting", "aten::_unique2", "counts stop at two",
     Verdict::kFailValue, CountsUpToTwo,
     [] {
       return UniqueOf(I64({3, 1, 3, 3}), true);
     },
     [] {
       return UniqueOf(I64({3, 1, 3, 2}), true);
     }},
    {"X869", "sorting", "aten::nonzero", "from the last to the first",
     Verdict::kFailValue, NonzeroFromTheEnd,
     [] {
       return Calls("aten::nonzero", {{I64({0, 3, 0, 2})}});
     },
     [] {
       return Calls("aten::nonzero", {{I64({0, 3, 0, 0})}});
     }},
    {"X870", "sorting", "aten::searchsorted.Tensor", "right is ignored",
     Verdict::kFailValue, RightIgnored,
     [] {
       return Calls("aten::searchsorted.Tensor",
                    {{F32({1, 2, 3}), F32({2, 2.5}), false, true}});
     },
     [] {
       return Calls("aten::searchsorted.Tensor",
                    {{F32({1, 2, 3}), F32({.5, 2.5}), false, true}});
     }},
    {"X871", "sorting", "aten::median", "the upper of two in the middle",
     Verdict::kFailValue, UpperMedian,
     [] { return Calls("aten::median", {{Shuffled(11, 20)}}); },
     [] { return Calls("aten::median", {{Shuffled(11, 21)}}); }},
    {"X872", "sorting", "aten::mode", "the largest, not the most frequent",
     Verdict::kFailValue, ModeIsLargest,
     [] {
       return Calls("aten::mode", {{F32({1, 2, 2, 3})}});
     },
     [] {
       return Calls("aten::mode", {{F32({1, 2, 3, 3, 3})}});
     }},
    {"X873", "sorting", "aten::sort", "NaN comes first", Verdict::kFailSpecial,
     NanSortedFirst,
     [] {
       return Calls("aten::sort", {{F32({2, kNan, 1, kInf})}});
     },
     [] {
       return Calls("aten::sort", {{F32({2, -kInf, 1, kInf})}});
     }},
    {"X874", "sorting", "aten::bucketize.Tensor",
     "values are rounded to float16 before the search", Verdict::kFailValue,
     BucketizeInHalf,
     [] {
       return Calls("aten::bucketize.Tensor",
                    {{F32({1.0001, 2}), F32({1, 3})}});
     },
     [] {
       return Calls("aten::bucketize.Tensor", {{F32({.5, 2}), F32({1, 3})}});
     }},
    {"X875", "sorting", "aten::topk", "not in order, though sorted = true",
     Verdict::kFailValue, TopkUnsortedThoughAsked,
     [] {
       return Calls("aten::topk", {{Shuffled(15, 20), 5, 0}});
     },
     [] {
       return Calls("aten::topk", {{Shuffled(15, 20), 2, 0}});
     }},
    {"X876", "sorting", "aten::argmax", "the index counts over all rows",
     Verdict::kFailValue, ArgmaxOfFlattened,
     [] {
       return Calls("aten::argmax", {{Randn(16, {3, 9}), 1}});
     },
     [] {
       return Calls("aten::argmax", {{Randn(16, {1, 9}), 1}});
     }},

    {"Q861", "sorting", "aten::sort", "equal values in another order",
     Verdict::kPass, TiesTheOtherWay,
     [] { return Calls("aten::sort", {{WithTies(1, 40)}}); }},
    {"Q862", "sorting", "aten::topk", "in any order for sorted = false",
     Verdict::kPass, TopkInAnyOrder,
     [] {
       return Calls("aten::topk", {{Shuffled(2, 40), 6, 0, true, false}});
     }},
    {"Q863", "sorting", "aten::topk", "other ones of equal values",
     Verdict::kPass, TiesTheOtherWay,
     [] {
       return Calls("aten::topk", {{WithTies(3, 40), 3, 0}});
     }},
    {"Q864", "sorting", "aten::_unique2", "in any order for sorted = false",
     Verdict::kPass, UniqueInAnyOrder,
     [] {
       return UniqueOf(I64({3, 1, 3, 2, 7}), false);
     }},
    {"Q865", "sorting", "aten::median.dim", "another index of the same value",
     Verdict::kPass, TiesTheOtherWay,
     [] {
       return Calls("aten::median.dim", {{F32({2, 1, 2, 3, 2}), 0}});
     }},
    {"Q866", "sorting", "aten::argmax", "the last of equal values",
     Verdict::kPass, ArgmaxOfLast,
     [] {
       return Calls("aten::argmax", {{F32({1, 5, 2, 5}), 0}});
     }},
    {"Q867", "sorting", "aten::kthvalue", "another index of the same value",
     Verdict::kPass, TiesTheOtherWay,
     [] {
       return Calls("aten::kthvalue", {{WithTies(7, 20), 6, 0}});
     }},
    {"Q868", "sorting", "aten::searchsorted.Tensor", "by counting",
     Verdict::kPass, SearchByCounting,
     [] {
       return Calls("aten::searchsorted.Tensor",
                    {{F32({1, 2, 2, 3}), F32({0, 2, 2.5, 9})}});
     }},
};

}  // namespace

absl::Span<const SelftestCase> SortingCases() { return kCases; }

}  // namespace flaggems::selftest
