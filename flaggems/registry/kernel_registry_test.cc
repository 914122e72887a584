#include "flaggems/registry/kernel_registry.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "flaggems/core/status_testutil.h"

namespace flaggems {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr KernelEntry Entry(const char* op, int line,
                            Backend backend = Backend::kCpu) {
  return {op, backend, "file.cc", line, false, nullptr, nullptr};
}

constexpr KernelEntry kAddTensor = Entry("aten::add.Tensor", 1);
constexpr KernelEntry kAddOut = Entry("aten::add.out", 2);
constexpr KernelEntry kMm = Entry("aten::mm", 3);
constexpr KernelEntry kSoftmax = Entry("aten::_softmax", 4);
constexpr KernelEntry kMine = Entry("mine::op", 5);
constexpr KernelEntry kMmCuda = Entry("aten::mm", 6, Backend::kCuda);

KernelRegistry MakeRegistry() {
  return *KernelRegistry::Build(
      {&kMm, &kAddTensor, &kSoftmax, &kAddOut, &kMine, &kMmCuda});
}

TEST(Build, SortsByOperatorAndBackend) {
  std::vector<std::string> names;
  const KernelRegistry registry = MakeRegistry();
  for (const auto& kernel : registry.kernels()) {
    names.push_back(kernel.key.ToString() + " " +
                    BackendName(kernel.entry->backend));
  }
  EXPECT_THAT(names, ElementsAre("aten::_softmax CPU", "aten::add.Tensor CPU",
                                 "aten::add.out CPU", "aten::mm CPU",
                                 "aten::mm CUDA", "mine::op CPU"));
}

TEST(Build, TwoKernelsForOneOperatorAndBackendNameBothPlaces) {
  constexpr KernelEntry kOther = Entry("aten::mm", 77);
  EXPECT_THAT(KernelRegistry::Build({&kMm, &kAddTensor, &kOther}),
              StatusIs(absl::StatusCode::kAlreadyExists,
                       AllOf(HasSubstr("aten::mm"), HasSubstr("file.cc:3"),
                             HasSubstr("file.cc:77"))));
}

TEST(Build, AnUnparsableNameNamesItsPlace) {
  constexpr KernelEntry kBad = Entry("", 8);
  EXPECT_THAT(
      KernelRegistry::Build({&kBad}),
      StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("file.cc:8")));
}

TEST(Build, OfNothingIsEmpty) {
  EXPECT_THAT(KernelRegistry::Build({})->kernels(), IsEmpty());
}

struct SelectCase {
  std::string name;
  std::vector<std::string> include;
  std::vector<std::string> exclude;
  std::vector<std::string> selected;
};

void PrintTo(const SelectCase& c, std::ostream* os) { *os << c.name; }

class SelectTest : public testing::TestWithParam<SelectCase> {};

TEST_P(SelectTest, ByName) {
  const auto kernels =
      MakeRegistry().Select(GetParam().include, GetParam().exclude);
  ASSERT_THAT(kernels, IsOk());
  std::vector<std::string> names;
  for (const auto& kernel : *kernels) names.push_back(kernel.key.ToString());
  EXPECT_EQ(names, GetParam().selected);
}

INSTANTIATE_TEST_SUITE_P(
    Names, SelectTest,
    testing::ValuesIn(std::vector<SelectCase>{
        {"AllOverloads", {"add"}, {}, {"aten::add.Tensor", "aten::add.out"}},
        {"OneOverload", {"add.out"}, {}, {"aten::add.out"}},
        {"Qualified", {"aten::add.Tensor"}, {}, {"aten::add.Tensor"}},
        {"WhatSoftmaxReaches", {"softmax"}, {}, {"aten::_softmax"}},
        {"WhatQualifiedSoftmaxReaches",
         {"aten::softmax"},
         {},
         {"aten::_softmax"}},
        {"TheDispatchedName", {"_softmax"}, {}, {"aten::_softmax"}},
        {"EveryBackend", {"mm"}, {}, {"aten::mm", "aten::mm"}},
        {"OtherNamespace", {"mine::op"}, {}, {"mine::op"}},
        {"TwiceIsOnce", {"add.out", "add.out"}, {}, {"aten::add.out"}},
        {"Exclude", {"add"}, {"add.out"}, {"aten::add.Tensor"}},
        {"EmptyIncludeIsAll", {}, {"mm", "add", "softmax"}, {"mine::op"}},
    }),
    [](const auto& info) { return info.param.name; });

TEST(Select, AnUnknownNameListsTheNearest) {
  EXPECT_THAT(MakeRegistry().Select({"addd"}, {}),
              StatusIs(absl::StatusCode::kNotFound,
                       AllOf(HasSubstr("\"addd\""), HasSubstr("add"))));
  EXPECT_THAT(MakeRegistry().Select({"add.Tensr"}, {}),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr("add.Tensor")));
  EXPECT_THAT(MakeRegistry().Select({"mm"}, {"ad"}),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr("\"ad\"")));
  EXPECT_THAT(MakeRegistry().Select({"zzzzzzzz"}, {}),
              StatusIs(absl::StatusCode::kNotFound,
                       HasSubstr("none of a similar name")));
}

TEST(Select, AnEmptyNameIsAnError) {
  EXPECT_THAT(MakeRegistry().Select({""}, {}),
              StatusIs(absl::StatusCode::kInvalidArgument));
}

TEST(NearestNames, NearestFirstAndNothingFar) {
  const std::vector<std::string> known = {"add", "addmm", "mm", "bmm", "relu"};
  EXPECT_THAT(NearestNames("addm", known, 2), ElementsAre("add", "addmm"));
  EXPECT_THAT(NearestNames("convolution", known, 3), IsEmpty());
}

}  // namespace
}  // namespace flaggems
