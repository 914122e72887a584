#include "flaggems/registrar/typed_entry.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>
#include <torch/library.h>

#include <stdexcept>
#include <string>

#include "flaggems/aten/op_traits_of.h"
#include "flaggems/registrar/kernel_access.h"

namespace flaggems {
namespace {

// Of the same types as others in the list but for one thing each.
TORCH_LIBRARY(typed_entry_test, m) {
  m.def("tensor(Tensor x) -> Tensor");
  m.def("optional(Tensor? x) -> Tensor");
  m.def("number(Tensor x, float y) -> Tensor");
  m.def("several(Tensor x, Tensor y) -> (Tensor, Tensor)");
}
TORCH_LIBRARY_IMPL(typed_entry_test, CPU, m) {
  m.impl("tensor", [](const at::Tensor& x) { return x; });
  m.impl("optional", [](const std::optional<at::Tensor>& x) { return *x; });
  m.impl("number", [](const at::Tensor& x, double) { return x; });
  m.impl("several", [](const at::Tensor& x, const at::Tensor& y) {
    return std::make_tuple(x, y);
  });
}

c10::OperatorHandle Op(const std::string& name) {
  const auto op = FindOperator(*OpKey::Parse(name));
  if (!op) throw std::runtime_error(name);
  return *op;
}

bool HasEntry(const std::string& name) {
  const c10::OperatorHandle op = Op(name);
  const UnboxedEntries own = UnboxedEntriesOf(
      KernelOf(op.getComputedKernelForDispatchKey(c10::DispatchKey::CPU)));
  EXPECT_TRUE(own.plain == nullptr || own.symbolic == nullptr) << name;
  EXPECT_TRUE(own.plain != nullptr || own.symbolic != nullptr) << name;
  return TypedEntryFor(op, own.symbolic != nullptr) != nullptr;
}

TEST(TypedEntryTest, WhatModelsCallMostHasOne) {
  for (const char* const name : {"aten::neg",
                                 "aten::relu",
                                 "aten::t",
                                 "aten::detach",
                                 "aten::mm",
                                 "aten::bmm",
                                 "aten::mul.Tensor",
                                 "aten::add.Tensor",
                                 "aten::mul.Scalar",
                                 "aten::add.Scalar",
                                 "aten::where.self",
                                 "aten::addcmul",
                                 "aten::addmm",
                                 "aten::relu_",
                                 "aten::mul_.Tensor",
                                 "aten::add_.Tensor",
                                 "aten::mul_.Scalar",
                                 "aten::copy_",
                                 "aten::view",
                                 "aten::expand",
                                 "aten::as_strided",
                                 "aten::unsqueeze",
                                 "aten::transpose.int",
                                 "aten::select.int",
                                 "aten::slice.Tensor",
                                 "aten::permute",
                                 "aten::_softmax",
                                 "aten::sum.dim_IntList",
                                 "aten::mean.dim",
                                 "aten::sum",
                                 "aten::gelu",
                                 "aten::gelu_backward",
                                 "aten::embedding",
                                 "aten::clone",
                                 "aten::empty_like",
                                 "aten::_to_copy",
                                 "aten::empty.memory_format",
                                 "aten::empty_strided",
                                 "aten::cat",
                                 "aten::split.Tensor",
                                 "aten::split_with_sizes",
                                 "aten::native_layer_norm",
                                 "typed_entry_test::tensor"}) {
    EXPECT_TRUE(HasEntry(name)) << name;
  }
}

TEST(TypedEntryTest, OtherSignaturesHaveNone) {
  for (const char* const name :
       {"aten::topk", "aten::max.dim", "aten::resize_", "aten::mm.out",
        "typed_entry_test::optional", "typed_entry_test::number",
        "typed_entry_test::several"}) {
    EXPECT_FALSE(HasEntry(name)) << name;
  }
}

}  // namespace
}  // namespace flaggems
