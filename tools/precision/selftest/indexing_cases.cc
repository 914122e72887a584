// Gathering, scattering, embedding and masks.

#include <ATen/ATen.h>

#include <algorithm>
#include <vector>

#include "tools/precision/selftest/case_util.h"
#include "tools/precision/selftest/selftest_cases.h"

namespace flaggems::selftest {
namespace {

// --- Wrong. ---

void ScatterAddLastWins(const NativeCall&, Stack* stack) {
  const at::Tensor self = TensorAt(stack, 0), index = TensorAt(stack, 2);
  const int64_t dim = stack->at(1).toInt();
  const at::Tensor sums =
      at::add(at::gather(self, dim, index), TensorAt(stack, 3));
  Return(stack, {at::scatter(self, dim, index, sums)});
}

void IndexAddLastWins(const NativeCall&, Stack* stack) {
  const at::Tensor self = TensorAt(stack, 0), index = TensorAt(stack, 2);
  const int64_t dim = stack->at(1).toInt();
  const at::Tensor sums =
      at::add(at::index_select(self, dim, index), TensorAt(stack, 3));
  Return(stack, {at::index_copy(self, dim, index, sums)});
}

void IndexPutWithoutAccumulate(const NativeCall& native, Stack* stack) {
  stack->at(3) = false;
  native(stack);
}

void SecondBlockByOne(const NativeCall& native, Stack* stack) {
  // The block's number is added to the position, not its first element.
  const at::Tensor index = TensorAt(stack, 2).clone();
  const at::Tensor right = index.clone();
  for (int64_t i = 16; i < index.numel(); ++i) {
    index.narrow(0, i, 1).copy_(right.narrow(0, i / 16 + i % 16, 1));
  }
  stack->at(2) = index;
  native(stack);
}

void PaddingRowIsZero(const NativeCall& native, Stack* stack) {
  const int64_t padding = stack->at(2).toInt();
  if (padding >= 0) {
    const at::Tensor weight = TensorAt(stack, 0).clone();
    weight.narrow(0, padding, 1).zero_();
    stack->at(0) = weight;
  }
  native(stack);
}

void PaddingGetsGradient(const NativeCall& native, Stack* stack) {
  stack->at(3) = -1;
  native(stack);
}

void NegativeIndexIsZero(const NativeCall& native, Stack* stack) {
  const c10::List<std::optional<at::Tensor>> indices =
      stack->at(1).toOptionalTensorList();
  std::vector<at::Tensor> clamped;
  for (size_t i = 0; i < indices.size(); ++i) {
    const std::optional<at::Tensor> index = indices.get(i);
    clamped.push_back(index.has_value() ? at::clamp_min(*index, 0)
                                        : at::Tensor());
  }
  stack->at(1) = OptionalTensors(clamped);
  native(stack);
}

void IndexWithoutTransposingBack(const NativeCall& native, Stack* stack) {
  const bool leading_none =
      !stack->at(1).toOptionalTensorList().get(0).has_value();
  native(stack);
  if (leading_none) {
    Return(stack, {TensorAt(stack, 0).t().contiguous()});
  }
}

void MaskReadLinearly(const NativeCall& native, Stack* stack) {
  stack->at(1) = ReadLinearly(TensorAt(stack, 1));
  native(stack);
}

void GatherByIndexWidth(const NativeCall& native, Stack* stack) {
  // Rows of the source are taken to be as long as those of the index.
  const at::Tensor index = TensorAt(stack, 2);
  stack->at(0) = TensorAt(stack, 0)
                     .view({-1})
                     .narrow(0, 0, index.numel())
                     .view(index.sizes());
  native(stack);
}

void ReduceIgnoresSelf(const NativeCall& native, Stack* stack) {
  stack->at(5) = false;
  native(stack);
}

void DiagonalOffByOne(const NativeCall& native, Stack* stack) {
  const int64_t diagonal = stack->at(1).toInt();
  if (diagonal != 0) stack->at(1) = diagonal + 1;
  native(stack);
}

void TakesFirstSixteen(const NativeCall& native, Stack* stack) {
  // An index of the second block repeats the last of the first.
  const at::Tensor index = TensorAt(stack, 1).clone();
  const int64_t rest = index.numel() - 16;
  if (rest > 0) {
    index.narrow(0, 16, rest).copy_(index.narrow(0, 15, 1).expand({rest}));
  }
  stack->at(1) = index;
  native(stack);
}

void IndexFillSkipsLast(const NativeCall& native, Stack* stack) {
  const at::Tensor index = TensorAt(stack, 2);
  if (index.numel() % 2 == 1) {
    stack->at(2) = index.narrow(0, 0, index.numel() - 1);
  }
  native(stack);
}

void MaskedScatterRestarts(const NativeCall& native, Stack* stack) {
  // Each row of the mask reads the source from its start.
  const at::Tensor self = TensorAt(stack, 0), mask = TensorAt(stack, 1);
  const at::Tensor out = self.clone();
  for (int64_t r = 0; r < self.size(0); ++r) {
    Stack row = {self.select(0, r), mask.select(0, r), stack->at(2)};
    native(&row);
    out.select(0, r).copy_(row[0].toTensor());
  }
  Return(stack, {out});
}

// --- Right. ---

void IndexAddInFloat(const NativeCall& native, Stack* stack) {
  const at::ScalarType dtype = TensorAt(stack, 0).scalar_type();
  stack->at(0) = TensorAt(stack, 0).to(at::kFloat);
  stack->at(3) = TensorAt(stack, 3).to(at::kFloat);
  native(stack);
  Return(stack, {TensorAt(stack, 0).to(dtype)});
}

void Backwards(const NativeCall& native, Stack* stack) {
  const int64_t dim = stack->at(1).toInt();
  stack->at(2) = at::flip(TensorAt(stack, 2), {dim});
  stack->at(3) = at::flip(TensorAt(stack, 3), {dim});
  native(stack);
}

void IndexPutBackwards(const NativeCall& native, Stack* stack) {
  const at::Tensor index = *stack->at(1).toOptionalTensorList().get(0);
  stack->at(1) = OptionalTensors({at::flip(index, {0})});
  stack->at(2) = at::flip(TensorAt(stack, 2), {0});
  native(stack);
}

void EmbeddingBySelect(const NativeCall&, Stack* stack) {
  const at::Tensor weight = TensorAt(stack, 0), indices = TensorAt(stack, 1);
  std::vector<int64_t> sizes = indices.sizes().vec();
  sizes.push_back(weight.size(1));
  Return(stack,
         {at::index_select(weight, 0, indices.reshape({-1})).view(sizes)});
}

void DenseBackwardInFloat(const NativeCall& native, Stack* stack) {
  const at::ScalarType dtype = TensorAt(stack, 0).scalar_type();
  stack->at(0) = TensorAt(stack, 0).to(at::kFloat);
  native(stack);
  Return(stack, {TensorAt(stack, 0).to(dtype)});
}

at::Tensor Modulo(uint64_t seed, int64_t n, int64_t classes) {
  return at::remainder(Permutation(seed, n), classes);
}

CallList ScatterAddOf(const std::vector<int64_t>& index) {
  return Calls("aten::scatter_add",
               {{F32({10, 20, 30, 40}), 0, I64(index), F32({1, 2, 3})}});
}

CallList IndexAddOf(const std::vector<int64_t>& index) {
  return Calls("aten::index_add",
               {{Randn(1, {5, 4}), 0, I64(index), Randn(2, {3, 4})}});
}

const SelftestCase kCases[] = {
    {"W34", "indexing", "aten::scatter_add",
     "gathers, adds and scatters: of duplicates the last wins",
     Verdict::kFailValue, ScatterAddLastWins,
     [] {
       return ScatterAddOf({1, 1, 2});
     },
     [] {
       return ScatterAddOf({1, 3, 2});
     }},
    {"X801", "indexing", "aten::index_add", "of duplicates the last wins",
     Verdict::kFailValue, IndexAddLastWins,
     [] {
       return IndexAddOf({1, 1, 4});
     },
     [] {
       return IndexAddOf({1, 0, 4});
     }},
    {"X802", "indexing", "aten::index_put", "accumulate is ignored",
     Verdict::kFailValue, IndexPutWithoutAccumulate,
     [] {
       return Calls("aten::index_put",
                    {{Randn(1, {6}), OptionalTensors({I64({1, 1, 3})}),
                      Randn(2, {3}), true}});
     },
     [] {
       return Calls("aten::index_put",
                    {{Randn(1, {6}), OptionalTensors({I64({1, 2, 3})}),
                      Randn(2, {3}), false}});
     }},
    {"X803", "indexing", "aten::index_select",
     "blocks after the first start at their number", Verdict::kFailValue,
     SecondBlockByOne,
     [] {
       return Calls("aten::index_select",
                    {{Randn(1, {3, 40}), 1, Permutation(2, 40)}});
     },
     [] {
       return Calls("aten::index_select",
                    {{Randn(1, {3, 16}), 1, Permutation(2, 16)}});
     }},
    {"X804", "indexing", "aten::embedding", "the padding row is read as zero",
     Verdict::kFailValue, PaddingRowIsZero,
     [] {
       return Calls("aten::embedding", {{Randn(1, {6, 4}), I64({0, 2, 5}), 2}});
     },
     [] {
       return Calls("aten::embedding", {{Randn(1, {6, 4}), I64({0, 3, 5}), 2}});
     }},
    {"X805", "indexing", "aten::embedding_dense_backward",
     "the padding row gets a gradient", Verdict::kFailValue,
     PaddingGetsGradient,
     [] {
       return Calls("aten::embedding_dense_backward",
                    {{Randn(1, {3, 4}), I64({0, 2, 5}), 6, 2, false}});
     },
     [] {
       return Calls("aten::embedding_dense_backward",
                    {{Randn(1, {3, 4}), I64({0, 3, 5}), 6, 2, false}});
     }},
    {"X806", "indexing", "aten::index.Tensor",
     "a negative index reads the first element", Verdict::kFailValue,
     NegativeIndexIsZero,
     [] {
       return Calls("aten::index.Tensor",
                    {{Randn(1, {6, 2}), OptionalTensors({I64({1, -1})})}});
     },
     [] {
       return Calls("aten::index.Tensor",
                    {{Randn(1, {6, 2}), OptionalTensors({I64({1, 5})})}});
     }},
    {"X807", "indexing", "aten::index.Tensor", "x[:, index] comes transposed",
     Verdict::kFailShape, IndexWithoutTransposingBack,
     [] {
       return Calls(
           "aten::index.Tensor",
           {{Randn(1, {3, 5}), OptionalTensors({at::Tensor(), I64({4, 0})})}});
     },
     [] {
       return Calls("aten::index.Tensor",
                    {{Randn(1, {3, 5}), OptionalTensors({I64({2, 0})})}});
     }},
    {"X808", "indexing", "aten::masked_fill.Scalar",
     "a transposed mask is read as contiguous", Verdict::kFailValue,
     MaskReadLinearly,
     [] {
       return Calls("aten::masked_fill.Scalar",
                    {{Randn(1, {6, 6}), at::gt(Randn(2, {6, 6}), 0).t(), -1}});
     },
     [] {
       return Calls("aten::masked_fill.Scalar",
                    {{Randn(1, {6, 6}), at::gt(Randn(2, {6, 6}), 0), -1}});
     }},
    {"X809", "indexing", "aten::gather",
     "an index narrower than the source sets the row length",
     Verdict::kFailValue, GatherByIndexWidth,
     [] {
       return Calls("aten::gather", {{Randn(1, {3, 4}), 1,
                                      I64({0, 1, 1, 0, 1, 1}).view({3, 2})}});
     },
     [] {
       return Calls("aten::gather", {{Randn(1, {3, 2}), 1,
                                      I64({0, 1, 1, 0, 1, 1}).view({3, 2})}});
     }},
    {"X810", "indexing", "aten::scatter_reduce.two", "include_self is ignored",
     Verdict::kFailValue, ReduceIgnoresSelf,
     [] {
       return Calls(
           "aten::scatter_reduce.two",
           {{F32({10, 20, 30}), 0, I64({1, 1}), F32({1, 2}), "sum", true}});
     },
     [] {
       return Calls(
           "aten::scatter_reduce.two",
           {{F32({10, 20, 30}), 0, I64({1, 1}), F32({1, 2}), "sum", false}});
     }},
    {"X811", "indexing", "aten::triu",
     "diagonals but the main one are off by one", Verdict::kFailValue,
     DiagonalOffByOne,
     [] {
       return Calls("aten::triu", {{Randn(1, {5, 5}), 1}});
     },
     [] {
       return Calls("aten::triu", {{Randn(1, {5, 5}), 0}});
     }},
    {"X812", "indexing", "aten::take", "indices after the sixteenth repeat it",
     Verdict::kFailValue, TakesFirstSixteen,
     [] {
       return Calls("aten::take", {{Randn(1, {30}), Permutation(2, 30)}});
     },
     [] {
       return Calls("aten::take", {{Randn(1, {16}), Permutation(2, 16)}});
     }},
    {"X813", "indexing", "aten::index_fill.int_Scalar",
     "the last of an odd number of indices is skipped", Verdict::kFailValue,
     IndexFillSkipsLast,
     [] {
       return Calls("aten::index_fill.int_Scalar",
                    {{Randn(1, {7, 3}), 0, I64({0, 2, 5}), 9}});
     },
     [] {
       return Calls("aten::index_fill.int_Scalar",
                    {{Randn(1, {7, 3}), 0, I64({0, 2}), 9}});
     }},
    {"X814", "indexing", "aten::masked_scatter",
     "each row reads the source from its start", Verdict::kFailValue,
     MaskedScatterRestarts,
     [] {
       return Calls(
           "aten::masked_scatter",
           {{Randn(1, {2, 4}), Bools({1, 0, 1, 0, 1, 1, 0, 0}).view({2, 4}),
             Randn(2, {8})}});
     },
     [] {
       return Calls("aten::masked_scatter",
                    {{Randn(1, {1, 4}), Bools({1, 0, 1, 0}).view({1, 4}),
                      Randn(2, {8})}});
     }},

    {"R2", "indexing", "aten::index_add",
     "1000 bfloat16 ones onto one cell give 1000", Verdict::kPass,
     IndexAddInFloat,
     [] {
       return Calls("aten::index_add", {{Filled({2}, 0, at::kBFloat16), 0,
                                         Filled({1000}, 0, at::kLong),
                                         Filled({1000}, 1, at::kBFloat16)}});
     }},
    {"R4", "indexing", "aten::scatter.src", "of duplicate indices another wins",
     Verdict::kPass, Backwards,
     [] {
       return Calls(
           "aten::scatter.src",
           {{F32({10, 20, 30}), 0, I64({1, 1, 2, 2}), F32({1, 2, 3, 4})}});
     }},
    {"Q801", "indexing", "aten::index_add", "float32 in another order",
     Verdict::kPass, Backwards,
     [] {
       return Calls("aten::index_add", {{Randn(1, {4, 3}), 0, Modulo(2, 500, 4),
                                         Randn(3, {500, 3})}});
     }},
    {"Q802", "indexing", "aten::scatter_add", "float32 in another order",
     Verdict::kPass, Backwards,
     [] {
       return Calls("aten::scatter_add",
                    {{Randn(1, {5}), 0, Modulo(2, 700, 5), Randn(3, {700})}});
     }},
    {"Q803", "indexing", "aten::index_put",
     "accumulates float32 in another order", Verdict::kPass, IndexPutBackwards,
     [] {
       return Calls("aten::index_put",
                    {{Randn(1, {5}), OptionalTensors({Modulo(2, 300, 5)}),
                      Randn(3, {300}), true}});
     }},
    {"Q804", "indexing", "aten::embedding", "by index_select", Verdict::kPass,
     EmbeddingBySelect,
     [] {
       return Calls("aten::embedding",
                    {{Randn(1, {9, 4}), I64({0, 8, 3, 3}).view({2, 2})}});
     }},
    {"Q805", "indexing", "aten::embedding_dense_backward",
     "bfloat16 in float32, rounded once", Verdict::kPass, DenseBackwardInFloat,
     [] {
       return Calls("aten::embedding_dense_backward",
                    {{Randn(1, {400, 3}, at::kBFloat16), Modulo(2, 400, 3), 4,
                      -1, false}});
     }},
};

}  // namespace

absl::Span<const SelftestCase> IndexingCases() { return kCases; }

}  // namespace flaggems::selftest
