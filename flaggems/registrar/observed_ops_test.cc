#include "flaggems/registrar/observed_ops.h"

#include <ATen/ATen.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <torch/library.h>

#include <algorithm>
#include <string>
#include <vector>

#include "flaggems/core/status_testutil.h"

namespace flaggems {
namespace {

using testing::AllOf;
using testing::Contains;
using testing::Each;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

at::Tensor Same(const at::Tensor& x) { return x.clone(); }

// Operators that exist for this test only.
TORCH_LIBRARY(observed_ops_test, m) {
  m.def("plain(Tensor x) -> Tensor");
  m.def("plain.other(Tensor x, int y) -> Tensor");
  m.def("composite(Tensor x) -> Tensor", &Same);
  m.def("without_kernel(Tensor x) -> Tensor");
  m.def("composite_for_cpu(Tensor x) -> Tensor", &Same);
}
TORCH_LIBRARY_IMPL(observed_ops_test, CPU, m) {
  m.impl("plain", &Same);
  m.impl("plain.other", [](const at::Tensor& x, int64_t) { return x.clone(); });
  m.impl("composite_for_cpu", &Same);
}

TEST(GlobMatchesTest, StarsStandForAnyText) {
  struct Case {
    const char* pattern;
    const char* text;
    bool matches;
  };
  for (const Case& c : {
           Case{"", "", true},
           Case{"", "a", false},
           Case{"*", "", true},
           Case{"*", "aten::add.Tensor", true},
           Case{"**", "a", true},
           Case{"aten::add", "aten::add", true},
           Case{"aten::add", "aten::add_", false},
           Case{"aten::add*", "aten::add", true},
           Case{"aten::add*", "aten::addmm.out", true},
           Case{"*add", "aten::add", true},
           Case{"*add", "aten::add_", false},
           Case{"aten::*.out", "aten::add.out", true},
           Case{"aten::*.out", "aten::add.outs", false},
           Case{"aten::*.out", "aten::.out", true},
           // The first match of the first star is not the right one.
           Case{"*ab", "aab", true},
           Case{"*a*b", "aabb", true},
           Case{"a*b*c", "abcbc", true},
           Case{"a*b*c", "acb", false},
           Case{"*::add*", "mine::add", true},
           Case{"a*a", "a", false},
       }) {
    EXPECT_EQ(GlobMatches(c.pattern, c.text), c.matches)
        << c.pattern << " " << c.text;
  }
}

constexpr c10::DispatchKey kCpu = c10::DispatchKey::CPU;

struct SelectCase {
  std::string name;
  std::vector<std::string> include;
  std::vector<std::string> exclude;
  std::vector<std::string> want;
};

void PrintTo(const SelectCase& c, std::ostream* os) { *os << c.name; }

class SelectObservedTest : public testing::TestWithParam<SelectCase> {};

TEST_P(SelectObservedTest, Selects) {
  const absl::StatusOr<Selection> selection =
      SelectObserved(GetParam().include, GetParam().exclude, kCpu);
  ASSERT_THAT(selection, IsOk());
  std::vector<std::string> names;
  for (const Observed& op : selection->observed) {
    EXPECT_EQ(op.handle.operator_name().name, op.key.ns + "::" + op.key.name);
    names.push_back(op.key.ToString());
  }
  EXPECT_EQ(names, GetParam().want);
}

INSTANTIATE_TEST_SUITE_P(
    Selections, SelectObservedTest,
    testing::ValuesIn(std::vector<SelectCase>{
        {"Overload", {"add.Tensor"}, {}, {"aten::add.Tensor"}},
        {"WithNamespace", {"aten::mm"}, {}, {"aten::mm", "aten::mm.out"}},
        {"AllOverloads", {"mm"}, {}, {"aten::mm", "aten::mm.out"}},
        {"Excluded", {"mm"}, {"mm.out"}, {"aten::mm"}},
        {"ExcludedByPattern", {"mm"}, {"*.out"}, {"aten::mm"}},
        {"Sorted",
         {"sub.Tensor", "add.Tensor"},
         {},
         {"aten::add.Tensor", "aten::sub.Tensor"}},
        {"NamedTwice",
         {"add.Tensor", "aten::add.Tensor"},
         {},
         {"aten::add.Tensor"}},
        {"Glob",
         {"aten::_foreach_exp*"},
         {"*.out"},
         {"aten::_foreach_exp", "aten::_foreach_exp_", "aten::_foreach_expm1",
          "aten::_foreach_expm1_"}},
        // A pattern leaves out what has no kernel of its own.
        {"GlobOfAnotherNamespace",
         {"observed_ops_test::*"},
         {},
         {"observed_ops_test::composite_for_cpu", "observed_ops_test::plain",
          "observed_ops_test::plain.other"}},
        {"NameOfAnotherNamespace",
         {"observed_ops_test::plain"},
         {},
         {"observed_ops_test::plain", "observed_ops_test::plain.other"}},
        {"CompositeRegisteredForTheCpu",
         {"observed_ops_test::composite_for_cpu"},
         {},
         {"observed_ops_test::composite_for_cpu"}},
    }),
    [](const auto& info) { return info.param.name; });

TEST(ObservedOpsTest, KnowsWhatWasNamed) {
  const auto selection = SelectObserved({"aten::mm*", "mm"}, {}, kCpu);
  ASSERT_THAT(selection, IsOk());
  for (const Observed& op : selection->observed) {
    EXPECT_EQ(op.named, op.key.name == "mm") << op.key.ToString();
  }
}

TEST(ObservedOpsTest, AllOfAten) {
  const auto selection = SelectObserved({"aten::*"}, {"aten::empty*"}, kCpu);
  ASSERT_THAT(selection, IsOk());
  const std::vector<Observed>& observed = selection->observed;
  EXPECT_GT(observed.size(), 1000u);
  std::vector<std::string> names;
  for (const Observed& op : observed) names.push_back(op.key.ToString());
  EXPECT_THAT(names, Each(StartsWith("aten::")));
  EXPECT_THAT(names, Contains("aten::add.Tensor"));
  // They only call other operators.
  EXPECT_THAT(names, Not(Contains("aten::matmul")));
  EXPECT_THAT(names, Not(Contains("aten::empty.memory_format")));
  EXPECT_TRUE(std::is_sorted(
      observed.begin(), observed.end(),
      [](const Observed& a, const Observed& b) { return a.key < b.key; }));
  EXPECT_THAT(selection->not_observed,
              AllOf(Contains(testing::Pair("aten::matmul",
                                           HasSubstr("only calls other"))),
                    Contains(testing::Pair("aten::_cudnn_rnn",
                                           "has no kernel for CPU"))));
  for (const std::string& name : names) {
    EXPECT_EQ(selection->not_observed.count(name), 0u) << name;
  }
  // Excluded on purpose, and so no surprise.
  EXPECT_EQ(selection->not_observed.count("aten::empty.memory_format"), 0u);
}

TEST(ObservedOpsTest, OtherKeys) {
  const auto cuda =
      SelectObserved({"observed_ops_test::*"}, {}, c10::DispatchKey::CUDA);
  EXPECT_THAT(cuda, StatusIs(absl::StatusCode::kInvalidArgument,
                             HasSubstr("a kernel for CUDA")));
  const auto sparse =
      SelectObserved({"aten::*"}, {}, c10::DispatchKey::SparseCPU);
  ASSERT_THAT(sparse, IsOk());
  EXPECT_GT(sparse->observed.size(), 100u);
}

struct RefusedCase {
  std::string name;
  std::vector<std::string> include;
  std::vector<std::string> exclude;
  absl::StatusCode code;
  std::string message;
};

TEST(ObservedOpsTest, Refuses) {
  for (const RefusedCase& c : {
           RefusedCase{"Nothing",
                       {},
                       {},
                       absl::StatusCode::kInvalidArgument,
                       "\"aten::*\" is all of aten"},
           RefusedCase{"Unknown",
                       {"softmaxx"},
                       {},
                       absl::StatusCode::kNotFound,
                       "did you mean"},
           RefusedCase{"UnknownNearest",
                       {"argmaxx"},
                       {},
                       absl::StatusCode::kNotFound,
                       "argmax"},
           RefusedCase{"UnknownOverload",
                       {"add.Tensorr"},
                       {},
                       absl::StatusCode::kNotFound,
                       "\"add.Tensorr\""},
           RefusedCase{"UnknownExcluded",
                       {"mm"},
                       {"mmm"},
                       absl::StatusCode::kNotFound,
                       "\"mmm\""},
           RefusedCase{"UnknownExcludedPattern",
                       {"mm"},
                       {"aten::zzz*"},
                       absl::StatusCode::kNotFound,
                       "\"aten::zzz*\""},
           RefusedCase{
               "CompositeImplicit",
               {"matmul"},
               {},
               absl::StatusCode::kNotFound,
               "matmul cannot be observed: it only calls other operators"},
           RefusedCase{"Composite",
                       {"observed_ops_test::composite"},
                       {},
                       absl::StatusCode::kNotFound,
                       "only calls other"},
           RefusedCase{"PatternOfNothing",
                       {"aten::zzz*"},
                       {},
                       absl::StatusCode::kNotFound,
                       "no operator of torch matches \"aten::zzz*\""},
           RefusedCase{"PatternNearest",
                       {"aten::argmaxx*"},
                       {},
                       absl::StatusCode::kNotFound,
                       "argmax"},
           RefusedCase{"PatternOfComposites",
                       {"aten::einsum*"},
                       {},
                       absl::StatusCode::kInvalidArgument,
                       "matches no operator with a kernel for CPU"},
           RefusedCase{"AllExcluded",
                       {"mm"},
                       {"mm"},
                       absl::StatusCode::kInvalidArgument,
                       "matches no"},
       }) {
    EXPECT_THAT(SelectObserved(c.include, c.exclude, kCpu),
                StatusIs(c.code, HasSubstr(c.message)))
        << c.name;
  }
}

TEST(ObservedOpsTest, AnOperatorWithoutAKernelIsNotSaidToCallOthers) {
  EXPECT_THAT(SelectObserved({"observed_ops_test::without_kernel"}, {}, kCpu),
              StatusIs(absl::StatusCode::kNotFound,
                       AllOf(HasSubstr("has no kernel for CPU"),
                             Not(HasSubstr("calls other operators")))));
}

}  // namespace
}  // namespace flaggems
