#include "flaggems/judge/row_sample.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "flaggems/aten/snapshot.h"
#include "flaggems/judge/testutil.h"

namespace flaggems {
namespace {

using namespace judge_testing;  // NOLINT: a test's vocabulary

at::Tensor Random(at::IntArrayRef sizes) { return at::randn(sizes); }
at::Tensor Indices(at::IntArrayRef sizes, int64_t size) {
  return at::randint(size, sizes, at::TensorOptions(at::kLong));
}

struct RowsCase {
  std::string name;
  std::string op;
  Values arguments;
  int64_t rows;       // of the call
  int64_t dimension;  // of the result
};

void PrintTo(const RowsCase& c, std::ostream* os) { *os << c.name; }

std::vector<RowsCase> Cases() {
  const std::vector<int64_t> width = {16};
  return {
      {"Pointwise", "aten::relu", {Random({1000, 8})}, 1000, 0},
      {"PointwiseSecondDimension", "aten::relu", {Random({8, 1000})}, 1000, 1},
      {"OneDimension", "aten::exp", {Random({200000})}, 200000, 0},
      {"Strided", "aten::exp", {Random({8, 1000}).t()}, 1000, 0},
      {"Expanded",
       "aten::add.Tensor",
       {Random({1, 8}).expand({1000, 8}), Random({1000, 1}), 2},
       1000,
       0},
      {"Broadcast",
       "aten::mul.Tensor",
       {Random({8, 1}), Random({1000})},
       1000,
       1},
      {"Number",
       "aten::mul.Tensor",
       {Random({1000, 4}), at::tensor(2.5)},
       1000,
       0},
      {"InPlace",
       "aten::add_.Tensor",
       {Random({1000, 8}), Random({8}), 1},
       1000,
       0},
      {"Copy", "aten::copy_", {Random({1000, 8}), Random({8}), false}, 1000, 0},
      {"Clone", "aten::clone", {Random({1000, 8}), kNone}, 1000, 0},
      {"Complex",
       "aten::mul.Tensor",
       {at::complex(Random({1000, 4}), Random({1000, 4})), at::tensor(2.5)},
       1000,
       0},
      {"Mm", "aten::mm", {Random({1000, 8}), Random({8, 5})}, 1000, 0},
      {"MmWide", "aten::mm", {Random({1000, 2}), Random({2, 90})}, 1000, 0},
      {"Addmm",
       "aten::addmm",
       {Random({5}), Random({1000, 8}), Random({8, 5}), 1, 1},
       1000,
       0},
      {"AddmmOfRows",
       "aten::addmm",
       {Random({1000, 5}), Random({1000, 8}), Random({8, 5}), 1, 1},
       1000,
       0},
      {"Bmm", "aten::bmm", {Random({200, 4, 8}), Random({200, 8, 4})}, 200, 0},
      {"Baddbmm",
       "aten::baddbmm",
       {Random({200, 4, 4}), Random({200, 4, 8}), Random({200, 8, 4}), 1, 1},
       200,
       0},
      {"Embedding",
       "aten::embedding",
       {Random({10, 4}), Indices({500, 3}, 10), -1, false, false},
       500,
       0},
      {"Softmax", "aten::_softmax", {Random({1000, 8}), 1, false}, 1000, 0},
      {"SoftmaxOfColumns",
       "aten::_softmax",
       {Random({8, 1000}), 0, false},
       1000,
       1},
      {"SoftmaxBackward",
       "aten::_softmax_backward_data",
       {Random({1000, 8}), at::softmax(Random({1000, 8}), 1), 1,
        static_cast<int64_t>(at::kFloat)},
       1000,
       0},
      {"Sum",
       "aten::sum.dim_IntList",
       {Random({8, 1000}), std::vector<int64_t>{0}, false, kNone},
       1000,
       0},
      {"SumKeepingDimensions",
       "aten::sum.dim_IntList",
       {Random({8, 1000}), std::vector<int64_t>{0}, true, kNone},
       1000,
       1},
      {"Maximum", "aten::max.dim", {Random({1000, 8}), 1, false}, 1000, 0},
      {"TopK", "aten::topk", {Random({1000, 8}), 3, 1, true, true}, 1000, 0},
      {"LayerNorm",
       "aten::native_layer_norm",
       {Random({1000, 16}), width, Random({16}), Random({16}), 1e-5},
       1000,
       0},
  };
}

class RowSampleTest : public testing::TestWithParam<RowsCase> {
 protected:
  // A quarter of the rows.
  static int64_t LimitOf(const KernelCall& call) {
    return JudgingBytes(call) / 4;
  }
};

TEST_P(RowSampleTest, ARightCallPassesWithinTheMemory) {
  const RowsCase& c = GetParam();
  const MadeCall made(c.op, c.arguments, NativeKernelOf(c.op));
  ASSERT_TRUE(made.thrown().ok()) << made.thrown();
  const KernelCall call = made.call();
  const auto sample = RowSample::Choose(call.op, call.before.arguments(),
                                        LimitOf(call), /*seed=*/3);
  ASSERT_TRUE(sample.has_value());
  EXPECT_EQ(sample->size(), c.rows);
  EXPECT_GT(sample->count(), c.rows / 50);
  EXPECT_LE(sample->count(), c.rows * 3 / 4);
  const auto judgement = JudgeRows(call, LimitOf(call), /*seed=*/3);
  ASSERT_TRUE(judgement.has_value());
  EXPECT_EQ(judgement->verdict, Verdict::kPass) << judgement->message;
  EXPECT_EQ(judgement->message,
            absl::StrCat(sample->count(), " of ", c.rows,
                         " rows along dimension ", c.dimension, " judged"));
}

// The last row is always among them, and is counted in the whole.
TEST_P(RowSampleTest, TheLastElementIsFound) {
  const RowsCase& c = GetParam();
  const MadeCall made(c.op, c.arguments, Native(c.op, [](Values& results) {
                        at::Tensor last = TensorOf(results, 0);
                        while (last.dim() > 0) last = last[-1];
                        last.add_(1000);
                      }));
  ASSERT_TRUE(made.thrown().ok()) << made.thrown();
  const KernelCall call = made.call();
  const auto judgement = JudgeRows(call, LimitOf(call), /*seed=*/4);
  ASSERT_TRUE(judgement.has_value());
  EXPECT_EQ(OutcomeOf(judgement->verdict), Outcome::kFail)
      << judgement->message;
  const at::Tensor result = made.outputs()[0].toTensor();
  std::vector<int64_t> last = result.sizes().vec();
  for (int64_t& index : last) --index;
  EXPECT_EQ(judgement->worst_index, last) << judgement->message;
}

INSTANTIATE_TEST_SUITE_P(Operators, RowSampleTest, testing::ValuesIn(Cases()),
                         [](const auto& info) { return info.param.name; });

TEST(RowsTest, ChosenRowsAreInOrderAndDifferByTheSeed) {
  const MadeCall made("aten::exp", {Random({100000})},
                      NativeKernelOf("aten::exp"));
  const KernelCall call = made.call();
  const at::Tensor positions = at::arange(100000);
  std::vector<at::Tensor> chosen;
  for (const uint64_t seed : {1, 2, 1}) {
    const auto sample = RowSample::Choose(call.op, call.before.arguments(),
                                          JudgingBytes(call) / 4, seed);
    ASSERT_TRUE(sample.has_value());
    chosen.push_back(sample->Arguments({positions})[0].toTensor());
    EXPECT_EQ(chosen.back().numel(), sample->count());
    EXPECT_TRUE((chosen.back().diff() > 0).all().item<bool>());
    EXPECT_EQ(chosen.back()[0].item<int64_t>(), 0);
    EXPECT_EQ(chosen.back()[-1].item<int64_t>(), 99999);
  }
  EXPECT_FALSE(chosen[0].equal(chosen[1]));
  EXPECT_TRUE(chosen[0].equal(chosen[2]));
}

TEST(RowsTest, AResultOfAnotherSizeIsWrong) {
  const MadeCall made("aten::exp", {Random({1000, 8})},
                      Native("aten::exp", [](Values& results) {
                        results[0] =
                            TensorOf(results, 0).narrow(0, 0, 999).clone();
                      }));
  const auto judgement = JudgeRows(made.call(), 50000, /*seed=*/1);
  ASSERT_TRUE(judgement.has_value());
  EXPECT_EQ(judgement->verdict, Verdict::kFailShape);
  EXPECT_THAT(judgement->message, testing::HasSubstr("(999, 8)"));
}

TEST(RowsTest, AChangedArgumentIsFoundInItsRows) {
  const MadeCall made(
      "aten::mul.Tensor", {Random({1000, 8}), Random({1000, 8})},
      [](Values arguments) {
        Values results = CallNative("aten::mul.Tensor", arguments);
        arguments[1].toTensor()[999].fill_(7);
        return results;
      });
  const KernelCall call = made.call();
  const auto sample = RowSample::Choose(call.op, call.before.arguments(),
                                        JudgingBytes(call) / 4, 1);
  ASSERT_TRUE(sample.has_value());
  const auto after = sample->After(call.outputs, call.arguments);
  ASSERT_TRUE(after.ok());
  const auto before =
      Snapshot::Take(sample->Arguments(call.before.arguments()));
  ASSERT_TRUE(before.ok());
  const Judgement judgement = JudgeSample(call, *sample, *before);
  EXPECT_EQ(judgement.verdict, Verdict::kFailArgument);
  EXPECT_THAT(judgement.message, testing::HasSubstr("argument other"));
}

TEST(RowsTest, WhatHasNoRowsHasNoSample) {
  const struct {
    std::string op;
    Values arguments;
    int64_t limit;
  } kCases[] = {
      {"aten::sum", {Random({1000, 8}), kNone}, 100000},
      {"aten::mm", {Random({1000, 8}), Random({8, 8})}, 8 * 8 * 40},
      {"aten::relu", {Random({1, 1})}, 1000},
      {"aten::relu", {at::tensor(2.0)}, 1000},
      {"aten::relu", {Random({0, 3})}, 1000},
      {"aten::_softmax", {Random({1000}), 0, false}, 1000},
      {"aten::embedding",
       {Random({10, 4}), Indices({500}, 10), -1, false, false},
       10000},
  };
  for (const auto& c : kCases) {
    const MadeCall made(c.op, c.arguments, NativeKernelOf(c.op));
    EXPECT_FALSE(JudgeRows(made.call(), c.limit, 1).has_value()) << c.op;
  }
}

}  // namespace
}  // namespace flaggems
