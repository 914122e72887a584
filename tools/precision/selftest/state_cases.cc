// Kernels whose answer depends on the calls before. Making the calls of a case
// resets its kernel.

#include <ATen/ATen.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <vector>

#include "tools/precision/selftest/case_util.h"
#include "tools/precision/selftest/selftest_cases.h"

namespace flaggems::selftest {
namespace {

// One case runs at a time, so its kernels share what they remember.
struct Memory {
  int64_t calls = 0;
  int64_t first_size = 0;
  std::map<int64_t, at::Tensor> answers;
  bool saw_nan = false;
  std::vector<float> scratch;
};

Memory& TheMemory() {
  static Memory& memory = *new Memory();
  return memory;
}

CallList Fresh(const char* op, std::vector<std::vector<c10::IValue>> calls) {
  TheMemory() = Memory();
  return Calls(op, std::move(calls));
}

// --- Wrong. ---

void DoubledFromEleventh(const NativeCall& native, Stack* stack) {
  native(stack);
  if (++TheMemory().calls > 10) TensorAt(stack, 0).mul_(2);
}

void EverySeventhCall(const NativeCall& native, Stack* stack) {
  native(stack);
  if (++TheMemory().calls % 7 == 0) TensorAt(stack, 0).neg_();
}

void AnswerOfShape(const NativeCall& native, Stack* stack) {
  at::Tensor& answer = TheMemory().answers[TensorAt(stack, 0).numel()];
  if (!answer.defined()) answer = NativeResult(native, stack);
  Return(stack, {answer.clone()});
}

void DividesByFirstSize(const NativeCall& native, Stack* stack) {
  const int64_t size = TensorAt(stack, 0).size(-1);
  if (TheMemory().first_size == 0) TheMemory().first_size = size;
  native(stack);
  if (size != TheMemory().first_size) {
    TensorAt(stack, 0).mul_(static_cast<double>(size) / TheMemory().first_size);
  }
}

void FirstCallIsCold(const NativeCall& native, Stack* stack) {
  native(stack);
  if (TheMemory().calls++ == 0) {
    Return(stack, {RoundedTo(TensorAt(stack, 0), 10)});
  }
}

void RemembersNan(const NativeCall& native, Stack* stack) {
  const bool has_nan = at::isnan(TensorAt(stack, 0)).any().item<bool>();
  native(stack);
  // After a call with a NaN the next result is wrong.
  if (TheMemory().saw_nan) TensorAt(stack, 0).zero_();
  TheMemory().saw_nan = has_nan;
}

void StaleScratch(const NativeCall&, Stack* stack) {
  const at::Tensor in = TensorAt(stack, 0).contiguous();
  std::vector<float>& scratch = TheMemory().scratch;
  // Cells of a longer call before are summed again.
  if (scratch.size() < static_cast<size_t>(in.numel())) {
    scratch.resize(in.numel());
  }
  std::copy_n(in.const_data_ptr<float>(), in.numel(), scratch.begin());
  double sum = 0;
  for (const float value : scratch) sum += value;
  Return(stack, {Filled({}, sum)});
}

void LargerCallsInHalf(const NativeCall& native, Stack* stack) {
  // Once a size has been tuned, a larger one takes the fast path.
  const int64_t size = TensorAt(stack, 0).numel();
  const bool tuned =
      TheMemory().first_size != 0 && size > TheMemory().first_size;
  TheMemory().first_size = std::max(TheMemory().first_size, size);
  native(stack);
  if (tuned) {
    Return(stack, {TensorAt(stack, 0).to(at::kHalf).to(at::kFloat)});
  }
}

// --- Right. ---

void ScratchOfItsOwn(const NativeCall&, Stack* stack) {
  const at::Tensor in = TensorAt(stack, 0).contiguous();
  std::vector<float>& scratch = TheMemory().scratch;
  scratch.assign(in.const_data_ptr<float>(),
                 in.const_data_ptr<float>() + in.numel());
  double sum = 0;
  for (const float value : scratch) sum += value;
  Return(stack, {Filled({}, sum)});
}

void AlternatesFormulas(const NativeCall& native, Stack* stack) {
  const at::Tensor x = TensorAt(stack, 0);
  if (TheMemory().calls++ % 2 == 0) {
    native(stack);
    return;
  }
  Return(stack, {MapFloat(x, [](float v) {
           return static_cast<float>(std::exp(static_cast<double>(v)));
         })});
}

std::vector<std::vector<c10::IValue>> UnaryCalls(int64_t n) {
  std::vector<std::vector<c10::IValue>> calls;
  for (int64_t i = 0; i < n; ++i) calls.push_back({Randn(100 + i, {12})});
  return calls;
}

std::vector<std::vector<c10::IValue>> BinaryCalls(int64_t n) {
  std::vector<std::vector<c10::IValue>> calls;
  for (int64_t i = 0; i < n; ++i) {
    calls.push_back({Randn(100 + i, {12}), Randn(200 + i, {12})});
  }
  return calls;
}

const SelftestCase kCases[] = {
    {"W17", "state", "aten::exp", "times two from the eleventh call on",
     Verdict::kFailValue, DoubledFromEleventh,
     [] { return Fresh("aten::exp", UnaryCalls(11)); },
     [] { return Fresh("aten::exp", UnaryCalls(10)); }},
    {"X961", "state", "aten::mul.Tensor", "negated at every seventh call",
     Verdict::kFailValue, EverySeventhCall,
     [] { return Fresh("aten::mul.Tensor", BinaryCalls(14)); },
     [] { return Fresh("aten::mul.Tensor", BinaryCalls(6)); }},
    {"X962", "state", "aten::sin", "the first answer for each size again",
     Verdict::kFailValue, AnswerOfShape,
     [] { return Fresh("aten::sin", UnaryCalls(2)); },
     [] {
       return Fresh("aten::sin", {{Randn(1, {3})}, {Randn(2, {4})}});
     }},
    {"X963", "state", "aten::mean.dim", "divides by the first call's size",
     Verdict::kFailValue, DividesByFirstSize,
     [] {
       return Fresh("aten::mean.dim", {{Randn(1, {2, 8}), Ints({1})},
                                       {Randn(2, {2, 16}), Ints({1})}});
     },
     [] {
       return Fresh("aten::mean.dim", {{Randn(1, {2, 8}), Ints({1})},
                                       {Randn(2, {4, 8}), Ints({1})}});
     }},
    {"X964", "state", "aten::sqrt", "ten bits in the first call",
     Verdict::kFailValue, FirstCallIsCold,
     [] {
       return Fresh("aten::sqrt",
                    {{Uniform(4, {20}, 1, 4)}, {Uniform(5, {20}, 1, 4)}});
     },
     [] {
       return Fresh("aten::sqrt", {{F32({1, 4, 9, 2.25})}});
     }},
    {"X965", "state", "aten::abs", "zeros after a call with a NaN",
     Verdict::kFailValue, RemembersNan,
     [] {
       return Fresh("aten::abs", {{F32({1, kNan})}, {F32({-3, 4})}});
     },
     [] {
       return Fresh("aten::abs", {{F32({1, kInf})}, {F32({-3, 4})}});
     }},
    {"X966", "state", "aten::sum", "what a longer call left is added",
     Verdict::kFailValue, StaleScratch,
     [] {
       return Fresh("aten::sum", {{Randn(1, {20})}, {Randn(2, {10})}});
     },
     [] {
       return Fresh("aten::sum", {{Randn(1, {10})}, {Randn(2, {20})}});
     }},
    {"X967", "state", "aten::sigmoid",
     "sizes above the largest so far go through float16", Verdict::kFailValue,
     LargerCallsInHalf,
     [] {
       return Fresh("aten::sigmoid", {{Randn(1, {8})}, {Randn(2, {64})}});
     },
     [] {
       return Fresh("aten::sigmoid", {{Randn(1, {64})}, {Randn(2, {8})}});
     }},

    {"Q961", "state", "aten::sum", "with scratch memory that is kept",
     Verdict::kPass, ScratchOfItsOwn,
     [] {
       return Fresh("aten::sum", {{Randn(1, {20})}, {Randn(2, {10})}});
     }},
    {"Q962", "state", "aten::exp", "two right formulas take turns",
     Verdict::kPass, AlternatesFormulas,
     [] { return Fresh("aten::exp", UnaryCalls(12)); }},
};

}  // namespace

absl::Span<const SelftestCase> StateCases() { return kCases; }

}  // namespace flaggems::selftest
