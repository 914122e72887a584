// What a result is, apart from its numbers: count, shape, dtype, and whether
// there is one at all.

#include <ATen/ATen.h>

#include <algorithm>
#include <vector>

#include "tools/precision/selftest/case_util.h"
#include "tools/precision/selftest/selftest_cases.h"

namespace flaggems::selftest {
namespace {

// --- Wrong. ---

void LastOfListMissing(const NativeCall& native, Stack* stack) {
  native(stack);
  std::vector<at::Tensor> tensors = stack->at(0).toTensorVector();
  if (tensors.size() > 2) tensors.pop_back();
  Return(stack, {tensors});
}

void OneTooMany(const NativeCall& native, Stack* stack) {
  native(stack);
  std::vector<at::Tensor> tensors = stack->at(0).toTensorVector();
  if (tensors.size() > 2) tensors.push_back(tensors[0].clone());
  Return(stack, {tensors});
}

void IndexOfInt32(const NativeCall& native, Stack* stack) {
  native(stack);
  Return(stack, {TensorAt(stack, 0).to(at::kInt)});
}

void BoolsAsBytes(const NativeCall& native, Stack* stack) {
  native(stack);
  Return(stack, {TensorAt(stack, 0).to(at::kByte)});
}

void MeanInFloat(const NativeCall& native, Stack* stack) {
  native(stack);
  Return(stack, {TensorAt(stack, 0).to(at::kFloat)});
}

void OneElementNotZeroDim(const NativeCall& native, Stack* stack) {
  native(stack);
  Return(stack, {TensorAt(stack, 0).view({1})});
}

void BroadcastMissing(const NativeCall& native, Stack* stack) {
  const at::Tensor x = TensorAt(stack, 0);
  native(stack);
  if (TensorAt(stack, 0).sizes() != x.sizes()) {
    Return(stack, {TensorAt(stack, 0).narrow(0, 0, 1).clone()});
  }
}

void RefusesEmpty(const NativeCall& native, Stack* stack) {
  TORCH_CHECK(TensorAt(stack, 0).numel() > 0, "the grid has no blocks");
  native(stack);
}

void RefusesZeroDim(const NativeCall& native, Stack* stack) {
  TORCH_CHECK(TensorAt(stack, 0).dim() > 0, "a tensor of no dimensions");
  native(stack);
}

void RefusesFloat64(const NativeCall& native, Stack* stack) {
  TORCH_CHECK(TensorAt(stack, 0).scalar_type() != at::kDouble,
              "float64 is not supported");
  native(stack);
}

void RefusesNegativeDim(const NativeCall& native, Stack* stack) {
  TORCH_CHECK(stack->at(1).toInt() >= 0, "dim is out of range");
  native(stack);
}

void AddTruncates(const NativeCall& native, Stack* stack) {
  const at::ScalarType dtype = TensorAt(stack, 0).scalar_type();
  stack->at(1) = TensorAt(stack, 1).to(dtype);
  native(stack);
}

void IndexClamped(const NativeCall& native, Stack* stack) {
  const int64_t size = TensorAt(stack, 0).size(stack->at(1).toInt());
  stack->at(2) = at::clamp(TensorAt(stack, 2), 0, size - 1);
  native(stack);
}

void MmOfShorter(const NativeCall& native, Stack* stack) {
  const at::Tensor a = TensorAt(stack, 0), b = TensorAt(stack, 1);
  const int64_t k = std::min(a.size(1), b.size(0));
  stack->at(0) = a.narrow(1, 0, k);
  stack->at(1) = b.narrow(0, 0, k);
  native(stack);
}

void NegativePowerIsZero(const NativeCall& native, Stack* stack) {
  if (stack->at(1).toScalar().toDouble() < 0) {
    Return(stack, {at::zeros_like(TensorAt(stack, 0))});
    return;
  }
  native(stack);
}

// --- Right. ---

void RefusesAsNativeDoes(const NativeCall& native, Stack* stack) {
  TORCH_CHECK(TensorAt(stack, 0).size(1) == TensorAt(stack, 1).size(0),
              "the inner sizes differ");
  native(stack);
}

CallList ListOf(const char* op, int64_t n) {
  std::vector<at::Tensor> tensors;
  for (int64_t i = 0; i < n; ++i) tensors.push_back(Randn(i, {3}));
  return Calls(op, {{tensors, 2.0}});
}

const SelftestCase kCases[] = {
    {"X1101", "contract", "aten::_foreach_add.Scalar",
     "the last tensor of three is missing", Verdict::kFailCount,
     LastOfListMissing, [] { return ListOf("aten::_foreach_add.Scalar", 3); },
     [] { return ListOf("aten::_foreach_add.Scalar", 2); }},
    {"X1102", "contract", "aten::_foreach_mul.Scalar",
     "a fourth tensor for three", Verdict::kFailCount, OneTooMany,
     [] { return ListOf("aten::_foreach_mul.Scalar", 3); },
     [] { return ListOf("aten::_foreach_mul.Scalar", 2); }},
    {"X1103", "contract", "aten::argmax", "the index is int32",
     Verdict::kFailDtype, IndexOfInt32,
     [] {
       return Calls("aten::argmax", {{F32({1, 3, 2})}});
     }},
    {"X1104", "contract", "aten::lt.Tensor", "uint8 instead of bool",
     Verdict::kFailDtype, BoolsAsBytes,
     [] {
       return Calls("aten::lt.Tensor", {{F32({1, 3}), F32({2, 2})}});
     }},
    {"X1105", "contract", "aten::mean", "float32 for a bfloat16 input",
     Verdict::kFailDtype, MeanInFloat,
     [] {
       return Calls("aten::mean", {{BF16({1, 3})}});
     },
     [] {
       return Calls("aten::mean", {{F32({1, 3})}});
     }},
    {"X1106", "contract", "aten::max", "one dimension instead of none",
     Verdict::kFailShape, OneElementNotZeroDim,
     [] {
       return Calls("aten::max", {{F32({1, 3, 2})}});
     }},
    {"X1107", "contract", "aten::mul.Tensor", "the first row of a broadcast",
     Verdict::kFailShape, BroadcastMissing,
     [] {
       return Calls("aten::mul.Tensor", {{Randn(1, {1, 4}), Randn(2, {3, 1})}});
     },
     [] {
       return Calls("aten::mul.Tensor", {{Randn(1, {3, 4}), Randn(2, {3, 1})}});
     }},
    {"X1108", "contract", "aten::exp", "refuses an empty tensor",
     Verdict::kFailThrow, RefusesEmpty,
     [] {
       return Calls("aten::exp", {{Filled({0, 3}, 0)}});
     },
     [] {
       return Calls("aten::exp", {{Randn(8, {2, 3})}});
     }},
    {"X1109", "contract", "aten::relu", "refuses a tensor of no dimensions",
     Verdict::kFailThrow, RefusesZeroDim,
     [] { return Calls("aten::relu", {{Filled({}, 2)}}); },
     [] { return Calls("aten::relu", {{F32({2})}}); }},
    {"X1110", "contract", "aten::log", "refuses float64", Verdict::kFailThrow,
     RefusesFloat64,
     [] {
       return Calls("aten::log", {{F64({2, 3})}});
     },
     [] {
       return Calls("aten::log", {{F32({2, 3})}});
     }},
    {"X1111", "contract", "aten::_softmax", "refuses a negative dim",
     Verdict::kFailThrow, RefusesNegativeDim,
     [] {
       return Calls("aten::_softmax", {{Randn(1, {2, 3}), -1, false}});
     },
     [] {
       return Calls("aten::_softmax", {{Randn(1, {2, 3}), 1, false}});
     }},
    {"X1112", "contract", "aten::add_.Tensor",
     "adds 1.5 to int64, which aten refuses", Verdict::kFailThrow, AddTruncates,
     [] {
       return Calls("aten::add_.Tensor", {{I64({1, 2}), F32({1.5, 2})}});
     },
     [] {
       return Calls("aten::add_.Tensor", {{I64({1, 2}), I64({1, 2})}});
     }},
    {"X1113", "contract", "aten::index_select",
     "clamps an index that aten refuses", Verdict::kFailThrow, IndexClamped,
     [] {
       return Calls("aten::index_select", {{Randn(1, {3, 2}), 0, I64({0, 5})}});
     },
     [] {
       return Calls("aten::index_select", {{Randn(1, {3, 2}), 0, I64({0, 2})}});
     }},
    {"X1114", "contract", "aten::mm",
     "takes inner sizes that differ, which aten refuses", Verdict::kFailThrow,
     MmOfShorter,
     [] {
       return Calls("aten::mm", {{Randn(1, {2, 4}), Randn(2, {3, 2})}});
     },
     [] {
       return Calls("aten::mm", {{Randn(1, {2, 3}), Randn(2, {3, 2})}});
     }},
    {"X1115", "contract", "aten::pow.Tensor_Scalar",
     "zero for a negative power of integers, which aten refuses",
     Verdict::kFailThrow, NegativePowerIsZero,
     [] {
       return Calls("aten::pow.Tensor_Scalar", {{I64({2, 3}), -2}});
     },
     [] {
       return Calls("aten::pow.Tensor_Scalar", {{I64({2, 3}), 2}});
     }},

    {"Q1101", "contract", "aten::mm", "refuses what aten refuses",
     Verdict::kPass, RefusesAsNativeDoes,
     [] {
       return Calls("aten::mm", {{Randn(1, {2, 3}), Randn(2, {3, 2})}});
     }},
};

}  // namespace

absl::Span<const SelftestCase> ContractCases() { return kCases; }

}  // namespace flaggems::selftest
