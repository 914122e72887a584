#include "benchmarks/study/rules.h"

#include <ATen/TensorOperators.h>
#include <ATen/core/enum_tag.h>
#include <ATen/ops/fmax.h>
#include <ATen/ops/zeros_like.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "flaggems/aten/array_view_of.h"
#include "flaggems/aten/dtype_of.h"
#include "flaggems/aten/op_traits_of.h"
#include "flaggems/comparator/compare.h"
#include "flaggems/comparator/ulp.h"
#include "flaggems/judge/judge_call.h"
#include "flaggems/judge/terms.h"
#include "flaggems/policy/tolerance_rules.h"

namespace flaggems::study {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();

// --- fixed ---

Said Fixed(StudyCall& call) {
  const KernelCall& kernel = call.kernel_call();
  const Tolerance tolerance = EffectiveTolerance(
      kernel.op.traits.key, CallTraitsOf(kernel.before.arguments()),
      OriginalToleranceRules(), Tolerance{});
  Said said;
  for (size_t i = 0; i < call.outputs().size(); ++i) {
    const absl::StatusOr<Comparison> comparison =
        Compare(ArrayViewOf(call.outputs()[i]), ArrayViewOf(call.native()[i]),
                tolerance);
    if (!comparison.ok()) return {true, kInf, comparison.status().ToString()};
    said.wrong |= OutcomeOf(comparison->verdict) == Outcome::kFail;
    said.score = std::max(said.score, comparison->score);
  }
  return said;
}

// --- ratio ---

struct Errors {
  double max_relative = 0;
  double mean_relative = 0;
  double root_mean_square = 0;  // over that of the reference
  double small = 0;             // absolute, of elements below the floor
};

// nullopt: a NaN or Inf where the reference, rounded, has another value.
std::optional<Errors> ErrorsOf(const at::Tensor& result, const at::Tensor& want,
                               double floor) {
  const at::Tensor wide = result.to(at::kDouble);
  const double* got = wide.const_data_ptr<double>();
  const at::Tensor rounded = want.to(result.scalar_type()).to(at::kDouble);
  const double* right = want.const_data_ptr<double>();
  const double* special = rounded.const_data_ptr<double>();
  Errors errors;
  int64_t relative = 0;
  double squares = 0;
  double right_squares = 0;
  for (int64_t i = 0; i < want.numel(); ++i) {
    if (!std::isfinite(got[i]) || !std::isfinite(special[i])) {
      const bool both_nan = std::isnan(got[i]) && std::isnan(special[i]);
      if (got[i] == special[i] || both_nan) continue;
      return std::nullopt;
    }
    const double error = std::fabs(got[i] - right[i]);
    const double size = std::fabs(right[i]);
    squares += error * error;
    right_squares += size * size;
    if (size < floor) {
      errors.small = std::max(errors.small, error);
    } else {
      ++relative;
      errors.max_relative = std::max(errors.max_relative, error / size);
      errors.mean_relative += error / size;
    }
  }
  if (relative > 0) errors.mean_relative /= static_cast<double>(relative);
  if (right_squares > 0) {
    errors.root_mean_square = std::sqrt(squares / right_squares);
  }
  return errors;
}

double RatioFloor(c10::ScalarType type) {
  return type == at::kBFloat16 ? 0x1p-8 : type == at::kHalf ? 0x1p-11 : 0x1p-14;
}

Said Ratio(StudyCall& call) {
  Said said;
  for (size_t i = 0; i < call.outputs().size(); ++i) {
    const c10::ScalarType type = call.outputs()[i].scalar_type();
    const double floor = RatioFloor(type);
    const double small = type == at::kFloat ? 0x1p-30 : 0x1p-16;
    const auto kernel = ErrorsOf(call.outputs()[i], call.want()[i], floor);
    const auto native = ErrorsOf(call.native()[i], call.want()[i], floor);
    if (!kernel || !native) {
      if (!kernel) said = {true, kInf, "special"};
      continue;
    }
    const auto ratio = [](double a, double b, double floor) {
      return a / std::max(b, floor);
    };
    said.score = std::max(
        {said.score,
         ratio(kernel->max_relative, native->max_relative, floor) / 10,
         ratio(kernel->mean_relative, native->mean_relative, floor) / 1.2,
         ratio(kernel->root_mean_square, native->root_mean_square, floor) / 1.2,
         ratio(kernel->small, native->small, small) / 10});
  }
  said.wrong |= said.score > 1;
  return said;
}

// --- budget ---

Said OfBudget(StudyCall& call) {
  const Judgement judgement = JudgeCall(call.kernel_call());
  Said said;
  said.wrong = OutcomeOf(judgement.verdict) == Outcome::kFail;
  said.score = judgement.score.value_or(0);
  said.message = absl::StrCat(OutcomeName(OutcomeOf(judgement.verdict)), " ",
                              ReasonName(judgement.verdict));
  if (judgement.worst_index) {
    absl::StrAppendFormat(&said.message, ", output %d [%s]: %s for %s",
                          judgement.output_index,
                          absl::StrJoin(*judgement.worst_index, ", "),
                          judgement.got, judgement.want);
  }
  absl::StrAppend(&said.message,
                  ", n = ", TermsOf(call.kernel_call(), call.outputs()[0]));
  if (!judgement.message.empty()) {
    absl::StrAppend(&said.message, ": ", judgement.message);
  }
  return said;
}

// --- Bias. ---

at::Tensor FirstOf(const absl::StatusOr<ReferenceRun>& run) {
  if (!run.ok()) return {};
  return run->outputs[0].toTensor().to(at::kDouble).contiguous();
}

double MedianOf(const at::Tensor& x) {
  std::vector<double> values(x.const_data_ptr<double>(),
                             x.const_data_ptr<double>() + x.numel());
  const auto middle = values.begin() + values.size() / 2;
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

// C, as the judge computes it (docs/tolerance.md, section 4).
at::Tensor ConditionOf(StudyCall& call) {
  constexpr double kUnit = 0x1p-24;
  const KernelCall& kernel = call.kernel_call();
  const at::Tensor want = call.want()[0].abs();
  switch (kernel.row.op_class) {
    case OpClass::kRound:
      return want;
    case OpClass::kSum: {
      const at::Tensor sums = FirstOf(call.runs().Magnitudes());
      if (sums.defined()) return sums.abs();
      break;
    }
    case OpClass::kInput:
      return at::fmax(
          want, kernel.before.arguments()[0].toTensor().to(at::kDouble).abs());
    default:
      break;
  }
  at::Tensor change = at::zeros_like(want);
  for (int draw = 0; draw < (want.numel() == 1 ? 8 : 3); ++draw) {
    const at::Tensor moved = FirstOf(call.runs().Perturbed(kUnit, draw));
    if (moved.defined()) {
      change = at::fmax(change, (moved - call.want()[0]).abs());
    }
  }
  if (want.numel() > 1) {
    const double ratio = MedianOf(change / want);
    if (!kernel.op.handle.hasTag(at::Tag::pointwise)) {
      change = change.clamp_min(MedianOf(change));
    }
    change = at::fmax(change, want * ratio);
  }
  return want + change / kUnit;
}

}  // namespace

const std::vector<Rule>& Rules() {
  static const auto& rules = *new std::vector<Rule>{
      {"fixed", Fixed}, {"ratio", Ratio}, {"budget", OfBudget}};
  return rules;
}

std::vector<RoundingStep> RoundingSteps(StudyCall& call) {
  const c10::ScalarType type = call.outputs()[0].scalar_type();
  const auto format = FloatFormatOf(DTypeOf(type));
  if (type == at::kFloat || !format) return {};
  const KernelCall& kernel = call.kernel_call();
  const double n = TermsOf(kernel, call.outputs()[0]);
  const double factor = 0x1p-24 * (kernel.row.constants.a +
                                   kernel.row.constants.b * std::sqrt(n));
  const at::Tensor condition = ConditionOf(call).contiguous();
  const at::Tensor got = call.outputs()[0].to(at::kDouble);
  const double* c = condition.const_data_ptr<double>();
  const double* x = got.const_data_ptr<double>();
  const double* want = call.want()[0].const_data_ptr<double>();
  std::vector<RoundingStep> steps;
  for (int64_t i = 0; i < got.numel(); ++i) {
    const auto step = RoundingStepOf(x[i], want[i], factor * c[i], *format);
    if (step) steps.push_back(*step);
  }
  return steps;
}

}  // namespace flaggems::study
