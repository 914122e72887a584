// Overloads that write an `out` argument.

#include <ATen/ATen.h>

#include "tools/precision/selftest/case_util.h"
#include "tools/precision/selftest/selftest_cases.h"

namespace flaggems::selftest {
namespace {

// --- Wrong. ---

void MmWrittenLinearly(const NativeCall&, Stack* stack) {
  const at::Tensor out = TensorAt(stack, 2);
  WriteLinearly(out, at::mm(TensorAt(stack, 0), TensorAt(stack, 1)));
  Return(stack, {out});
}

void MulWrittenLinearly(const NativeCall&, Stack* stack) {
  const at::Tensor out = TensorAt(stack, 2);
  WriteLinearly(out, at::mul(TensorAt(stack, 0), TensorAt(stack, 1)));
  Return(stack, {out});
}

void AddNotResized(const NativeCall& native, Stack* stack) {
  const at::Tensor out = TensorAt(stack, 3);
  if (out.numel() == 0) {
    Return(stack, {out});
    return;
  }
  native(stack);
}

void ReturnsAnother(const NativeCall& native, Stack* stack) {
  native(stack);
  Return(stack, {TensorAt(stack, 0).clone()});
}

void OutNotWritten(const NativeCall&, Stack* stack) {
  Return(stack, {at::log(TensorAt(stack, 0))});
}

void SumWithoutKeepdim(const NativeCall& native, Stack* stack) {
  stack->at(2) = false;
  native(stack);
}

void ZeroesOutFirst(const NativeCall& native, Stack* stack) {
  TensorAt(stack, 2).zero_();
  native(stack);
}

void HalfOut(const NativeCall& native, Stack* stack) {
  // Float32 results go through float16 on the way to `out`.
  native(stack);
  const at::Tensor out = TensorAt(stack, 0);
  out.copy_(out.to(at::kHalf));
}

void WritesPastOut(const NativeCall& native, Stack* stack) {
  const at::Tensor out = TensorAt(stack, 1);
  native(stack);
  const int64_t end = out.storage_offset() + out.numel();
  if (end * static_cast<int64_t>(out.itemsize()) <
      static_cast<int64_t>(out.storage().nbytes())) {
    out.mutable_data_ptr<float>()[out.numel()] = 0;
  }
}

// --- Right. ---

void MmThroughCopy(const NativeCall&, Stack* stack) {
  const at::Tensor out = TensorAt(stack, 2);
  out.copy_(at::mm(TensorAt(stack, 0), TensorAt(stack, 1)));
  Return(stack, {out});
}

void AddThroughCopy(const NativeCall&, Stack* stack) {
  const at::Tensor out = TensorAt(stack, 3);
  const at::Tensor sum =
      at::add(TensorAt(stack, 0), TensorAt(stack, 1), stack->at(2).toScalar());
  if (out.sizes() != sum.sizes()) out.resize_(sum.sizes());
  out.copy_(sum);
  Return(stack, {out});
}

CallList MmInto(const at::Tensor& out) {
  return Calls("aten::mm.out", {{Randn(1, {4, 6}), Randn(2, {6, 4}), out}});
}

CallList MulInto(const at::Tensor& out) {
  return Calls("aten::mul.out", {{Randn(1, {3, 5}), Randn(2, {3, 5}), out}});
}

CallList AddInto(const at::Tensor& out) {
  return Calls("aten::add.out", {{Randn(1, {3, 5}), Randn(2, {3, 5}), 1, out}});
}

const SelftestCase kCases[] = {
    {"W39", "out", "aten::mm.out", "the strides of `out` are ignored",
     Verdict::kFailValue, MmWrittenLinearly,
     [] {
       return MmInto(Filled({4, 4}, 0).t());
     },
     [] {
       return MmInto(Filled({4, 4}, 0));
     }},
    {"X921", "out", "aten::mul.out", "the strides of `out` are ignored",
     Verdict::kFailValue, MulWrittenLinearly,
     [] {
       return MulInto(Filled({5, 3}, 0).t());
     },
     [] {
       return MulInto(Filled({3, 5}, 0));
     }},
    {"X922", "out", "aten::add.out", "an empty `out` stays empty",
     Verdict::kFailShape, AddNotResized, [] { return AddInto(Filled({0}, 0)); },
     [] {
       return AddInto(Filled({3, 5}, 0));
     }},
    {"X923", "out", "aten::exp.out", "fills `out` and returns a copy of it",
     Verdict::kFailAlias, ReturnsAnother,
     [] {
       return Calls("aten::exp.out", {{Randn(3, {6}), Filled({6}, 0)}});
     }},
    {"X924", "out", "aten::log.out",
     "returns the result in a tensor of its own, `out` stays",
     Verdict::kFailAlias, OutNotWritten,
     [] {
       return Calls("aten::log.out", {{Uniform(4, {6}, 1, 2), Filled({6}, 0)}});
     }},
    {"X925", "out", "aten::sum.IntList_out", "keepdim is lost",
     Verdict::kFailShape, SumWithoutKeepdim,
     [] {
       return Calls("aten::sum.IntList_out", {{Randn(5, {3, 4}), Ints({1}),
                                               true, kNone, Filled({0}, 0)}});
     },
     [] {
       return Calls("aten::sum.IntList_out", {{Randn(5, {3, 4}), Ints({1}),
                                               false, kNone, Filled({0}, 0)}});
     }},
    {"X926", "out", "aten::mul.out", "`out` is zeroed before inputs are read",
     Verdict::kFailValue, ZeroesOutFirst,
     [] {
       const at::Tensor x = Randn(1, {6});
       return Calls("aten::mul.out", {{x, Randn(2, {6}), x}});
     },
     [] {
       return MulInto(Filled({3, 5}, 1));
     }},
    {"X927", "out", "aten::add.out", "float32 goes through float16",
     Verdict::kFailValue, HalfOut,
     [] {
       return AddInto(Filled({3, 5}, 0));
     },
     [] {
       return Calls("aten::add.out",
                    {{F32({1, 2}), F32({3, .5}), 1, Filled({2}, 0)}});
     }},
    {"X928", "out", "aten::tanh.out", "the element after `out` is set to zero",
     Verdict::kFailArgument, WritesPastOut,
     [] {
       return Calls("aten::tanh.out",
                    {{Randn(8, {4}), Filled({9}, 3).narrow(0, 1, 4)}});
     },
     [] {
       return Calls("aten::tanh.out",
                    {{Randn(8, {4}), Filled({9}, 3).narrow(0, 5, 4)}});
     }},

    {"Q921", "out", "aten::mm.out", "a transposed `out` by a copy",
     Verdict::kPass, MmThroughCopy,
     [] {
       return MmInto(Filled({4, 4}, 0).t());
     }},
    {"Q922", "out", "aten::add.out", "resized, or the same as an input",
     Verdict::kPass, AddThroughCopy,
     [] {
       const at::Tensor x = Randn(1, {6});
       CallList calls = AddInto(Filled({0}, 0));
       calls.push_back(
           Calls("aten::add.out", {{x, Randn(2, {6}), 2, x}}).front());
       return calls;
     }},
};

}  // namespace

absl::Span<const SelftestCase> OutCases() { return kCases; }

}  // namespace flaggems::selftest
