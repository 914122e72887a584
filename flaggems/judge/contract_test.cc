#include "flaggems/judge/contract.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <limits>

#include "flaggems/judge/testutil.h"

namespace flaggems {
namespace {

using namespace judge_testing;  // NOLINT: a test's vocabulary

struct ContractCase {
  std::string name;
  std::string op;
  Values arguments;
  Kernel kernel;
  Verdict verdict;  // kPass: nothing is broken
  std::string message;
  CallOptions options = {};
};

void PrintTo(const ContractCase& c, std::ostream* os) { *os << c.name; }

unsigned char* Memory(const at::Tensor& t) {
  return static_cast<unsigned char*>(t.storage().mutable_data());
}

CallOptions NotAlone() {
  CallOptions options;
  options.alone = false;
  return options;
}

CallOptions OnDevice() {
  CallOptions options;
  options.on_host = false;
  return options;
}

// torch's own kernel, and a write to an argument.
Kernel Writing(const std::string& op, size_t argument, int64_t byte) {
  return [=](Values arguments) {
    const at::Tensor written = TensorOf(arguments, argument);
    Values results = CallNative(op, std::move(arguments));
    Memory(written)[byte] ^= 1;
    return results;
  };
}

// What a kernel gets from the allocator while it is checked.
at::Tensor UnwrittenBools(std::vector<int64_t> sizes) {
  const GuardedAllocation guarded;
  return at::empty(sizes, at::kBool);
}

std::vector<ContractCase> Cases() {
  const at::Tensor x = F32({-1, 2, 3, 4, 5, 6});
  const at::Tensor m = Randn(1, {3, 4});
  const std::string exp = "aten::exp";
  const std::string split = "aten::split_with_sizes";
  return {
      {"Right", exp, {x}, NativeKernelOf(exp), Verdict::kPass, ""},
      {"Empty",
       exp,
       {at::empty({0, 3})},
       NativeKernelOf(exp),
       Verdict::kPass,
       ""},
      {"ZeroDim",
       exp,
       {at::scalar_tensor(1.)},
       NativeKernelOf(exp),
       Verdict::kPass,
       ""},
      {"Expanded",
       exp,
       {at::ones({3, 1}).expand({3, 4})},
       NativeKernelOf(exp),
       Verdict::kPass,
       ""},
      {"Conjugated",
       exp,
       {at::complex(x, x).conj()},
       NativeKernelOf(exp),
       Verdict::kPass,
       ""},

      {"TooFew",
       "aten::max.dim",
       {m, 1},
       Giving({F32({1, 2, 3})}),
       Verdict::kFailCount,
       "1 results"},
      {"None", exp, {x}, Giving({}), Verdict::kFailCount, "0 results"},
      // Made by sizes alone, as a shape function does it.
      {"LargerThanItsMemory",
       exp,
       {at::ones({1000})},
       [](Values) -> Values {
         const at::Tensor small = at::ones({10});
         small.unsafeGetTensorImpl()->set_sizes_contiguous({1000});
         return {small};
       },
       Verdict::kFailShape,
       "reach outside its memory of 40 bytes"},
      {"UndefinedForATensor",
       exp,
       {x},
       Giving({at::Tensor()}),
       Verdict::kFailCount,
       "no result where"},
      {"ShorterList",
       split,
       {x, std::vector<int64_t>{2, 4}},
       [](Values a) -> Values {
         return {c10::List<at::Tensor>({TensorOf(a).narrow(0, 0, 2)})};
       },
       Verdict::kFailCount,
       ""},
      {"RightList",
       split,
       {x, std::vector<int64_t>{2, 4}},
       NativeKernelOf(split),
       Verdict::kPass,
       ""},

      {"Dtype",
       exp,
       {x},
       Giving({x.exp().to(at::kDouble)}),
       Verdict::kFailDtype,
       "got Double, aten's rules give Float"},
      {"DtypeOfIntegers",
       exp,
       {I64({1, 2})},
       Giving({F64({1, 2}).exp()}),
       Verdict::kFailDtype,
       "Float"},
      {"IndicesOfAnotherDtype",
       "aten::argmax",
       {x},
       Giving({at::scalar_tensor(5, at::kInt)}),
       Verdict::kFailDtype,
       "Int"},
      {"ANumberForATensor", exp, {x}, Giving({1.0}), Verdict::kFailDtype, ""},
      // On CUDA the statistics of 16-bit inputs are float32: right everywhere.
      {"StatisticsInFloat32",
       "aten::native_layer_norm",
       {m.to(at::kHalf), std::vector<int64_t>{4}, kNone, kNone, 1e-5},
       Native("aten::native_layer_norm",
              [](Values& r) {
                r[1] = TensorOf(r, 1).to(at::kFloat);
                r[2] = TensorOf(r, 2).to(at::kFloat);
              }),
       Verdict::kPass,
       ""},
      {"NormItselfInFloat32",
       "aten::native_layer_norm",
       {m.to(at::kHalf), std::vector<int64_t>{4}, kNone, kNone, 1e-5},
       Native("aten::native_layer_norm",
              [](Values& r) { r[0] = TensorOf(r, 0).to(at::kFloat); }),
       Verdict::kFailDtype,
       "got Float"},

      {"Shape",
       exp,
       {x},
       Giving({x.exp().unsqueeze(0)}),
       Verdict::kFailShape,
       "(1, 6):torch.float32"},
      {"ShapeOfAReduction",
       "aten::sum.dim_IntList",
       {m, std::vector<int64_t>{1}, false},
       Giving({m.sum(1, /*keepdim=*/true)}),
       Verdict::kFailShape,
       "(3, 1)"},
      {"OneElementForZeroDim",
       "aten::sum",
       {x},
       Giving({F32({19})}),
       Verdict::kFailShape,
       "(1,)"},

      {"Strides",
       exp,
       {m},
       Giving({m.exp().t().contiguous().t()}),
       Verdict::kFailLayout,
       "strides (1, 3), the reference has (4, 1)"},
      {"OnAnotherDevice",
       exp,
       {x},
       Giving({at::empty({6}, at::kMeta)}),
       Verdict::kFailLayout,
       "a result on meta, the arguments are on cpu"},
      {"KeepsTransposed",
       exp,
       {m.t()},
       NativeKernelOf(exp),
       Verdict::kPass,
       ""},
      {"LosesTransposed",
       exp,
       {m.t()},
       Giving({m.t().exp().contiguous()}),
       Verdict::kFailLayout,
       ""},
      {"LosesChannelsLast",
       exp,
       {Randn(2, {2, 3, 4, 5}).contiguous(at::MemoryFormat::ChannelsLast)},
       [](Values a) -> Values { return {TensorOf(a).exp().contiguous()}; },
       Verdict::kFailLayout,
       ""},
      {"StrideOfASizeOfOne",
       exp,
       {at::ones({1, 3})},
       Giving({at::ones({1, 3}).exp().as_strided({1, 3}, {77, 1})}),
       Verdict::kPass,
       ""},
      {"LayoutOfADevice",
       exp,
       {m.t()},
       Giving({m.t().exp().contiguous()}),
       Verdict::kPass,
       "",
       OnDevice()},
      {"LayoutOfADeviceOfContiguous",
       exp,
       {m},
       Giving({m.exp().t().contiguous().t()}),
       Verdict::kFailLayout,
       "",
       OnDevice()},

      {"ReturnsItsArgument",
       "aten::abs",
       {F32({1, 2})},
       [](Values a) -> Values { return {a[0]}; },
       Verdict::kFailAlias,
       "output 0 shares memory with argument self"},
      {"ViewThatIsACopy",
       "aten::t",
       {m},
       [](Values a) -> Values { return {TensorOf(a).t().clone()}; },
       Verdict::kFailAlias,
       "does not share the memory of argument self"},
      {"InPlaceReturnsACopy",
       "aten::abs_",
       {F32({-1, 2})},
       [](Values a) -> Values { return {TensorOf(a).abs_().clone()}; },
       Verdict::kFailAlias,
       "which the schema demands"},
      {"ListOfViewsThatIsOfCopies",
       split,
       {x, std::vector<int64_t>{2, 4}},
       [](Values a) -> Values {
         return {c10::List<at::Tensor>({TensorOf(a).narrow(0, 0, 2),
                                        TensorOf(a).narrow(0, 2, 4).clone()})};
       },
       Verdict::kFailAlias,
       "tensor 1 of output 0 does not share the memory of argument self"},
      {"ListReturnsItsArgument",
       "aten::_foreach_abs",
       {c10::List<at::Tensor>({F32({1, 2}), F32({3})})},
       [](Values a) -> Values { return {a[0]}; },
       Verdict::kFailAlias,
       "tensor 0 of output 0 shares memory with argument self"},
      {"ListOfNewTensors",
       "aten::_foreach_abs",
       {c10::List<at::Tensor>({F32({1, 2}), F32({3})})},
       NativeKernelOf("aten::_foreach_abs"),
       Verdict::kPass,
       ""},
      {"ListOfCopiesIsFree",
       "aten::unsafe_split.Tensor",
       {x, 3, 0},
       [](Values a) -> Values {
         return {c10::List<at::Tensor>({TensorOf(a).narrow(0, 0, 3).clone(),
                                        TensorOf(a).narrow(0, 3, 3).clone()})};
       },
       Verdict::kPass,
       ""},
      {"OutputsShare",
       "aten::std_mean.correction",
       {m},
       [](Values) -> Values {
         const at::Tensor both = at::zeros({2});
         return {both.select(0, 0), both.select(0, 1)};
       },
       Verdict::kFailAlias,
       "outputs 0 and 1 share memory"},

      {"WritesItsInput",
       exp,
       {x.clone()},
       Writing(exp, 0, 3),
       Verdict::kFailArgument,
       "argument self was changed"},
      {"WritesTheSecondInput",
       "aten::add.Tensor",
       {x, x.clone()},
       Writing("aten::add.Tensor", 1, 23),
       Verdict::kFailArgument,
       "argument other"},
      {"TransposesItsInput",
       exp,
       {m.clone()},
       [](Values a) -> Values {
         Values results = {TensorOf(a).exp()};
         TensorOf(a).t_();
         return results;
       },
       Verdict::kFailArgument,
       "argument self has other sizes or strides"},
      {"ResizesItsInput",
       exp,
       {m.clone()},
       [](Values a) -> Values {
         Values results = {TensorOf(a).exp()};
         TensorOf(a).resize_({2});
         return results;
       },
       Verdict::kFailArgument,
       "argument self has other sizes or strides"},
      {"ConjugatesItsInput",
       exp,
       {at::complex(m, m)},
       [](Values a) -> Values {
         Values results = {TensorOf(a).exp()};
         TensorOf(a)._set_conj(true);
         return results;
       },
       Verdict::kFailArgument,
       "argument self has other sizes or strides"},
      {"ReshapesATensorOfAList",
       "aten::cat",
       {c10::List<at::Tensor>({F32({1}), F32({2, 3})}), 0},
       [](Values a) -> Values {
         Values results = CallNative("aten::cat", a);
         a[0].toTensorVector()[1].unsqueeze_(0);
         return results;
       },
       Verdict::kFailArgument,
       "argument tensors has other sizes or strides"},
      {"MayReshapeWhatItWrites",
       "aten::t_",
       {m.clone()},
       NativeKernelOf("aten::t_"),
       Verdict::kPass,
       ""},
      {"GivesItsInputOtherMemory",
       exp,
       {m.clone()},
       [](Values a) -> Values {
         Values results = {TensorOf(a).exp()};
         TensorOf(a).set_(at::zeros({3, 4}));
         return results;
       },
       Verdict::kFailArgument,
       "argument self was given other memory"},
      {"WritesBesideAnInput",
       exp,
       {at::arange(16.).slice(0, 4, 8)},
       Writing(exp, 0, 8 * 4),
       Verdict::kFailArgument,
       "byte 32 "},
      {"WritesInAGap",
       exp,
       {at::arange(16.).slice(0, 0, 16, 2)},
       Writing(exp, 0, 4),
       Verdict::kFailArgument,
       "byte 4 "},
      // Memory beside may be another thread's.
      {"WritesBesideNotAlone",
       exp,
       {at::arange(16.).slice(0, 4, 8)},
       Writing(exp, 0, 8 * 4),
       Verdict::kPass,
       "",
       NotAlone()},
      {"WritesItsInputNotAlone",
       exp,
       {x.clone()},
       Writing(exp, 0, 3),
       Verdict::kFailArgument,
       "",
       NotAlone()},
      {"WritesBesideItsOutArgument",
       "aten::exp.out",
       {F32({1, 2}), at::zeros({4}).slice(0, 0, 2)},
       Writing("aten::exp.out", 1, 8),
       Verdict::kFailArgument,
       "byte 8 "},
      {"WritesAfterItsResult",
       exp,
       {x},
       Native(exp, [](Values& r) { Memory(TensorOf(r))[6 * 4] ^= 1; }),
       Verdict::kFailArgument,
       "beside output 0 was overwritten: byte 0 after"},
      {"WritesBeforeTheSecondResult",
       "aten::max.dim",
       {m, 1},
       Native("aten::max.dim",
              [](Values& r) { Memory(TensorOf(r, 1))[-1] ^= 1; }),
       Verdict::kFailArgument,
       "beside output 1"},

      // Torch registers nothing for conjugates here: its fallback sees to
      // views.
      {"ViewOfAConjugate",
       "aten::squeeze.dim",
       {at::complex(m, m).view({1, -1}).conj(), 0},
       NativeKernelOf("aten::squeeze.dim"),
       Verdict::kPass,
       ""},
      {"ViewOfTheEndOfAConjugate",
       "aten::_reshape_alias",
       {at::complex(m, m).view({-1}).conj().slice(0, 8),
        std::vector<int64_t>{2}, std::vector<int64_t>{3}},
       NativeKernelOf("aten::_reshape_alias"),
       Verdict::kPass,
       ""},

      {"BoolNeverWritten",
       "aten::gt.Scalar",
       {x, 0},
       [](Values a) -> Values {
         const at::Tensor out = at::empty_like(TensorOf(a), at::kBool);
         out.slice(0, 0, 4).copy_(TensorOf(a).slice(0, 0, 4).gt(0));
         return {out};
       },
       Verdict::kFailValue,
       "never written"},
      {"BoolWritten",
       "aten::gt.Scalar",
       {x, 0},
       NativeKernelOf("aten::gt.Scalar"),
       Verdict::kPass,
       ""},
      // torch's kernels lay out their results so before they write them.
      {"ViewInPlaceOfBoolsNotWrittenYet",
       "aten::as_strided_",
       {UnwrittenBools({2, 3}), std::vector<int64_t>{3, 2},
        std::vector<int64_t>{1, 3}, kNone},
       NativeKernelOf("aten::as_strided_"),
       Verdict::kPass,
       ""},
      {"BoolUninitialised",
       "aten::empty.memory_format",
       {std::vector<int64_t>{3}, at::kBool},
       NativeKernelOf("aten::empty.memory_format"),
       Verdict::kPass,
       ""},

      // The worst of several: shapes come before written arguments.
      {"ShapeAndArgument",
       exp,
       {x.clone()},
       [](Values a) -> Values {
         Memory(TensorOf(a))[0] ^= 1;
         return {TensorOf(a).exp().unsqueeze(0)};
       },
       Verdict::kFailShape,
       ""},
      {"BothUndefined",
       "aten::native_layer_norm_backward",
       {m, m, std::vector<int64_t>{4}, m.mean(1, true), m.mean(1, true), kNone,
        kNone, std::vector<bool>{true, false, false}},
       NativeKernelOf("aten::native_layer_norm_backward"),
       Verdict::kPass,
       ""},
      // Saved statistics of no batch: nobody may read them.
      {"UnreadResultsOfEval",
       "aten::native_batch_norm",
       {Randn(3, {2, 3, 4}), kNone, kNone, at::zeros({3}), at::ones({3}), false,
        0.1, 1e-5},
       Native("aten::native_batch_norm",
              [](Values& r) {
                r[1] = at::ones({7});
                r[2] = at::ones({7});
              }),
       Verdict::kPass,
       ""},
      {"ReadResultsOfTraining",
       "aten::native_batch_norm",
       {Randn(3, {2, 3, 4}), kNone, kNone, at::zeros({3}), at::ones({3}), true,
        0.1, 1e-5},
       Native("aten::native_batch_norm",
              [](Values& r) { r[1] = at::ones({7}); }),
       Verdict::kFailShape,
       ""},
  };
}

class ContractTest : public testing::TestWithParam<ContractCase> {};

TEST_P(ContractTest, SaysWhatIsBroken) {
  const ContractCase& c = GetParam();
  const MadeCall made(c.op, c.arguments, c.kernel, c.options);
  ASSERT_TRUE(made.thrown().ok()) << made.thrown();
  const KernelCall call = made.call();
  ReferenceRuns runs(call);
  const std::optional<Judgement> broken = BrokenContract(call, runs);
  ASSERT_EQ(broken.has_value(), c.verdict != Verdict::kPass)
      << (broken ? broken->message : "");
  if (broken) {
    EXPECT_EQ(ReasonName(broken->verdict), ReasonName(c.verdict))
        << broken->message;
    EXPECT_THAT(broken->message, testing::HasSubstr(c.message));
  }
}

TEST(HaveSameBytesTest, OfElementsWhateverTheirLayout) {
  const at::Tensor x = F32({1, 2, 3, 4, 5, 6}).view({2, 3});
  const at::Tensor z = at::complex(x, x + 1);
  const at::Tensor nan = F32({NAN});
  const at::Tensor other_nan = nan.clone();
  Memory(other_nan)[0] ^= 1;
  const struct {
    at::Tensor a;
    at::Tensor b;
    bool same;
  } kCases[] = {
      {x, x.clone(), true},
      {x, x + 1, false},
      {x, x.t().contiguous().t(), true},
      {x, x.to(at::kDouble), false},
      {nan, nan.clone(), true},
      {nan, other_nan, false},
      {F32({0.}), F32({-0.}), false},
      // A copy to another device carries the bit out.
      {z.conj(), z.conj().resolve_conj(), true},
      {z.conj(), z, false},
      {at::empty({0, 3}), at::empty({0, 3}), true},
  };
  for (const auto& c : kCases) {
    EXPECT_EQ(HaveSameBytes(c.a, c.b), c.same) << c.a << " and " << c.b;
  }
}

INSTANTIATE_TEST_SUITE_P(Contracts, ContractTest, testing::ValuesIn(Cases()),
                         [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace flaggems
