// Views, copies and the layout of results.

#include <ATen/ATen.h>

#include <algorithm>
#include <vector>

#include "tools/precision/selftest/case_util.h"
#include "tools/precision/selftest/selftest_cases.h"

namespace flaggems::selftest {
namespace {

// --- Wrong. ---

void ContiguousFirst(const NativeCall& native, Stack* stack) {
  stack->at(0) = TensorAt(stack, 0).contiguous();
  native(stack);
}

void ContiguousResult(const NativeCall& native, Stack* stack) {
  native(stack);
  Return(stack, {TensorAt(stack, 0).contiguous()});
}

void CloneIsNone(const NativeCall&, Stack* stack) {
  Return(stack, {TensorAt(stack, 0)});
}

void CloneIgnoresFormat(const NativeCall& native, Stack* stack) {
  stack->at(1) = c10::IValue();
  native(stack);
}

void CatInFirstDtype(const NativeCall& native, Stack* stack) {
  std::vector<at::Tensor> tensors = stack->at(0).toTensorVector();
  for (at::Tensor& tensor : tensors) {
    tensor = tensor.to(tensors[0].scalar_type());
  }
  stack->at(0) = tensors;
  native(stack);
}

void CatRepeatsSecond(const NativeCall& native, Stack* stack) {
  // From the third tensor on the second is copied again.
  std::vector<at::Tensor> tensors = stack->at(0).toTensorVector();
  for (size_t i = 2; i < tensors.size(); ++i) tensors[i] = tensors[1];
  stack->at(0) = tensors;
  native(stack);
}

void FlipsFirstRow(const NativeCall& native, Stack* stack) {
  const at::Tensor x = TensorAt(stack, 0);
  native(stack);
  const int64_t rest = x.size(0) - 1;
  if (rest > 0)
    TensorAt(stack, 0).narrow(0, 1, rest).copy_(x.narrow(0, 1, rest));
}

void RollByMagnitude(const NativeCall& native, Stack* stack) {
  std::vector<int64_t> shifts = stack->at(1).toIntVector();
  for (int64_t& shift : shifts) shift = std::abs(shift);
  stack->at(1) = shifts;
  native(stack);
}

void SliceIsCopy(const NativeCall& native, Stack* stack) {
  native(stack);
  Return(stack, {TensorAt(stack, 0).clone()});
}

void OffsetIgnored(const NativeCall& native, Stack* stack) {
  stack->at(3) = 0;
  native(stack);
}

void NegativeSelectsFirst(const NativeCall& native, Stack* stack) {
  stack->at(2) = std::max<int64_t>(0, stack->at(2).toInt());
  native(stack);
}

void PermuteInverse(const NativeCall& native, Stack* stack) {
  const std::vector<int64_t> dims = stack->at(1).toIntVector();
  std::vector<int64_t> inverse(dims.size());
  for (size_t i = 0; i < dims.size(); ++i) inverse[dims[i]] = i;
  stack->at(1) = inverse;
  native(stack);
}

void RepeatsElements(const NativeCall&, Stack* stack) {
  Return(stack, {at::repeat_interleave(TensorAt(stack, 0),
                                       stack->at(1).toIntVector().at(0))});
}

void PadsWithZero(const NativeCall& native, Stack* stack) {
  stack->at(2) = 0;
  native(stack);
}

void DiagonalOfRows(const NativeCall& native, Stack* stack) {
  const int64_t offset = stack->at(1).toInt();
  stack->at(1) = -offset;
  native(stack);
}

// --- Right. ---

void CatByCopies(const NativeCall&, Stack* stack) {
  const std::vector<at::Tensor> tensors = stack->at(0).toTensorVector();
  int64_t size = 0;
  for (const at::Tensor& tensor : tensors) size += tensor.size(0);
  const at::Tensor out =
      at::empty({size, tensors[0].size(1)}, tensors[0].options());
  int64_t from = 0;
  for (const at::Tensor& tensor : tensors) {
    out.narrow(0, from, tensor.size(0)).copy_(tensor);
    from += tensor.size(0);
  }
  Return(stack, {out});
}

void FlipBySelect(const NativeCall&, Stack* stack) {
  const at::Tensor x = TensorAt(stack, 0);
  const at::Tensor order =
      at::rsub(Iota({x.size(1)}, at::kLong), x.size(1) - 1);
  Return(stack, {at::index_select(x, 1, order)});
}

void RollByCat(const NativeCall&, Stack* stack) {
  const at::Tensor x = TensorAt(stack, 0);
  const int64_t n = x.size(0);
  const int64_t shift = ((stack->at(1).toIntVector().at(0) % n) + n) % n;
  Return(stack,
         {at::cat({x.narrow(0, n - shift, shift), x.narrow(0, 0, n - shift)})});
}

void CloneByCopy(const NativeCall&, Stack* stack) {
  const at::Tensor x = TensorAt(stack, 0);
  const at::Tensor out = at::empty_like(x);
  out.copy_(x);
  Return(stack, {out});
}

void PadByCopy(const NativeCall&, Stack* stack) {
  const at::Tensor x = TensorAt(stack, 0);
  const std::vector<int64_t> pad = stack->at(1).toIntVector();
  const at::Tensor out =
      Filled({x.size(0), pad[0] + x.size(1) + pad[1]},
             stack->at(2).toScalar().toDouble(), x.scalar_type());
  out.narrow(1, pad[0], x.size(1)).copy_(x);
  Return(stack, {out});
}

at::Tensor ChannelsLast() {
  return Randn(6, {2, 4, 5, 3}).permute({0, 3, 1, 2});
}

std::vector<at::Tensor> Several(int64_t n) {
  std::vector<at::Tensor> tensors;
  for (int64_t i = 0; i < n; ++i) tensors.push_back(Randn(i, {2, 3}));
  return tensors;
}

const SelftestCase kCases[] = {
    {"W06", "view", "aten::relu", "the argument is made contiguous first",
     Verdict::kFailLayout, ContiguousFirst,
     [] { return Calls("aten::relu", {{ChannelsLast()}}); },
     [] {
       return Calls("aten::relu", {{Randn(6, {2, 3, 4, 5})}});
     }},
    {"X941", "view", "aten::add.Tensor",
     "the sum of two transposed tensors is contiguous", Verdict::kFailLayout,
     ContiguousResult,
     [] {
       return Calls("aten::add.Tensor",
                    {{Randn(1, {3, 4}).t(), Randn(2, {3, 4}).t()}});
     },
     [] {
       return Calls("aten::add.Tensor", {{Randn(1, {3, 4}), Randn(2, {3, 4})}});
     }},
    {"X942", "view", "aten::clone", "returns its argument", Verdict::kFailAlias,
     CloneIsNone, [] { return Calls("aten::clone", {{Randn(2, {5})}}); }},
    {"X943", "view", "aten::clone", "the memory format is ignored",
     Verdict::kFailLayout, CloneIgnoresFormat,
     [] {
       return Calls("aten::clone",
                    {{Randn(3, {2, 3, 4, 5}), at::MemoryFormat::ChannelsLast}});
     },
     [] {
       return Calls("aten::clone",
                    {{Randn(3, {2, 3, 4, 5}), at::MemoryFormat::Contiguous}});
     }},
    {"X944", "view", "aten::cat", "the result has the first tensor's dtype",
     Verdict::kFailDtype, CatInFirstDtype,
     [] {
       return Calls("aten::cat",
                    {{std::vector<at::Tensor>{I64({1, 2}), F32({.5})}, 0}});
     },
     [] {
       return Calls("aten::cat",
                    {{std::vector<at::Tensor>{F32({1, 2}), F32({.5})}, 0}});
     }},
    {"X945", "view", "aten::cat", "from the third tensor on the second again",
     Verdict::kFailValue, CatRepeatsSecond,
     [] {
       return Calls("aten::cat", {{Several(3), 0}});
     },
     [] {
       return Calls("aten::cat", {{Several(2), 0}});
     }},
    {"X946", "view", "aten::flip", "only the first row is flipped",
     Verdict::kFailValue, FlipsFirstRow,
     [] {
       return Calls("aten::flip", {{Randn(6, {3, 4}), Ints({1})}});
     },
     [] {
       return Calls("aten::flip", {{Randn(6, {1, 4}), Ints({1})}});
     }},
    {"X947", "view", "aten::roll", "a negative shift goes the other way",
     Verdict::kFailValue, RollByMagnitude,
     [] {
       return Calls("aten::roll", {{Randn(7, {9}), Ints({-2}), Ints({0})}});
     },
     [] {
       return Calls("aten::roll", {{Randn(7, {9}), Ints({2}), Ints({0})}});
     }},
    {"X948", "view", "aten::slice.Tensor", "returns a copy, not a view",
     Verdict::kFailAlias, SliceIsCopy,
     [] {
       return Calls("aten::slice.Tensor", {{Randn(8, {9}), 0, 2, 6}});
     }},
    {"X949", "view", "aten::as_strided", "the storage offset is ignored",
     Verdict::kFailValue, OffsetIgnored,
     [] {
       return Calls("aten::as_strided",
                    {{Randn(9, {9}), Ints({2, 2}), Ints({3, 1}), 2}});
     },
     [] {
       return Calls("aten::as_strided",
                    {{Randn(9, {9}), Ints({2, 2}), Ints({3, 1}), 0}});
     }},
    {"X950", "view", "aten::select.int", "a negative index selects the first",
     Verdict::kFailValue, NegativeSelectsFirst,
     [] {
       return Calls("aten::select.int", {{Randn(10, {4, 3}), 0, -1}});
     },
     [] {
       return Calls("aten::select.int", {{Randn(10, {4, 3}), 0, 3}});
     }},
    {"X951", "view", "aten::permute", "the inverse permutation",
     Verdict::kFailShape, PermuteInverse,
     [] {
       return Calls("aten::permute", {{Randn(1, {2, 3, 4}), Ints({2, 0, 1})}});
     },
     [] {
       return Calls("aten::permute", {{Randn(1, {2, 3, 4}), Ints({1, 0, 2})}});
     }},
    {"X952", "view", "aten::repeat", "each element is repeated, not the whole",
     Verdict::kFailValue, RepeatsElements,
     [] {
       return Calls("aten::repeat", {{Randn(12, {4}), Ints({3})}});
     },
     [] {
       return Calls("aten::repeat", {{Randn(12, {1}), Ints({3})}});
     }},
    {"X953", "view", "aten::constant_pad_nd", "the value is ignored",
     Verdict::kFailValue, PadsWithZero,
     [] {
       return Calls("aten::constant_pad_nd",
                    {{Randn(1, {4}), Ints({1, 2}), 7}});
     },
     [] {
       return Calls("aten::constant_pad_nd",
                    {{Randn(1, {4}), Ints({1, 2}), 0}});
     }},
    {"X954", "view", "aten::diagonal_copy", "above and below are swapped",
     Verdict::kFailValue, DiagonalOfRows,
     [] {
       return Calls("aten::diagonal_copy", {{Randn(14, {4, 4}), 1}});
     },
     [] {
       return Calls("aten::diagonal_copy", {{Randn(14, {4, 4}), 0}});
     }},

    {"Q941", "view", "aten::cat", "copied piece by piece", Verdict::kPass,
     CatByCopies,
     [] {
       return Calls("aten::cat", {{Several(4), 0}});
     }},
    {"Q942", "view", "aten::flip", "by index_select", Verdict::kPass,
     FlipBySelect,
     [] {
       return Calls("aten::flip", {{Randn(2, {3, 4}), Ints({1})}});
     }},
    {"Q943", "view", "aten::roll", "by cat", Verdict::kPass, RollByCat,
     [] {
       return Calls("aten::roll", {{Randn(3, {9}), Ints({-4}), Ints({0})}});
     }},
    {"Q944", "view", "aten::clone", "transposed, by a copy", Verdict::kPass,
     CloneByCopy,
     [] {
       return Calls("aten::clone", {{Randn(4, {3, 4}).t()}});
     }},
    {"Q945", "view", "aten::constant_pad_nd", "filled, then copied",
     Verdict::kPass, PadByCopy,
     [] {
       return Calls("aten::constant_pad_nd",
                    {{Randn(5, {3, 4}), Ints({2, 1}), -1.5}});
     }},
};

}  // namespace

absl::Span<const SelftestCase> ViewCases() { return kCases; }

}  // namespace flaggems::selftest
