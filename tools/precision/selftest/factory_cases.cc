// Operators that make tensors.

#include <ATen/ATen.h>

#include <cmath>
#include <vector>

#include "tools/precision/selftest/case_util.h"
#include "tools/precision/selftest/selftest_cases.h"

namespace flaggems::selftest {
namespace {

// --- Wrong. ---

void FullIsFloat(const NativeCall& native, Stack* stack) {
  native(stack);
  Return(stack, {TensorAt(stack, 0).to(at::kFloat)});
}

void ArangeWithEnd(const NativeCall& native, Stack* stack) {
  const double end = stack->at(1).toScalar().toDouble();
  if (end == std::floor(end)) {
    stack->at(1) = stack->at(1).toScalar().toLong() + 1;
  }
  native(stack);
}

void ArangeAccumulates(const NativeCall& native, Stack* stack) {
  const float start = stack->at(0).toScalar().toFloat();
  const float step = stack->at(2).toScalar().toFloat();
  native(stack);
  const at::Tensor out = TensorAt(stack, 0);
  float* values = out.mutable_data_ptr<float>();
  float value = start;
  for (int64_t i = 0; i < out.numel(); ++i, value += step) values[i] = value;
}

void LinspaceWithoutEnd(const NativeCall& native, Stack* stack) {
  const int64_t steps = stack->at(2).toInt();
  if (steps <= 1) {
    native(stack);
    return;
  }
  stack->at(2) = steps + 1;
  native(stack);
  Return(stack, {TensorAt(stack, 0).narrow(0, 0, steps).clone()});
}

void NewFullThroughFloat(const NativeCall& native, Stack* stack) {
  stack->at(2) = static_cast<double>(stack->at(2).toScalar().toFloat());
  native(stack);
}

void OnesLikeIsFloat(const NativeCall& native, Stack* stack) {
  native(stack);
  Return(stack, {TensorAt(stack, 0).to(at::kFloat)});
}

void LikeIsContiguous(const NativeCall&, Stack* stack) {
  const at::Tensor x = TensorAt(stack, 0);
  Return(stack, {at::empty(x.sizes(), x.options())});
}

void StridesIgnored(const NativeCall&, Stack* stack) {
  Return(stack, {at::empty(stack->at(0).toIntVector())});
}

void FullWithoutTail(const NativeCall& native, Stack* stack) {
  native(stack);
  Tail(TensorAt(stack, 0), 256).zero_();
}

void DiagonalGoesOn(const NativeCall& native, Stack* stack) {
  // The diagonal goes on where a wide matrix has no more of it.
  const int64_t n = stack->at(0).toInt(), m = stack->at(1).toInt();
  native(stack);
  for (int64_t column = n; column < m; ++column) {
    TensorAt(stack, 0).select(0, column % n).narrow(0, column, 1).fill_(1);
  }
}

// --- Right. ---

void AnyContent(const NativeCall& native, Stack* stack) {
  native(stack);
  TensorAt(stack, 0).fill_(kNan);
}

void ArangeInDouble(const NativeCall& native, Stack* stack) {
  const double start = stack->at(0).toScalar().toDouble();
  const double step = stack->at(2).toScalar().toDouble();
  native(stack);
  const at::Tensor out = TensorAt(stack, 0);
  float* values = out.mutable_data_ptr<float>();
  for (int64_t i = 0; i < out.numel(); ++i) {
    values[i] = static_cast<float>(start + i * step);
  }
}

void LinspaceFromBothEnds(const NativeCall&, Stack* stack) {
  const double start = stack->at(0).toScalar().toDouble();
  const double end = stack->at(1).toScalar().toDouble();
  const int64_t steps = stack->at(2).toInt();
  const at::Tensor out = at::empty({steps});
  float* values = out.mutable_data_ptr<float>();
  const double step = (end - start) / static_cast<double>(steps - 1);
  for (int64_t i = 0; i < steps; ++i) {
    values[i] = static_cast<float>(
        i < steps / 2 ? start + i * step : end - (steps - 1 - i) * step);
  }
  Return(stack, {out});
}

at::Tensor ChannelsLast() {
  return Randn(6, {2, 4, 5, 3}).permute({0, 3, 1, 2});
}

const SelftestCase kCases[] = {
    {"X971", "factory", "aten::full", "float32 for an integer too",
     Verdict::kFailDtype, FullIsFloat,
     [] {
       return Calls("aten::full", {{Ints({3}), 2}});
     },
     [] {
       return Calls("aten::full", {{Ints({3}), 2.5}});
     }},
    {"X972", "factory", "aten::arange.start_step", "the end is included",
     Verdict::kFailShape, ArangeWithEnd,
     [] {
       return Calls("aten::arange.start_step", {{0, 6, 2}});
     },
     [] {
       return Calls("aten::arange.start_step", {{1, 7, 4}});
     }},
    {"X973", "factory", "aten::arange.start_step",
     "steps are added up in float32", Verdict::kFailValue, ArangeAccumulates,
     [] {
       return Calls("aten::arange.start_step", {{0.0, 100.0, .1}});
     },
     [] {
       return Calls("aten::arange.start_step", {{0.0, 100.0, .25}});
     }},
    {"X974", "factory", "aten::linspace", "the end is left out",
     Verdict::kFailValue, LinspaceWithoutEnd,
     [] {
       return Calls("aten::linspace", {{1, 2, 5}});
     },
     [] {
       return Calls("aten::linspace", {{3, 2, 1}});
     }},
    {"X975", "factory", "aten::new_full",
     "the value of a float64 tensor goes through float32", Verdict::kFailValue,
     NewFullThroughFloat,
     [] {
       return Calls("aten::new_full", {{F64({1}), Ints({2}), .1}});
     },
     [] {
       return Calls("aten::new_full", {{F64({1}), Ints({2}), .5}});
     }},
    {"X976", "factory", "aten::ones_like", "float32 for an integer tensor",
     Verdict::kFailDtype, OnesLikeIsFloat,
     [] {
       return Calls("aten::ones_like", {{I64({3, 4})}});
     },
     [] {
       return Calls("aten::ones_like", {{F32({3, 4})}});
     }},
    {"X977", "factory", "aten::empty_like",
     "contiguous for a channels-last tensor", Verdict::kFailLayout,
     LikeIsContiguous,
     [] { return Calls("aten::empty_like", {{ChannelsLast()}}); },
     [] {
       return Calls("aten::empty_like", {{Randn(7, {2, 3, 4, 5})}});
     }},
    {"X978", "factory", "aten::empty_strided", "strides are ignored",
     Verdict::kFailLayout, StridesIgnored,
     [] {
       return Calls("aten::empty_strided", {{Ints({3, 4}), Ints({1, 3})}});
     },
     [] {
       return Calls("aten::empty_strided", {{Ints({3, 4}), Ints({4, 1})}});
     }},
    {"X979", "factory", "aten::full", "the last n mod 256 elements are zero",
     Verdict::kFailValue, FullWithoutTail,
     [] {
       return Calls("aten::full", {{Ints({300}), 1.5}});
     },
     [] {
       return Calls("aten::full", {{Ints({512}), 1.5}});
     }},
    {"X980", "factory", "aten::eye.m", "a wide matrix has a second diagonal",
     Verdict::kFailValue, DiagonalGoesOn,
     [] {
       return Calls("aten::eye.m", {{2, 5}});
     },
     [] {
       return Calls("aten::eye.m", {{4, 3}});
     }},

    {"R8a", "factory", "aten::empty_like", "any content", Verdict::kPass,
     AnyContent,
     [] {
       return Calls("aten::empty_like", {{Randn(1, {3, 4}).t()}});
     }},
    {"R8b", "factory", "aten::empty_strided", "any content", Verdict::kPass,
     AnyContent,
     [] {
       return Calls("aten::empty_strided", {{Ints({3, 4}), Ints({1, 3})}});
     }},
    {"Q971", "factory", "aten::arange.start_step", "each element in float64",
     Verdict::kPass, ArangeInDouble,
     [] {
       return Calls("aten::arange.start_step", {{0.0, 100.0, .1}});
     }},
    {"Q972", "factory", "aten::linspace", "from both ends in float64",
     Verdict::kPass, LinspaceFromBothEnds,
     [] {
       return Calls("aten::linspace", {{-1, 2, 101}});
     }},
};

}  // namespace

absl::Span<const SelftestCase> FactoryCases() { return kCases; }

}  // namespace flaggems::selftest
