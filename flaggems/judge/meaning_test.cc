#include "flaggems/judge/meaning.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "flaggems/judge/testutil.h"

namespace flaggems {
namespace {

using namespace judge_testing;  // NOLINT: a test's vocabulary

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kInf = std::numeric_limits<double>::infinity();

enum class Said { kNoRule, kRight, kWrong };

void PrintTo(Said said, std::ostream* os) {
  *os << (said == Said::kNoRule  ? "no rule"
          : said == Said::kRight ? "right"
                                 : "wrong");
}

struct MeaningCase {
  std::string name;
  std::string op;
  Values arguments;
  Kernel kernel;
  Said said;
  std::string message = "";
};

void PrintTo(const MeaningCase& c, std::ostream* os) { *os << c.name; }

class MeaningTest : public testing::TestWithParam<MeaningCase> {};

TEST_P(MeaningTest, SaysWhetherResultsMeanTheSame) {
  const MeaningCase& c = GetParam();
  const MadeCall made(c.op, c.arguments, c.kernel);
  ASSERT_TRUE(made.thrown().ok()) << made.thrown();
  const KernelCall call = made.call();
  ReferenceRuns runs(call);
  const std::optional<BrokenMeaning> broken = JudgeMeaning(call, runs);
  const Said said = !broken                   ? Said::kNoRule
                    : broken->message.empty() ? Said::kRight
                                              : Said::kWrong;
  EXPECT_EQ(said, c.said) << (broken ? broken->message : "");
  if (broken) {
    EXPECT_THAT(broken->message, testing::HasSubstr(c.message));
  }
}

std::string NameOf(const testing::TestParamInfo<MeaningCase>& info) {
  return info.param.name;
}

// --- Indices of equal values. ---

// {3, 1, 3, 2, 1}: the greatest at 0 and 2, the least at 1 and 4.
at::Tensor Tied() { return F32({3, 1, 3, 2, 1}); }

at::Tensor Scalar(int64_t value) { return at::scalar_tensor(value, at::kLong); }
at::Tensor Scalar(double value) { return at::scalar_tensor(value, at::kFloat); }

std::vector<MeaningCase> IndexCases() {
  const at::Tensor x = Tied();
  const std::string max = "aten::max.dim";
  const std::string sort = "aten::sort";
  const std::string topk = "aten::topk";
  const std::string mode = "aten::mode";
  const std::string kth = "aten::kthvalue";
  const std::string median = "aten::median.dim";
  const at::Tensor sorted = F32({1, 1, 2, 3, 3});
  const at::Tensor nans = F32({kNan, 1, kNan});
  return {
      {"NoRule", "aten::exp", {x}, NativeKernelOf("aten::exp"), Said::kNoRule},
      {"MaxFirst",
       max,
       {x, 0},
       Giving({Scalar(3.), Scalar(int64_t{0})}),
       Said::kRight},
      {"MaxSecond",
       max,
       {x, 0},
       Giving({Scalar(3.), Scalar(int64_t{2})}),
       Said::kRight},
      {"MaxOfAnotherValue",
       max,
       {x, 0},
       Giving({Scalar(3.), Scalar(int64_t{3})}),
       Said::kWrong,
       "another value at the index"},
      {"MaxBeyond",
       max,
       {x, 0},
       Giving({Scalar(3.), Scalar(int64_t{5})}),
       Said::kWrong,
       "outside [0, 5)"},
      {"MaxNegative",
       max,
       {x, 0},
       Giving({Scalar(3.), Scalar(int64_t{-3})}),
       Said::kWrong,
       "outside [0, 5)"},
      // A wrong value is the business of numbers.
      {"MaxWrongValue",
       max,
       {x, 0},
       Giving({Scalar(2.), Scalar(int64_t{3})}),
       Said::kNoRule},
      {"MaxNanSecond",
       max,
       {nans, 0},
       Giving({Scalar(kNan), Scalar(int64_t{2})}),
       Said::kRight},
      {"MaxNanOfANumber",
       max,
       {nans, 0},
       Giving({Scalar(kNan), Scalar(int64_t{1})}),
       Said::kWrong},
      {"MaxZeroDim",
       max,
       {Scalar(3.), 0},
       Giving({Scalar(3.), Scalar(int64_t{1})}),
       Said::kWrong,
       "of a single element"},
      {"MaxKeepdim",
       max,
       {at::stack({x, x}), 1, true},
       Giving({F32({3, 3}).unsqueeze(1), I64({2, 0}).unsqueeze(1)}),
       Said::kRight},
      {"MaxNegativeDim",
       max,
       {at::stack({x, x}), -1, false},
       Giving({F32({3, 3}), I64({2, 0})}),
       Said::kRight},
      {"MaxStrided",
       max,
       {at::stack({x, x}, 1), 0, false},
       Giving({F32({3, 3}), I64({2, 1})}),
       Said::kWrong,
       "at (0, 1)"},
      {"MaxMinusZero",
       max,
       {F32({-0., 0}), 0},
       Giving({Scalar(0.), Scalar(int64_t{0})}),
       Said::kRight},
      {"MaxOut",
       "aten::max.dim_max",
       {x, 0, false, Scalar(0.), Scalar(int64_t{0})},
       [](Values a) -> Values {
         TensorOf(a, 3).fill_(3);
         TensorOf(a, 4).fill_(2);
         return {a[3], a[4]};
       },
       Said::kRight},
      {"CummaxEarlier",
       "aten::cummax",
       {F32({1, 2, 2}), 0},
       Giving({F32({1, 2, 2}), I64({0, 1, 1})}),
       Said::kRight},
      {"CummaxWrong",
       "aten::cummax",
       {F32({1, 2, 2}), 0},
       Giving({F32({1, 2, 2}), I64({0, 1, 0})}),
       Said::kWrong,
       "at (2)"},

      {"ArgmaxSecond",
       "aten::argmax",
       {x},
       Giving({Scalar(int64_t{2})}),
       Said::kRight},
      {"ArgmaxWrong",
       "aten::argmax",
       {x},
       Giving({Scalar(int64_t{3})}),
       Said::kWrong,
       "not the extreme value"},
      {"ArgmaxBeyond",
       "aten::argmax",
       {x},
       Giving({Scalar(int64_t{1} << 40)}),
       Said::kWrong,
       "outside [0, 5)"},
      {"ArgmaxFlattened",
       "aten::argmax",
       {at::stack({x, x})},
       Giving({Scalar(int64_t{7})}),
       Said::kRight},
      {"ArgmaxDim",
       "aten::argmax",
       {at::stack({x, x}), 1, false},
       Giving({I64({2, 0})}),
       Said::kRight},
      {"ArgmaxDimWrong",
       "aten::argmax",
       {at::stack({x, x}), 1, false},
       Giving({I64({2, 1})}),
       Said::kWrong},
      {"ArgminSecond",
       "aten::argmin",
       {x, 0, true},
       Giving({I64({4})}),
       Said::kRight},
      {"ArgmaxOut",
       "aten::argmax.out",
       {x, kNone, false, Scalar(int64_t{9})},
       [](Values a) -> Values { return {TensorOf(a, 3).fill_(2)}; },
       Said::kRight},

      {"SortOtherOrder",
       sort,
       {x},
       Giving({sorted, I64({4, 1, 3, 2, 0})}),
       Said::kRight},
      {"SortIndexTwice",
       sort,
       {x},
       Giving({sorted, I64({1, 1, 3, 2, 0})}),
       Said::kWrong,
       "no permutation"},
      {"SortIndexBeyond",
       sort,
       {x},
       Giving({sorted, I64({1, 5, 3, 2, 0})}),
       Said::kWrong,
       "outside"},
      {"SortIndexWrong",
       sort,
       {x},
       Giving({sorted, I64({1, 2, 3, 4, 0})}),
       Said::kWrong,
       "another value"},
      {"SortWrongValues",
       sort,
       {x},
       Giving({F32({1, 1, 2, 3, 4}), I64({1, 4, 3, 0, 2})}),
       Said::kNoRule},
      {"SortStable",
       "aten::sort.stable",
       {x, true, 0, false},
       Giving({sorted, I64({4, 1, 3, 2, 0})}),
       Said::kNoRule},
      {"SortNotStable",
       "aten::sort.stable",
       {x, false, 0, false},
       Giving({sorted, I64({4, 1, 3, 2, 0})}),
       Said::kRight},
      {"SortNan",
       sort,
       {nans},
       Giving({F32({1, kNan, kNan}), I64({1, 2, 0})}),
       Said::kRight},
      {"ArgsortOtherOrder",
       "aten::argsort",
       {x},
       Giving({I64({4, 1, 3, 2, 0})}),
       Said::kRight},
      {"ArgsortTwice",
       "aten::argsort",
       {x},
       Giving({I64({1, 1, 3, 2, 0})}),
       Said::kWrong},

      {"TopkOtherOfEqual",
       topk,
       {x, 1},
       Giving({F32({3}), I64({2})}),
       Said::kRight},
      {"TopkTwice",
       topk,
       {x, 2},
       Giving({F32({3, 3}), I64({2, 2})}),
       Said::kWrong,
       "twice"},
      {"TopkUnsorted",
       topk,
       {x, 3, -1, true, false},
       Giving({F32({2, 3, 3}), I64({3, 2, 0})}),
       Said::kRight},
      {"TopkUnsortedWrongSet",
       topk,
       {x, 3, -1, true, false},
       Giving({F32({1, 3, 3}), I64({1, 2, 0})}),
       Said::kWrong,
       "not the selected values"},
      {"TopkSortedWrongOrder",
       topk,
       {x, 3, -1, true, true},
       Giving({F32({2, 3, 3}), I64({3, 2, 0})}),
       Said::kNoRule},
      {"TopkBeyond", topk, {x, 1}, Giving({F32({3}), I64({9})}), Said::kWrong},

      {"KthOther",
       kth,
       {x, 1},
       Giving({Scalar(1.), Scalar(int64_t{4})}),
       Said::kRight},
      {"KthWrong",
       kth,
       {x, 1},
       Giving({Scalar(1.), Scalar(int64_t{0})}),
       Said::kWrong},
      {"MedianOther",
       median,
       {F32({2, 1, 2}), 0},
       Giving({Scalar(2.), Scalar(int64_t{0})}),
       Said::kRight},
      {"MedianWrong",
       median,
       {F32({2, 1, 2}), 0},
       Giving({Scalar(2.), Scalar(int64_t{1})}),
       Said::kWrong},

      {"ModeOtherValue",
       mode,
       {x},
       Giving({Scalar(3.), Scalar(int64_t{2})}),
       Said::kRight},
      {"ModeRarer",
       mode,
       {x},
       Giving({Scalar(2.), Scalar(int64_t{3})}),
       Said::kWrong,
       "not a most frequent value"},
      {"ModeNotThere",
       mode,
       {x},
       Giving({Scalar(7.), Scalar(int64_t{3})}),
       Said::kWrong},
      {"ModeWrongIndex",
       mode,
       {x},
       Giving({Scalar(3.), Scalar(int64_t{3})}),
       Said::kWrong,
       "another value"},

      {"PoolOther",
       "aten::max_pool2d_with_indices",
       {at::ones({1, 1, 2, 2}), std::vector<int64_t>{2, 2}},
       Giving({at::ones({1, 1, 1, 1}), at::full({1, 1, 1, 1}, 3)}),
       Said::kRight},
      {"PoolBeyond",
       "aten::max_pool2d_with_indices",
       {at::ones({1, 1, 2, 2}), std::vector<int64_t>{2, 2}},
       Giving({at::ones({1, 1, 1, 1}), at::full({1, 1, 1, 1}, 4)}),
       Said::kWrong,
       "outside [0, 4)"},
      {"PoolWrong",
       "aten::max_pool2d_with_indices",
       {at::arange(4.).reshape({1, 1, 2, 2}), std::vector<int64_t>{2, 2}},
       Giving({at::full({1, 1, 1, 1}, 3.f), at::full({1, 1, 1, 1}, 2)}),
       Said::kWrong},
  };
}

INSTANTIATE_TEST_SUITE_P(Indices, MeaningTest, testing::ValuesIn(IndexCases()),
                         NameOf);

// --- Which of several sources wins. ---

c10::IValue OptionalTensors(const std::vector<at::Tensor>& tensors) {
  c10::List<std::optional<at::Tensor>> list;
  for (const at::Tensor& t : tensors) {
    list.push_back(t.defined() ? std::optional<at::Tensor>(t) : std::nullopt);
  }
  return list;
}

std::vector<MeaningCase> WriterCases() {
  const at::Tensor zeros = at::zeros({4});
  const at::Tensor twice = I64({1, 1, 3});
  const at::Tensor src = F32({5, 6, 7});
  const std::string scatter = "aten::scatter.src";
  const std::string put = "aten::index_put";
  const Values scattered = {zeros, 0, twice, src};
  const Values indexed = {zeros, OptionalTensors({twice}), src, false};
  return {
      {"ScatterFirst", scatter, scattered, Giving({F32({0, 5, 0, 7})}),
       Said::kRight},
      {"ScatterLast", scatter, scattered, Giving({F32({0, 6, 0, 7})}),
       Said::kRight},
      {"ScatterSum", scatter, scattered, Giving({F32({0, 11, 0, 7})}),
       Said::kWrong, "at (1)"},
      {"ScatterMissed", scatter, scattered, Giving({F32({0, 6, 0, 0})}),
       Said::kWrong, "at (3)"},
      {"ScatterTouchedAnother", scatter, scattered, Giving({F32({1, 6, 0, 7})}),
       Said::kWrong, "at (0)"},
      {"ScatterNan",
       scatter,
       {zeros, 0, twice, F32({kNan, 6, kInf})},
       Giving({F32({0, kNan, 0, kInf})}),
       Said::kRight},
      {"ScatterInPlace",
       "aten::scatter_.src",
       {at::zeros({4}), 0, twice, src},
       [](Values a) -> Values {
         return {TensorOf(a).copy_(F32({0, 5, 0, 7}))};
       },
       Said::kRight},
      {"ScatterValue",
       "aten::scatter.value",
       {zeros, 0, twice, 2},
       Giving({F32({0, 2, 0, 2})}),
       Said::kRight},
      {"ScatterReduced",
       "aten::scatter.reduce",
       {zeros, 0, twice, src, "add"},
       Giving({F32({0, 5, 0, 7})}),
       Said::kNoRule},
      {"ScatterWiderSource",
       scatter,
       {zeros, 0, twice, F32({5, 6, 7, 8, 9})},
       Giving({F32({0, 5, 0, 7})}),
       Said::kRight},
      {"ScatterRows",
       scatter,
       {at::zeros({2, 2}), 0, I64({0, 0, 0, 1}).reshape({2, 2}),
        F32({1, 2, 3, 4}).reshape({2, 2})},
       Giving({F32({1, 2, 0, 4}).reshape({2, 2})}),
       Said::kRight},

      {"PutFirst", put, indexed, Giving({F32({0, 5, 0, 7})}), Said::kRight},
      {"PutLast", put, indexed, Giving({F32({0, 6, 0, 7})}), Said::kRight},
      {"PutNeither", put, indexed, Giving({F32({0, 4, 0, 7})}), Said::kWrong},
      {"PutMissed", put, indexed, Giving({F32({0, 0, 0, 7})}), Said::kWrong},
      {"PutNegativeIndex",
       put,
       {zeros, OptionalTensors({I64({-1, 3})}), F32({5, 6}), false},
       Giving({F32({0, 0, 0, 5})}),
       Said::kRight},
      {"PutAccumulated",
       put,
       {zeros, OptionalTensors({twice}), src, true},
       Giving({F32({0, 6, 0, 7})}),
       Said::kNoRule},
      {"PutBroadcastValue",
       put,
       {zeros, OptionalTensors({twice}), F32({5}), false},
       Giving({F32({0, 5, 0, 5})}),
       Said::kRight},
      {"PutColumns",
       put,
       {at::zeros({2, 3}), OptionalTensors({at::Tensor(), I64({1, 1})}),
        F32({1, 2, 3, 4}).reshape({2, 2}), false},
       Giving({F32({0, 2, 0, 0, 3, 0}).reshape({2, 3})}),
       Said::kRight},
      {"PutColumnsOfAnotherRow",
       put,
       {at::zeros({2, 3}), OptionalTensors({at::Tensor(), I64({1, 1})}),
        F32({1, 2, 3, 4}).reshape({2, 2}), false},
       Giving({F32({0, 3, 0, 0, 3, 0}).reshape({2, 3})}),
       Said::kWrong},
      {"PutHalf",
       put,
       {zeros.to(at::kHalf), OptionalTensors({twice}), src.to(at::kHalf),
        false},
       Giving({F16({0, 5, 0, 7})}),
       Said::kRight},
      {"PutMask",
       put,
       {zeros, OptionalTensors({F32({0, 1, 0, 1}).gt(0)}), F32({5, 6}), false},
       Giving({F32({0, 5, 0, 6})}),
       Said::kRight},
      {"PutMaskWrong",
       put,
       {zeros, OptionalTensors({F32({0, 1, 0, 1}).gt(0)}), F32({5, 6}), false},
       Giving({F32({0, 6, 0, 5})}),
       Said::kWrong},

      {"IndexCopy",
       "aten::index_copy",
       {zeros, 0, twice, src},
       Giving({F32({0, 5, 0, 7})}),
       Said::kRight},
      {"IndexCopyWrong",
       "aten::index_copy",
       {zeros, 0, twice, src},
       Giving({F32({0, 7, 0, 7})}),
       Said::kWrong},
      {"Put",
       "aten::put",
       {zeros, twice, src, false},
       Giving({F32({0, 5, 0, 7})}),
       Said::kRight},
      {"PutWrong",
       "aten::put",
       {zeros, twice, src, false},
       Giving({F32({0, 5, 5, 7})}),
       Said::kWrong,
       "at (2)"},
      {"PutFlatSource",
       "aten::put",
       {zeros, twice.reshape({1, 3}), src, false},
       Giving({F32({0, 5, 0, 7})}),
       Said::kRight},
  };
}

INSTANTIATE_TEST_SUITE_P(Writers, MeaningTest, testing::ValuesIn(WriterCases()),
                         NameOf);

// --- Sets. ---

std::vector<MeaningCase> SetCases() {
  const at::Tensor x = Tied();
  const std::string unique = "aten::_unique2";
  const Values all = {x, false, true, true};
  const at::Tensor inverse = I64({0, 2, 0, 1, 2});
  const at::Tensor values = F32({3, 2, 1});
  return {
      {"AnyOrder", unique, all, Giving({values, inverse, I64({2, 1, 2})}),
       Said::kRight},
      {"WrongCounts", unique, all, Giving({values, inverse, I64({2, 2, 1})}),
       Said::kWrong, "counts"},
      {"WrongInverse", unique, all,
       Giving({values, I64({0, 2, 0, 1, 1}), I64({2, 1, 2})}), Said::kWrong,
       "does not give the input back at (4)"},
      {"InverseBeyond", unique, all,
       Giving({values, I64({0, 2, 0, 1, 3}), I64({2, 1, 2})}), Said::kWrong,
       "outside [0, 3)"},
      {"WrongValues", unique, all,
       Giving({F32({3, 2, 4}), inverse, I64({2, 1, 2})}), Said::kWrong,
       "not the distinct values"},
      {"SortedInAnotherOrder",
       unique,
       {x, true, true, true},
       Giving({values, inverse, I64({2, 1, 2})}),
       Said::kNoRule},
      {"ValuesAlone",
       unique,
       {x, false, false, false},
       Giving({values, at::empty({0}, at::kLong), at::empty({0}, at::kLong)}),
       Said::kRight},
      {"Unique",
       "aten::_unique",
       {x, false, true},
       Giving({values, inverse}),
       Said::kRight},
      {"Matrix",
       unique,
       {x.slice(0, 0, 4).reshape({2, 2}), false, true, true},
       Giving({values, I64({0, 2, 0, 1}).reshape({2, 2}), I64({2, 1, 1})}),
       Said::kRight},
  };
}

INSTANTIATE_TEST_SUITE_P(Sets, MeaningTest, testing::ValuesIn(SetCases()),
                         NameOf);

// --- Decompositions. ---

at::Tensor Symmetric(at::ScalarType type = at::kFloat) {
  const at::Tensor a = Randn(11, {2, 5, 5}, at::kDouble);
  return (a + a.transpose(-1, -2)).to(type);
}

Kernel Changed(const std::string& op, size_t result,
               std::function<at::Tensor(const at::Tensor&)> change) {
  return Native(op,
                [=](Values& r) { r[result] = change(TensorOf(r, result)); });
}

at::Tensor FirstColumnNegated(const at::Tensor& t) {
  at::Tensor changed = t.clone();
  changed.select(-1, 0).neg_();
  return changed;
}

at::Tensor FirstRowNegated(const at::Tensor& t) {
  at::Tensor changed = t.clone();
  changed.select(-2, 0).neg_();
  return changed;
}

at::Tensor OneElementOff(const at::Tensor& t) {
  at::Tensor changed = t.clone();
  changed.select(-1, 0).select(-1, 1).add_(0.01);
  return changed;
}

at::Tensor ScaledFirstColumn(const at::Tensor& t) {
  at::Tensor changed = t.clone();
  changed.select(-1, 0).mul_(1.001);
  return changed;
}

std::vector<MeaningCase> DecompositionCases() {
  const std::string eigh = "aten::_linalg_eigh";
  const std::string svd = "aten::_linalg_svd";
  const std::string qr = "aten::linalg_qr";
  const at::Tensor a = Randn(12, {2, 5, 3});
  at::Tensor upper = Symmetric();
  upper = upper.triu() + at::full({5, 5}, 100.f).tril(-1);
  const at::Tensor hermitian = at::complex(
      Symmetric(at::kDouble),
      Randn(13, {2, 5, 5}, at::kDouble).triu(1) -
          Randn(13, {2, 5, 5}, at::kDouble).triu(1).transpose(1, 2));
  return {
      {"EighRight", eigh, {Symmetric()}, NativeKernelOf(eigh), Said::kRight},
      {"EighSign",
       eigh,
       {Symmetric()},
       Changed(eigh, 1, FirstColumnNegated),
       Said::kRight},
      {"EighVectorOff",
       eigh,
       {Symmetric()},
       Changed(eigh, 1, OneElementOff),
       Said::kWrong,
       "A V is not V diag(w)"},
      {"EighVectorNotOfLengthOne",
       eigh,
       {Symmetric()},
       Changed(eigh, 1, ScaledFirstColumn),
       Said::kWrong,
       "orthonormal"},
      {"EighValueOff",
       eigh,
       {Symmetric()},
       Changed(eigh, 0, [](const at::Tensor& w) { return w + 0.01; }),
       Said::kWrong,
       "eigenvalues"},
      {"EighNan",
       eigh,
       {Symmetric()},
       Changed(eigh, 1, [](const at::Tensor& v) { return v * kNan; }),
       Said::kWrong,
       "not finite"},
      {"EighUpperTriangle",
       eigh,
       {upper, "U", true},
       Changed(eigh, 1, FirstColumnNegated),
       Said::kRight},
      {"EighOtherTriangle",
       eigh,
       {upper, "L", true},
       [=](Values) {
         return CallNative(eigh, {upper, "U", true});
       },
       Said::kWrong},
      {"EighDouble",
       eigh,
       {Symmetric(at::kDouble)},
       Changed(eigh, 1,
               [](const at::Tensor& v) { return v.to(at::kFloat).to(v); }),
       Said::kWrong},
      {"EighComplexPhase",
       eigh,
       {hermitian},
       Changed(eigh, 1,
               [](const at::Tensor& v) {
                 return v * c10::complex<double>(0.6, 0.8);
               }),
       Said::kRight},
      // LAPACK reads the real parts of the diagonal.
      {"EighComplexDiagonal",
       eigh,
       {at::complex(Symmetric(at::kDouble), Symmetric(at::kDouble))},
       NativeKernelOf(eigh),
       Said::kRight},
      {"EighComplexDiagonalOfAnother",
       eigh,
       {at::complex(Symmetric(at::kDouble), Symmetric(at::kDouble))},
       Changed(eigh, 0, [](const at::Tensor& w) { return w + 0.01; }),
       Said::kWrong},
      {"EighComplexConjugated",
       eigh,
       {hermitian},
       Changed(eigh, 1,
               [](const at::Tensor& v) { return v.conj().resolve_conj(); }),
       Said::kWrong},
      {"EighEmpty",
       eigh,
       {at::empty({0, 0})},
       NativeKernelOf(eigh),
       Said::kRight},
      {"EighInfiniteInput",
       eigh,
       {at::full({1, 1}, kInf)},
       Giving({F32({kInf}), at::ones({1, 1})}),
       Said::kNoRule},

      {"SvdRight", svd, {a, false}, NativeKernelOf(svd), Said::kRight},
      {"SvdSigns",
       svd,
       {a, false},
       Native(svd,
              [](Values& r) {
                r[0] = FirstColumnNegated(TensorOf(r, 0));
                r[2] = FirstRowNegated(TensorOf(r, 2));
              }),
       Said::kRight},
      {"SvdOneSign",
       svd,
       {a, false},
       Changed(svd, 0, FirstColumnNegated),
       Said::kWrong,
       "is not A"},
      {"SvdFull",
       svd,
       {a, true},
       Native(svd,
              [](Values& r) {
                // What spans the null space is free.
                TensorOf(r, 0).select(-1, 4).neg_();
              }),
       Said::kRight},
      {"SvdNotOrthonormal",
       svd,
       {a, true},
       Native(svd, [](Values& r) { TensorOf(r, 0).select(-1, 4).mul_(2); }),
       Said::kWrong,
       "orthonormal"},
      {"SvdValueOff",
       svd,
       {a, false},
       Changed(svd, 1, [](const at::Tensor& s) { return s * 1.001; }),
       Said::kWrong,
       "singular values"},

      {"QrRight", qr, {a}, NativeKernelOf(qr), Said::kRight},
      {"QrSigns",
       qr,
       {a},
       Native(qr,
              [](Values& r) {
                r[0] = FirstColumnNegated(TensorOf(r, 0));
                r[1] = FirstRowNegated(TensorOf(r, 1));
              }),
       Said::kRight},
      {"QrOneSign",
       qr,
       {a},
       Changed(qr, 0, FirstColumnNegated),
       Said::kWrong,
       "Q R is not A"},
      {"QrNotTriangular",
       qr,
       {a},
       Native(qr,
              [](Values& r) {
                // Another orthonormal basis: a rotation between the factors.
                const at::Tensor q = TensorOf(r, 0).clone();
                const at::Tensor top = TensorOf(r, 1).clone();
                r[0] = at::cat({q.narrow(-1, 1, 1), q.narrow(-1, 0, 1),
                                q.narrow(-1, 2, 1)},
                               -1);
                r[1] = at::cat({top.narrow(-2, 1, 1), top.narrow(-2, 0, 1),
                                top.narrow(-2, 2, 1)},
                               -2);
              }),
       Said::kWrong,
       "not upper triangular"},
      {"QrOfModeR", qr, {a, "r"}, NativeKernelOf(qr), Said::kNoRule},

      {"EigvalsOrder",
       "aten::linalg_eigvals",
       {Randn(14, {4, 4})},
       Changed("aten::linalg_eigvals", 0,
               [](const at::Tensor& w) { return w.flip(0); }),
       Said::kRight},
      {"EigvalsOneTwice",
       "aten::linalg_eigvals",
       {Randn(14, {4, 4})},
       Changed("aten::linalg_eigvals", 0,
               [](const at::Tensor& w) {
                 return at::cat({w.narrow(0, 0, 3), w.narrow(0, 0, 1)});
               }),
       Said::kWrong,
       "in any order"},
      {"EigvalsAnotherOneTwice",
       "aten::linalg_eigvals",
       {at::diag(F32({1, 1, 2}))},
       Giving({at::complex(F32({1, 2, 2}), at::zeros({3}))}),
       Said::kWrong,
       "each as often"},
      // Eigenvalues of a Jordan block move by the third root of the rounding.
      {"EigDefective",
       "aten::linalg_eig",
       {F32({1, 1, 0, 0, 1, 1, 0, 0, 1}).reshape({3, 3})},
       [](Values a) {
         const at::Tensor moved =
             TensorOf(a) + at::full({3, 3}, 1e-7f).tril(-2);
         return CallNative("aten::linalg_eig", {moved});
       },
       Said::kRight},
      {"EigBatchEmpty",
       "aten::linalg_eig",
       {at::empty({0, 3, 3})},
       NativeKernelOf("aten::linalg_eig"),
       Said::kRight},
      {"EigOrder",
       "aten::linalg_eig",
       {Randn(14, {4, 4})},
       Native("aten::linalg_eig",
              [](Values& r) {
                r[0] = TensorOf(r, 0).flip(0);
                r[1] = TensorOf(r, 1).flip(1);
              }),
       Said::kRight},
      {"EigVectorsOfOtherValues",
       "aten::linalg_eig",
       {Randn(14, {4, 4})},
       Native("aten::linalg_eig",
              [](Values& r) { r[0] = TensorOf(r, 0).flip(0); }),
       Said::kWrong},
      // Every column an eigenvector, and one of them twice.
      {"EigOnePairTwice",
       "aten::linalg_eig",
       {Randn(14, {4, 4})},
       Native("aten::linalg_eig",
              [](Values& r) {
                const at::Tensor w = TensorOf(r, 0);
                const at::Tensor v = TensorOf(r, 1);
                r[0] = at::cat({w.narrow(0, 0, 3), w.narrow(0, 0, 1)});
                r[1] = at::cat({v.narrow(1, 0, 3), v.narrow(1, 0, 1)}, 1);
              }),
       Said::kWrong},
      // A V = V diag(w) holds for V = 0.
      {"EigZeroVectors",
       "aten::linalg_eig",
       {Randn(14, {4, 4})},
       Changed("aten::linalg_eig", 1,
               [](const at::Tensor& v) { return v * 0; }),
       Said::kWrong},
  };
}

INSTANTIATE_TEST_SUITE_P(Decompositions, MeaningTest,
                         testing::ValuesIn(DecompositionCases()), NameOf);

}  // namespace
}  // namespace flaggems
