// Operators that write their argument, and ones that must not.

#include <ATen/ATen.h>

#include <vector>

#include "tools/precision/selftest/case_util.h"
#include "tools/precision/selftest/selftest_cases.h"

namespace flaggems::selftest {
namespace {

// --- Wrong. ---

void ReluInPlace(const NativeCall&, Stack* stack) {
  const at::Tensor x = TensorAt(stack, 0);
  x.relu_();
  Return(stack, {x});
}

void ClampToHalfBounds(const NativeCall& native, Stack* stack) {
  stack->at(1) = stack->at(1).toScalar().toDouble() / 2;
  stack->at(2) = stack->at(2).toScalar().toDouble() / 2;
  native(stack);
}

void WritesToCopy(const NativeCall& native, Stack* stack) {
  const at::Tensor self = TensorAt(stack, 0);
  stack->at(0) = self.clone();
  native(stack);
  Return(stack, {self});
}

void ReturnsCopy(const NativeCall& native, Stack* stack) {
  native(stack);
  Return(stack, {TensorAt(stack, 0).clone()});
}

void FillsLinearly(const NativeCall&, Stack* stack) {
  const at::Tensor self = TensorAt(stack, 0);
  WriteLinearly(self, Filled(self.sizes(), stack->at(1).toScalar().toDouble()));
  Return(stack, {self});
}

void AbsForRelu(const NativeCall&, Stack* stack) {
  const at::Tensor self = TensorAt(stack, 0);
  self.abs_();
  Return(stack, {self});
}

void ZeroesOnePast(const NativeCall& native, Stack* stack) {
  const at::Tensor self = TensorAt(stack, 0);
  const int64_t end = self.storage_offset() + self.numel();
  if (end * static_cast<int64_t>(self.itemsize()) <
      static_cast<int64_t>(self.storage().nbytes())) {
    self.mutable_data_ptr<float>()[self.numel()] = 0;
  }
  native(stack);
}

void ScratchInSecond(const NativeCall& native, Stack* stack) {
  const at::Tensor other = TensorAt(stack, 1);
  const double alpha = stack->at(2).toScalar().toDouble();
  other.mul_(alpha);
  stack->at(2) = 1;
  native(stack);
}

void ResultIntoInput(const NativeCall& native, Stack* stack) {
  const at::Tensor x = TensorAt(stack, 0);
  native(stack);
  x.copy_(TensorAt(stack, 0));
}

void LastOfOddListSkipped(const NativeCall& native, Stack* stack) {
  std::vector<at::Tensor> tensors = stack->at(0).toTensorVector();
  if (tensors.size() % 2 == 1) tensors.pop_back();
  stack->at(0) = tensors;
  native(stack);
}

void MasksTemporary(const NativeCall& native, Stack* stack) {
  const at::Tensor self = TensorAt(stack, 0);
  stack->at(0) = self.contiguous();
  native(stack);
  Return(stack, {self});
}

void ReturnsSelfForZero(const NativeCall& native, Stack* stack) {
  const at::Tensor self = TensorAt(stack, 0);
  const bool nothing_to_add = !TensorAt(stack, 1).any().item<bool>();
  native(stack);
  if (nothing_to_add) Return(stack, {self});
}

void InvertsCondition(const NativeCall& native, Stack* stack) {
  TensorAt(stack, 0).logical_not_();
  std::swap(stack->at(1), stack->at(2));
  native(stack);
}

// --- Right. ---

void AddAnew(const NativeCall&, Stack* stack) {
  const at::Tensor self = TensorAt(stack, 0);
  self.copy_(at::add(self, TensorAt(stack, 1), stack->at(2).toScalar()));
  Return(stack, {self});
}

void MulAnew(const NativeCall&, Stack* stack) {
  const at::Tensor self = TensorAt(stack, 0);
  self.copy_(at::mul(self, TensorAt(stack, 1)));
  Return(stack, {self});
}

void ExpAnew(const NativeCall&, Stack* stack) {
  const at::Tensor self = TensorAt(stack, 0);
  self.copy_(at::exp(self));
  Return(stack, {self});
}

void SigmoidAnew(const NativeCall&, Stack* stack) {
  const at::Tensor self = TensorAt(stack, 0);
  self.copy_(at::sigmoid(self));
  Return(stack, {self});
}

void FillByElements(const NativeCall&, Stack* stack) {
  const at::Tensor self = TensorAt(stack, 0);
  const float value = stack->at(1).toScalar().toFloat();
  for (int64_t i = 0; i < self.size(0); ++i) {
    self.mutable_data_ptr<float>()[i * self.stride(0)] = value;
  }
  Return(stack, {self});
}

// Every second element of eight.
at::Tensor EverySecond() { return Randn(9, {8}).view({4, 2}).select(1, 0); }

CallList AddOf(double alpha) {
  return Calls("aten::add.Tensor", {{Randn(1, {6}), Randn(2, {6}), alpha}});
}

const SelftestCase kCases[] = {
    {"W12", "in_place", "aten::relu", "works in place and returns its argument",
     Verdict::kFailArgument, ReluInPlace,
     [] {
       return Calls("aten::relu", {{F32({-1, 2, -3})}});
     }},
    {"W14", "in_place", "aten::clamp_",
     "half of the bounds; running it again changes nothing",
     Verdict::kFailValue, ClampToHalfBounds,
     [] {
       return Calls("aten::clamp_", {{Randn(14, {50}).mul_(3), -1.0, 1.0}});
     },
     [] {
       return Calls("aten::clamp_", {{Uniform(14, {50}, -.5, .5), -1.0, 1.0}});
     }},
    {"X901", "in_place", "aten::add_.Tensor",
     "the sum goes to a copy, the argument stays", Verdict::kFailValue,
     WritesToCopy,
     [] {
       return Calls("aten::add_.Tensor", {{Randn(1, {6}), Randn(2, {6})}});
     },
     [] {
       return Calls("aten::add_.Tensor", {{Randn(1, {6}), F32({0})}});
     }},
    {"X902", "in_place", "aten::mul_.Tensor", "returns a copy of its argument",
     Verdict::kFailAlias, ReturnsCopy,
     [] {
       return Calls("aten::mul_.Tensor", {{Randn(1, {6}), Randn(2, {6})}});
     }},
    {"X903", "in_place", "aten::fill_.Scalar",
     "a strided argument is written as if it were contiguous",
     Verdict::kFailValue, FillsLinearly,
     [] {
       return Calls("aten::fill_.Scalar", {{EverySecond(), 7}});
     },
     [] {
       return Calls("aten::fill_.Scalar", {{Randn(9, {4}), 7}});
     }},
    {"X904", "in_place", "aten::relu_", "abs; running it again changes nothing",
     Verdict::kFailValue, AbsForRelu,
     [] { return Calls("aten::relu_", {{Randn(4, {20})}}); },
     [] { return Calls("aten::relu_", {{Uniform(4, {20}, 0, 1)}}); }},
    {"X905", "in_place", "aten::sigmoid_",
     "the element after a view is set to zero", Verdict::kFailArgument,
     ZeroesOnePast,
     [] { return Calls("aten::sigmoid_", {{Randn(5, {9}).narrow(0, 2, 4)}}); },
     [] { return Calls("aten::sigmoid_", {{Randn(5, {9}).narrow(0, 5, 4)}}); }},
    {"X906", "in_place", "aten::add.Tensor",
     "the second argument is scaled in place", Verdict::kFailArgument,
     ScratchInSecond, [] { return AddOf(3); }, [] { return AddOf(1); }},
    {"X907", "in_place", "aten::_softmax",
     "the result overwrites the input too", Verdict::kFailArgument,
     ResultIntoInput,
     [] {
       return Calls("aten::_softmax", {{Randn(7, {2, 5}), 1, false}});
     }},
    {"X908", "in_place", "aten::_foreach_add_.Scalar",
     "the last of an odd number of tensors is skipped", Verdict::kFailArgument,
     LastOfOddListSkipped,
     [] {
       return Calls("aten::_foreach_add_.Scalar",
                    {{std::vector<at::Tensor>{Randn(1, {3}), Randn(2, {2}),
                                              Randn(3, {4})},
                      1}});
     },
     [] {
       return Calls(
           "aten::_foreach_add_.Scalar",
           {{std::vector<at::Tensor>{Randn(1, {3}), Randn(2, {2})}, 1}});
     }},
    {"X909", "in_place", "aten::masked_fill_.Scalar",
     "of a strided argument a temporary is filled", Verdict::kFailValue,
     MasksTemporary,
     [] {
       return Calls("aten::masked_fill_.Scalar",
                    {{EverySecond(), Bools({1, 0, 1, 1}), 9}});
     },
     [] {
       return Calls("aten::masked_fill_.Scalar",
                    {{Randn(9, {4}), Bools({1, 0, 1, 1}), 9}});
     }},
    {"X910", "in_place", "aten::add.Tensor",
     "returns its argument when zero is added", Verdict::kFailAlias,
     ReturnsSelfForZero,
     [] {
       return Calls("aten::add.Tensor", {{Randn(1, {6}), Filled({6}, 0)}});
     },
     [] { return AddOf(1); }},
    {"X911", "in_place", "aten::where.self",
     "the condition is inverted in place", Verdict::kFailArgument,
     InvertsCondition,
     [] {
       return Calls("aten::where.self",
                    {{Bools({1, 0, 1}), Randn(1, {3}), Randn(2, {3})}});
     }},

    {"R6a", "in_place", "aten::add_.Tensor", "computed anew and copied",
     Verdict::kPass, AddAnew,
     [] {
       const at::Tensor x = Randn(3, {6});
       return Calls("aten::add_.Tensor",
                    {{Randn(1, {6}), Randn(2, {6}), 2}, {x, x}});
     }},
    {"R6b", "in_place", "aten::mul_.Tensor", "computed anew and copied",
     Verdict::kPass, MulAnew,
     [] {
       return Calls("aten::mul_.Tensor", {{Randn(1, {6}), Randn(2, {6})},
                                          {EverySecond(), Randn(2, {4})}});
     }},
    {"R6c", "in_place", "aten::exp_", "computed anew and copied",
     Verdict::kPass, ExpAnew,
     [] {
       return Calls("aten::exp_", {{Randn(1, {6})}, {EverySecond()}});
     }},
    {"R6d", "in_place", "aten::sigmoid_", "computed anew and copied",
     Verdict::kPass, SigmoidAnew,
     [] { return Calls("aten::sigmoid_", {{Randn(1, {6})}}); }},
    {"Q901", "in_place", "aten::fill_.Scalar",
     "a strided argument element by element", Verdict::kPass, FillByElements,
     [] {
       return Calls("aten::fill_.Scalar", {{EverySecond(), 7}});
     }},
};

}  // namespace

absl::Span<const SelftestCase> InPlaceCases() { return kCases; }

}  // namespace flaggems::selftest
