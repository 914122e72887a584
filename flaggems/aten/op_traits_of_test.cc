#include "flaggems/aten/op_traits_of.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace flaggems {
namespace {

struct OpCase {
  std::string op;
  bool out = false;
  bool writes = false;
  bool view = false;
  bool random = false;
};

void PrintTo(const OpCase& c, std::ostream* os) { *os << c.op; }

class OpTraitsTest : public testing::TestWithParam<OpCase> {};

TEST_P(OpTraitsTest, ComeFromSchemaAndTags) {
  const OpKey key = *OpKey::Parse(GetParam().op);
  const std::optional<c10::OperatorHandle> op = FindOperator(key);
  ASSERT_TRUE(op.has_value());
  const OpTraits traits = OpTraitsOf(*op);
  EXPECT_EQ(traits.key, key);
  EXPECT_EQ(traits.is_out_variant, GetParam().out);
  EXPECT_EQ(traits.is_mutable, GetParam().writes);
  EXPECT_EQ(traits.returns_view, GetParam().view);
  EXPECT_EQ(traits.nondeterministic_seeded, GetParam().random);
}

INSTANTIATE_TEST_SUITE_P(Ops, OpTraitsTest,
                         testing::ValuesIn(std::vector<OpCase>{
                             {"aten::add.Tensor"},
                             {"aten::relu"},
                             {"aten::add_.Tensor", false, true},
                             {"aten::add.out", true, true},
                             {"aten::native_batch_norm", false, true},
                             {"aten::view", false, false, true},
                             {"aten::split.Tensor", false, false, true},
                             {"aten::uniform_", false, true, false, true},
                             {"aten::native_dropout", false, false, false,
                              true},
                             {"aten::bernoulli.out", true, true, false, true},
                         }),
                         [](const auto& info) {
                           std::string name = info.param.op.substr(6);
                           for (char& c : name) {
                             if (c == '.') c = '0';
                           }
                           return name;
                         });

TEST(FindOperator, UnknownIsNothing) {
  EXPECT_FALSE(FindOperator(*OpKey::Parse("aten::no_such_op")).has_value());
}

TEST(CallTraits, CountsListsAndOptionals) {
  const at::Tensor small = at::ones({2, 3});
  const at::Tensor large = at::ones({100});
  const c10::List<at::Tensor> list({small, large});
  EXPECT_EQ(CallTraitsOf(std::vector<c10::IValue>{small, list}).max_numel, 100);
  c10::List<std::optional<at::Tensor>> optionals;
  optionals.push_back(std::nullopt);
  optionals.push_back(large);
  EXPECT_EQ(CallTraitsOf(std::vector<c10::IValue>{small, optionals}).max_numel,
            100);
  EXPECT_EQ(CallTraitsOf(std::vector<c10::IValue>{3, c10::IValue()}).max_numel,
            0);
}

TEST(CallTraits, HalfPrecisionIsFoundAnywhere) {
  const at::Tensor f32 = at::ones({2});
  EXPECT_FALSE(
      CallTraitsOf(std::vector<c10::IValue>{f32}).half_precision_input);
  EXPECT_TRUE(CallTraitsOf(std::vector<c10::IValue>{f32, f32.to(at::kBFloat16)})
                  .half_precision_input);
  EXPECT_TRUE(CallTraitsOf(std::vector<c10::IValue>{
                               f32, c10::List<at::Tensor>({f32.to(at::kHalf)})})
                  .half_precision_input);
}

TEST(CallTraits, OnlyPlainTensorsAreSupported) {
  EXPECT_TRUE(CallTraitsOf(std::vector<c10::IValue>{at::ones({2})}).supported);
  EXPECT_FALSE(
      CallTraitsOf(std::vector<c10::IValue>{at::eye(2).to_sparse()}).supported);
  EXPECT_FALSE(CallTraitsOf(std::vector<c10::IValue>{at::empty({2}, at::kMeta)})
                   .supported);
}

TEST(Describe, InputsAndOutputs) {
  const at::Tensor a = at::ones({2, 3}, at::kHalf);
  const at::Tensor b = at::ones({}, at::kLong);
  const std::vector<c10::IValue> values = {
      a, 2.5, c10::List<at::Tensor>({a, b}), c10::IValue(),
      std::vector<int64_t>{1}};
  EXPECT_EQ(FormatValue(ValueDesc::List(DescribeInputs(values))),
            "[(2, 3):torch.float16, [(2, 3):torch.float16, ():torch.int64]]");
  EXPECT_EQ(FormatValue(DescribeOutputs(std::vector<c10::IValue>{a})),
            "(2, 3):torch.float16");
  EXPECT_EQ(FormatValue(DescribeOutputs(std::vector<c10::IValue>{a, b})),
            "[(2, 3):torch.float16, ():torch.int64]");
}

TEST(DeviceOf, IsTheFirstTensors) {
  EXPECT_EQ(DeviceOf(std::vector<c10::IValue>{3}), "cpu");
  EXPECT_EQ(DeviceOf(std::vector<c10::IValue>{at::empty({2}, at::kMeta)}),
            "meta");
}

}  // namespace
}  // namespace flaggems
