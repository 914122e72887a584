// Every pointwise operator of torch, its own CPU kernel judged on inputs of
// several distributions: nothing is reported but what a table names.

#include <ATen/ATen.h>
#include <ATen/CPUGeneratorImpl.h>
#include <ATen/core/enum_tag.h>
#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "flaggems/aten/op_traits_of.h"
#include "flaggems/judge/judge_call.h"
#include "flaggems/reference/native_cpu_reference.h"
#include "flaggems/registry/check_scope.h"

namespace flaggems {
namespace {

struct Known {
  const char* op;
  const char* why;
};

// Inaccuracies of torch's own kernels, and kernels that may not return.
constexpr Known kKnown[] = {
    {"polygamma", "may take |x| steps"},
    {"special_zeta", "may take |x| steps"},
    {"erf", "bfloat16: tiny inputs give 0"},
    {"igamma", "float32: tails wrong by factors"},
    {"igammac", "float32: tails wrong by factors"},
    {"floor_divide", "bfloat16: off by one for quotients above 70"},
    {"div", "with rounding_mode: as floor_divide"},
    {"ldexp", "2^k overflows before the product"},
    {"special_airy_ai", "NaN for large negative inputs"},
};

bool IsKnown(const std::string& name) {
  for (const Known& known : kKnown) {
    if (name == known.op) return true;
  }
  return false;
}

// Operators whose arguments are tensors, numbers, or have defaults.
std::vector<c10::OperatorHandle> PointwiseOperators() {
  std::vector<c10::OperatorHandle> ops;
  for (const OpKey& key : KnownOperators()) {
    const std::optional<c10::OperatorHandle> op = FindOperator(key);
    if (key.ns != "aten" || !op || !op->hasTag(at::Tag::pointwise) ||
        !op->hasComputedKernelForDispatchKey(c10::DispatchKey::CPU) ||
        IsKnown(key.name) || absl::StartsWith(key.name, "_") ||
        // Of an integral degree, in steps; random degrees say nothing.
        absl::StrContains(key.name, "_polynomial_")) {
      continue;
    }
    const OpTraits traits = OpTraitsOf(*op);
    if (traits.is_mutable || traits.is_out_variant ||
        traits.nondeterministic_seeded) {
      continue;
    }
    bool usable = !op->schema().arguments().empty();
    for (const c10::Argument& argument : op->schema().arguments()) {
      const c10::TypeKind kind = argument.real_type()->kind();
      usable = usable && (kind == c10::TypeKind::TensorType ||
                          kind == c10::TypeKind::NumberType ||
                          argument.default_value().has_value());
    }
    if (usable) ops.push_back(*op);
  }
  return ops;
}

constexpr int64_t kCount = 3000;

at::Tensor Draw(const std::string& distribution, at::Generator generator) {
  at::Tensor x = at::randn({kCount}, generator, at::kDouble);
  if (distribution == "unit") {
    return at::rand({kCount}, generator, at::kDouble);
  }
  if (distribution == "wide") {
    return x.sign() *
           at::exp2(at::rand({kCount}, generator, at::kDouble) * 20 - 10);
  }
  if (distribution == "near one") return 1 + 0.01 * x;
  if (distribution == "tiny") return 1e-3 * x;
  if (distribution == "large") return 100 * x;
  return x;
}

class NativePointwise
    : public testing::TestWithParam<std::tuple<const char*, at::ScalarType>> {};

TEST_P(NativePointwise, IsNotReported) {
  const auto& [distribution, dtype] = GetParam();
  const CheckScope scope;
  at::Generator generator = at::make_generator<at::CPUGeneratorImpl>(20261129);
  int judged = 0;
  for (const c10::OperatorHandle& handle : PointwiseOperators()) {
    JudgedOp op(handle);
    op.native = true;
    const auto reference = NativeCpuReference(handle);
    ASSERT_TRUE(reference.ok()) << reference.status();
    torch::jit::Stack stack;
    for (const c10::Argument& argument : handle.schema().arguments()) {
      switch (argument.real_type()->kind()) {
        case c10::TypeKind::TensorType:
          stack.emplace_back(Draw(distribution, generator).to(dtype));
          break;
        case c10::TypeKind::NumberType:
          stack.emplace_back(argument.default_value().value_or(0.7));
          break;
        default:
          stack.push_back(*argument.default_value());
      }
    }
    const std::vector<c10::IValue> arguments(stack);
    const absl::StatusOr<Snapshot> before = Snapshot::Take(arguments);
    ASSERT_TRUE(before.ok()) << before.status();
    // Of other dtypes, or integers only.
    const auto outputs = (*reference)->Compute(stack);
    if (!outputs.ok()) continue;
    const BudgetRow row = FindBudget(op.traits.key);
    const Judgement judgement =
        JudgeCall({op, *reference, row, *before, arguments, *outputs});
    ++judged;
    EXPECT_TRUE(OutcomeOf(judgement.verdict) == Outcome::kPass ||
                OutcomeOf(judgement.verdict) == Outcome::kUntrusted)
        << op.traits.key.ToString() << " " << ReasonName(judgement.verdict)
        << " score " << judgement.score.value_or(0) << " got " << judgement.got
        << " want " << judgement.want << " " << judgement.message;
  }
  EXPECT_GT(judged, 100);
}

INSTANTIATE_TEST_SUITE_P(
    All, NativePointwise,
    testing::Combine(testing::Values("normal", "unit", "wide", "near one",
                                     "tiny", "large"),
                     testing::Values(at::kFloat, at::kBFloat16, at::kHalf)),
    [](const auto& info) {
      std::string name = absl::StrCat(std::get<0>(info.param), "_",
                                      c10::toString(std::get<1>(info.param)));
      for (char& c : name) {
        if (c == ' ') c = '_';
      }
      return name;
    });

}  // namespace
}  // namespace flaggems
