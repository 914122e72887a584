#include "flaggems/judge/numbers.h"

#include <ATen/TensorOperators.h>
#include <ATen/core/Tensor.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/zeros.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/string_view.h"
#include "flaggems/aten/array_view_of.h"
#include "flaggems/aten/at_parallel_for.h"
#include "flaggems/aten/dtype_of.h"
#include "flaggems/aten/find_argument.h"
#include "flaggems/aten/status_of_exception.h"
#include "flaggems/aten/visit_tensors.h"
#include "flaggems/comparator/compare.h"
#include "flaggems/comparator/compare_budget.h"
#include "flaggems/comparator/ulp.h"
#include "flaggems/core/status_macros.h"
#include "flaggems/judge/describe_comparison.h"
#include "flaggems/judge/folded_norm.h"
#include "flaggems/judge/op_names.h"
#include "flaggems/judge/value_budget.h"
#include "flaggems/statistics/rounding_bias.h"

namespace flaggems {
namespace {

// Optimisers with decaying averages.
constexpr absl::string_view kAveraging[] = {"_fused_adam", "_fused_adamw"};

// Operators that say which sign a zero has, as IEEE 754 does; of others either
// is right. Division rounded to integers says nothing.
constexpr absl::string_view kSignsZeros[] = {"neg", "copysign", "div"};

bool SignsZeros(const KernelCall& call) {
  if (!HasOp(kSignsZeros, call.op.traits.key.name)) return false;
  const c10::IValue* const mode = FindArgument(call, "rounding_mode");
  return mode == nullptr || mode->isNone();
}

at::Tensor WideTensor(const c10::IValue& value) {
  at::Tensor wide = ToHost(AsTensor(value));
  if (wide.is_complex()) return wide.to(c10::kComplexDouble);
  return wide.to(c10::kDouble);
}

// |x|, contiguous, in float64.
at::Tensor Magnitude(const at::Tensor& wide) { return wide.abs().contiguous(); }

double Median(std::vector<double> values) {
  if (values.empty()) return 0;
  const auto middle = values.begin() + values.size() / 2;
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

// One comparison of the values with one budget.
class NumberJudge {
 public:
  NumberJudge(const KernelCall& call, ReferenceRuns& runs, size_t index,
              const at::Tensor& got)
      : call_(call), runs_(runs), index_(index), got_(got) {}

  absl::StatusOr<Judgement> Judge() {
    FG_ASSIGN_OR_RETURN(want_, WantOf(runs_.Wide()));
    if (!got_.is_floating_point() && !got_.is_complex()) return JudgeExactly();
    budget_ = BaseBudget(call_, got_, runs_.wide_is_native());
    const BudgetRow& row = call_.row;
    const Budget quick = QuickBudget(call_, budget_);
    FG_ASSIGN_OR_RETURN(Comparison comparison, Compare(want_, quick));
    if (OutcomeOf(comparison.verdict) != Outcome::kFail) {
      budget_ = quick;
      return Right(comparison);
    }
    if (HasBudget(row.op_class) && row.op_class != OpClass::kRound) {
      FG_RETURN_IF_ERROR(AddCondition());
    } else {
      budget_ = quick;
    }
    return JudgeWithBudget();
  }

 private:
  absl::StatusOr<at::Tensor> WantOf(const absl::StatusOr<ReferenceRun>& run) {
    if (!run.ok()) return run.status();
    if (index_ >= run->values.size() ||
        !IsNumberOrTensor(run->values[index_].value)) {
      return absl::InternalError("the reference has no such result");
    }
    return WideTensor(run->values[index_].value);
  }

  absl::StatusOr<Comparison> Compare(const at::Tensor& want,
                                     const Budget& budget) const {
    AtParallelFor threads;
    if (got_.is_complex() && !want.is_complex()) {
      const at::Tensor complex = want.to(c10::kComplexDouble);
      return CompareBudget(ArrayViewOf(got_), ArrayViewOf(complex), budget,
                           &threads);
    }
    return CompareBudget(ArrayViewOf(got_), ArrayViewOf(want), budget,
                         &threads);
  }

  absl::StatusOr<Judgement> JudgeExactly() {
    const at::Tensor want = ToHost(AsTensor(runs_.Wide()->values[index_].value))
                                .to(got_.scalar_type());
    AtParallelFor threads;
    FG_ASSIGN_OR_RETURN(Comparison comparison,
                        flaggems::Compare(ArrayViewOf(got_), ArrayViewOf(want),
                                          Tolerance{0, 0}, &threads));
    if (OutcomeOf(comparison.verdict) == Outcome::kFail) {
      for (const c10::ScalarType type : ScalarTypes()) {
        const absl::StatusOr<ReferenceRun> run = runs_.WideWithScalars(type);
        if (!run.ok() || index_ >= run->values.size()) continue;
        const at::Tensor other =
            ToHost(AsTensor(run->values[index_].value)).to(got_.scalar_type());
        FG_ASSIGN_OR_RETURN(
            const Comparison again,
            flaggems::Compare(ArrayViewOf(got_), ArrayViewOf(other),
                              Tolerance{0, 0}, &threads));
        if (OutcomeOf(again.verdict) != Outcome::kFail) {
          return Describe(again, other);
        }
      }
    }
    if (runs_.Wide()->values[index_].steps && NearlySameSteps(want)) {
      comparison.verdict = Verdict::kPass;
    }
    return Describe(comparison, want);
  }

  // Integers of quantised numbers: next to a half both neighbours are right,
  // and no more than a few elements are there.
  bool NearlySameSteps(const at::Tensor& want) const {
    const at::Tensor difference =
        (got_.to(c10::kDouble) - want.to(c10::kDouble)).abs();
    return difference.max().item<double>() <= 1 &&
           difference.sum().item<double>() <=
               std::max(1.0, 0.01 * static_cast<double>(want.numel()));
  }

  // C of the class (docs/tolerance.md, section 4).
  absl::Status AddCondition() {
    const at::Tensor want = Magnitude(want_);
    switch (call_.row.op_class) {
      case OpClass::kSum: {
        const absl::StatusOr<at::Tensor> sums = WantOf(runs_.Magnitudes());
        if (sums.ok() && sums->sizes() == want.sizes()) {
          at::Tensor condition = Magnitude(*sums);
          if (AtLeast(condition, want)) {
            SetConditions(std::move(condition));
            return absl::OkStatus();
          }
        }
        // The operator does not only add: its condition has to be measured.
        return Measure(want);
      }
      case OpClass::kInput: {
        at::Tensor condition = want.clone();
        VisitTensors(call_.before.arguments(), [&](const at::Tensor& tensor) {
          if (tensor.is_floating_point() && tensor.sizes() == want.sizes()) {
            const at::Tensor x = tensor.to(c10::kDouble).abs();
            condition = condition.fmax(x);
          }
        });
        SetConditions(condition.contiguous());
        return absl::OkStatus();
      }
      case OpClass::kScale:
        budget_.condition = Budget::Condition::kConstant;
        budget_.constant = want.numel() == 0
                               ? 0
                               : std::sqrt(want.square().mean().item<double>());
        return absl::OkStatus();
      default:
        return Measure(want);
    }
  }

  static bool AtLeast(const at::Tensor& condition, const at::Tensor& want) {
    const auto* c = static_cast<const double*>(condition.const_data_ptr());
    const auto* w = static_cast<const double*>(want.const_data_ptr());
    for (int64_t i = 0; i < want.numel(); ++i) {
      if (c[i] < w[i] * (1 - 1e-9)) return false;
    }
    return true;
  }

  // C = |want| + P / u (value_budget.h).
  absl::Status Measure(const at::Tensor& want) {
    const Measurement how = MeasurementOf(call_, got_, budget_);
    const int64_t numel = want.numel();
    at::Tensor effect = at::zeros(want.sizes(), want.options());
    auto* p = static_cast<double*>(effect.mutable_data_ptr());
    const auto* w = static_cast<const double*>(want.const_data_ptr());
    const at::Tensor wide = want_.contiguous();
    int made = 0;
    for (int draw = 0; draw < how.draws; ++draw) {
      const absl::StatusOr<at::Tensor> moved =
          WantOf(runs_.Perturbed(how.step, draw));
      // A perturbed input may be outside what the operator accepts.
      if (!moved.ok() || moved->sizes() != want.sizes()) continue;
      ++made;
      const at::Tensor change = Magnitude(*moved - wide);
      const auto* c = static_cast<const double*>(change.const_data_ptr());
      for (int64_t i = 0; i < numel; ++i) {
        // Not max(): NaN counts as no change.
        if (c[i] > p[i]) p[i] = c[i];
      }
    }
    std::vector<double> changes;
    std::vector<double> changed;  // those above 0
    std::vector<double> ratios;
    if (numel > 1 && made > 0) {
      changes.reserve(static_cast<size_t>(numel));
      ratios.reserve(static_cast<size_t>(numel));
      for (int64_t i = 0; i < numel; ++i) {
        if (!std::isfinite(w[i]) || !std::isfinite(p[i])) continue;
        changes.push_back(p[i]);
        if (p[i] > 0) changed.push_back(p[i]);
        if (w[i] > 0) ratios.push_back(p[i] / w[i]);
      }
    }
    // Single elements can be lucky in every draw: none has less than the
    // median.
    // Where an element depends on elements of its own alone, its size is no
    // measure for that of others.
    // Elements that nothing reaches (padding) say nothing about those that
    // something does.
    const double median = how.pointwise ? 0 : Median(std::move(changes));
    const double median_changed =
        how.pointwise ? 0 : Median(std::move(changed));
    const double median_ratio = Median(std::move(ratios));
    for (int64_t i = 0; i < numel; ++i) {
      const double floor =
          std::max(p[i] > 0 ? median_changed : median, w[i] * median_ratio);
      const double change = (p[i] > floor ? p[i] : floor) * how.scale;
      p[i] = w[i] + std::max(change, how.underflow) / budget_.unit_roundoff;
    }
    if (index_ == 0) RaiseToFoldedNorm(want, effect);
    SetConditions(std::move(effect));
    return absl::OkStatus();
  }

  // At least |want| and those terms.
  void RaiseToFoldedNorm(const at::Tensor& want,
                         const at::Tensor& conditions) const {
    const std::optional<at::Tensor> terms =
        FoldedNormTerms(call_, runs_.Wide()->values);
    if (!terms || terms->numel() != conditions.numel()) return;
    auto* c = static_cast<double*>(conditions.mutable_data_ptr());
    const auto* t = static_cast<const double*>(terms->const_data_ptr());
    const auto* w = static_cast<const double*>(want.const_data_ptr());
    for (int64_t i = 0; i < conditions.numel(); ++i) {
      if (c[i] < w[i] + t[i]) c[i] = w[i] + t[i];
    }
  }

  void SetConditions(at::Tensor conditions) {
    conditions_ = std::move(conditions);
    budget_.condition = Budget::Condition::kArray;
    budget_.conditions = ArrayViewOf(conditions_);
  }

  // An optimiser changes its state by 1 - beta, and its parameters by what
  // 1 - beta^step divides. Held in float32, or with a rounded power, the
  // difference is off by u / (1 - beta) of itself: 6e-5 with beta = 0.999.
  // Kernels differ in which of them they hold so.
  void AddRoundingOfBetas() {
    const double factor = budget_.Factor();
    if (budget_.condition != Budget::Condition::kArray || factor == 0) return;
    double loss = 0;
    for (const absl::string_view name : {"beta1", "beta2"}) {
      const c10::IValue* const beta = FindArgument(
          call_.op.handle.schema(), call_.before.arguments(), name);
      if (beta == nullptr || !beta->isDouble() || !(beta->toDouble() < 1)) {
        return;
      }
      loss += UnitRoundoff(got_.scalar_type()) / (1 - beta->toDouble());
    }
    const std::vector<FlatValue> before =
        ValuesOf({}, call_.before.arguments(), call_.op.writable);
    if (index_ >= before.size() || !IsNumberOrTensor(before[index_].value)) {
      return;
    }
    const at::Tensor change =
        Magnitude(want_ - WideTensor(before[index_].value));
    SetConditions((conditions_ + change * (loss / factor))
                      .nan_to_num(0, std::numeric_limits<double>::infinity())
                      .contiguous());
  }

  // Whether it is a list of Python numbers with a floating one.
  static bool HoldsDouble(const c10::IValue& value) {
    if (!value.isList()) return false;
    const c10::ArrayRef<c10::IValue> items = value.toListRef();
    return std::any_of(items.begin(), items.end(),
                       [](const c10::IValue& item) { return item.isDouble(); });
  }

  // The types in which a kernel may hold Python numbers.
  std::vector<c10::ScalarType> ScalarTypes() const {
    bool has_scalar = false;
    for (const c10::IValue& value : call_.before.arguments()) {
      has_scalar = has_scalar || value.isDouble() || HoldsDouble(value);
    }
    std::optional<c10::ScalarType> narrow;
    bool has_tensor = false;
    VisitTensors(call_.before.arguments(), [&](const at::Tensor& tensor) {
      has_tensor = true;
      const bool wrapped = tensor.unsafeGetTensorImpl()->is_wrapped_number();
      has_scalar = has_scalar || wrapped ||
                   (tensor.dim() == 0 && tensor.scalar_type() == c10::kDouble);
      if (!wrapped && IsReducedPrecision(tensor.scalar_type())) {
        narrow = tensor.scalar_type();
      }
    });
    if (!has_scalar) return {};
    // A factory has no tensor that says it.
    if (!has_tensor && IsReducedPrecision(got_.scalar_type())) {
      narrow = got_.scalar_type();
    }
    std::vector<c10::ScalarType> types;
    if (got_.scalar_type() != c10::kDouble &&
        got_.scalar_type() != c10::kComplexDouble) {
      types.push_back(c10::kFloat);
    }
    if (narrow) types.push_back(*narrow);
    return types;
  }

  absl::StatusOr<Judgement> JudgeWithBudget() {
    FG_ASSIGN_OR_RETURN(const Comparison comparison, Compare(want_, budget_));
    if (OutcomeOf(comparison.verdict) != Outcome::kFail) {
      return Right(comparison);
    }
    for (const c10::ScalarType type : ScalarTypes()) {
      const absl::StatusOr<at::Tensor> want =
          WantOf(runs_.WideWithScalars(type));
      if (!want.ok() || want->sizes() != want_.sizes()) continue;
      FG_ASSIGN_OR_RETURN(const Comparison again, Compare(*want, budget_));
      if (OutcomeOf(again.verdict) != Outcome::kFail) {
        return Describe(again, *want);
      }
      if (type == c10::kFloat) {
        if (HasOp(kAveraging, call_.op.traits.key.name)) {
          AddRoundingOfBetas();
        }
        FG_ASSIGN_OR_RETURN(const Comparison between,
                            CompareBetween(want_, *want));
        if (OutcomeOf(between.verdict) != Outcome::kFail) {
          return Describe(between, *want);
        }
      }
    }
    const std::optional<Budget> allowance = NativeAllowance();
    bool as_bad_as_native = false;
    if (allowance) {
      FG_ASSIGN_OR_RETURN(const Comparison allowed, Compare(want_, *allowance));
      as_bad_as_native = OutcomeOf(allowed.verdict) != Outcome::kFail;
      if (as_bad_as_native && MayLoseAsNative(call_)) {
        Judgement judgement = Describe(allowed, want_);
        if (NativeLoss(call_, got_, budget_) >= 1 &&
            judgement.verdict == Verdict::kPass) {
          judgement.verdict = Verdict::kUntrustedAllowance;
        }
        return judgement;
      }
    }
    // Before a kernel is called wrong, the reference has to be the same twice.
    const absl::StatusOr<at::Tensor> again = WantOf(runs_.WideAgain());
    if (again.ok() && again->sizes() == want_.sizes()) {
      FG_ASSIGN_OR_RETURN(const Comparison second, Compare(*again, budget_));
      if (OutcomeOf(second.verdict) != Outcome::kFail) {
        return Differs(Verdict::kUntrustedReference,
                       "the reference gave another result with another number "
                       "of threads, and the kernel agrees with that");
      }
    }
    Judgement judgement = Describe(comparison, want_);
    if (as_bad_as_native) {
      absl::StrAppend(&judgement.message, judgement.message.empty() ? "" : "; ",
                      "no worse than torch's own kernel, which rounds in "
                      "between");
    }
    return judgement;
  }

  // Of a kernel that holds some Python numbers in float64 and some in float32
  // (1 - beta and beta^step of an optimiser): each element lies between the two
  // references, up to the budget.
  absl::StatusOr<Comparison> CompareBetween(const at::Tensor& a,
                                            const at::Tensor& b) {
    Budget budget = budget_;
    at::Tensor allowed = at::zeros(a.sizes(), a.options());
    switch (budget_.condition) {
      case Budget::Condition::kNone:
        break;
      case Budget::Condition::kReference:
        allowed = Magnitude(a);
        break;
      case Budget::Condition::kConstant:
        allowed.fill_(budget_.constant);
        break;
      case Budget::Condition::kArray:
        allowed = conditions_;
        break;
    }
    allowed = (allowed * budget_.Factor() + Magnitude(a - b) / 2)
                  .nan_to_num(0, std::numeric_limits<double>::infinity())
                  .contiguous();
    budget.unit_roundoff = 1;
    budget.a = 1;
    budget.b = 0;
    budget.l = 0;
    budget.condition = Budget::Condition::kArray;
    budget.conditions = ArrayViewOf(allowed);
    return Compare((a + b) / 2, budget);
  }

  // A result that budget_ accepts.
  Judgement Right(const Comparison& comparison) const {
    Judgement judgement = Describe(comparison, want_);
    if (const std::optional<int64_t> position = WrongSignOfZero()) {
      judgement.verdict = Verdict::kFailValue;
      judgement.message = "the sign of a zero, which the operator defines";
      judgement.worst_index = IndexOf(*position, got_.sizes());
      const bool minus =
          std::signbit(ElementAt(want_, *judgement.worst_index).item<double>());
      judgement.got = minus ? "0" : "-0";
      judgement.want = minus ? "-0" : "0";
      return judgement;
    }
    judgement.rounding = RoundingOf();
    return judgement;
  }

  // Row-major; of the first.
  std::optional<int64_t> WrongSignOfZero() const {
    if (!got_.is_floating_point() || !want_.is_floating_point() ||
        !SignsZeros(call_)) {
      return std::nullopt;
    }
    const at::Tensor got = got_.to(c10::kDouble).contiguous();
    const at::Tensor want = want_.contiguous();
    const auto* g = static_cast<const double*>(got.const_data_ptr());
    const auto* w = static_cast<const double*>(want.const_data_ptr());
    for (int64_t i = 0; i < got.numel(); ++i) {
      if (w[i] == 0 && g[i] == 0 && std::signbit(w[i]) != std::signbit(g[i])) {
        return i;
      }
    }
    return std::nullopt;
  }

  // How elements, evenly spread over the result, were rounded: of a kernel that
  // is to round once.
  std::vector<RoundingStep> RoundingOf() const {
    constexpr int64_t kSample = 1024;
    std::vector<RoundingStep> steps;
    const std::optional<FloatFormat> format =
        FloatFormatOf(DTypeOf(got_.scalar_type()));
    if (!format || !IsReducedPrecision(got_.scalar_type()) || call_.op.native ||
        runs_.wide_is_native() || got_.numel() == 0) {
      return steps;
    }
    const int64_t count = std::min(kSample, got_.numel());
    const at::Tensor positions =
        at::arange(count, at::TensorOptions(c10::kLong))
            .mul(got_.numel())
            .div(count, "floor");
    const at::Tensor got =
        got_.to(c10::kFloat).take(positions).to(c10::kDouble);
    const at::Tensor want = want_.take(positions);
    const auto* g = static_cast<const double*>(got.const_data_ptr());
    const auto* w = static_cast<const double*>(want.const_data_ptr());
    const auto* at = static_cast<const int64_t*>(positions.const_data_ptr());
    const double factor = budget_.Factor();
    for (int64_t i = 0; i < count; ++i) {
      double condition = 0;
      switch (budget_.condition) {
        case Budget::Condition::kNone:
          break;
        case Budget::Condition::kReference:
          condition = std::fabs(w[i]);
          break;
        case Budget::Condition::kConstant:
          condition = budget_.constant;
          break;
        case Budget::Condition::kArray:
          condition =
              static_cast<const double*>(budget_.conditions.data)[at[i]];
          break;
      }
      if (const auto step =
              RoundingStepOf(g[i], w[i], factor * condition, *format)) {
        steps.push_back(*step);
      }
    }
    return steps;
  }

  // The budget with what torch's own kernels lose by rounding in between.
  std::optional<Budget> NativeAllowance() {
    // A float32 result of 16-bit inputs has their roundings in it.
    if (!IsReducedPrecision(got_.scalar_type()) &&
        InputRoundoff(call_, got_.scalar_type()) < 0x1p-12) {
      return std::nullopt;
    }
    const double loss = NativeLoss(call_, got_, budget_);
    if (loss == 0) return std::nullopt;
    Budget allowance = budget_;
    allowance.a += loss / budget_.unit_roundoff;
    if (allowance.condition == Budget::Condition::kNone) {
      allowance.condition = Budget::Condition::kReference;
    }
    if (got_.scalar_type() == c10::kHalf) AddSubnormalSteps(allowance);
    return allowance;
  }

  // An intermediate result below float16's smallest normal number is off by as
  // much as one of that size, however small it is.
  void AddSubnormalSteps(Budget& allowance) {
    constexpr double kSmallestNormal = 0x1p-14;
    at::Tensor floored = at::zeros(want_.sizes(), want_.options());
    if (allowance.condition == Budget::Condition::kConstant) {
      floored.fill_(allowance.constant);
    } else {
      floored = allowance.condition == Budget::Condition::kArray
                    ? conditions_
                    : Magnitude(want_);
    }
    allowed_conditions_ = floored.clamp_min(kSmallestNormal).contiguous();
    allowance.condition = Budget::Condition::kArray;
    allowance.conditions = ArrayViewOf(allowed_conditions_);
  }

  Judgement Describe(const Comparison& comparison,
                     const at::Tensor& want) const {
    Judgement judgement = DescribeComparison(comparison, got_, want);
    if (!judgement.worst_index) return judgement;
    const at::Tensor want_element = ElementAt(want, *judgement.worst_index);
    if (comparison.score > 0 && std::isfinite(comparison.score)) {
      const at::Tensor got_element = ElementAt(got_, *judgement.worst_index);
      judgement.allowed =
          (got_element - want_element).abs().item<double>() / comparison.score;
    }
    if (judgement.verdict != Verdict::kFailValue) return judgement;
    if (want.is_floating_point() && Overflows(want_element)) {
      judgement.verdict = Verdict::kFailSpecial;
      judgement.message = "the reference overflows in this dtype";
    } else if (budget_.n > 1) {
      judgement.message = absl::StrFormat("%.0f terms", budget_.n);
    }
    return judgement;
  }

  // One element in the wide type of the result.
  at::Tensor ElementAt(at::Tensor tensor,
                       const std::vector<int64_t>& index) const {
    for (const int64_t i : index) tensor = tensor.select(0, i);
    return tensor.to(got_.is_complex() ? c10::kComplexDouble : c10::kDouble);
  }

  // Whether a finite result stands where the reference rounds to Inf.
  bool Overflows(const at::Tensor& want_element) const {
    const std::optional<FloatFormat> format =
        FloatFormatOf(DTypeOf(got_.scalar_type()));
    return format && format->has_infinity &&
           want_element.abs().item<double>() >= format->overflow;
  }

  const KernelCall& call_;
  ReferenceRuns& runs_;
  const size_t index_;
  const at::Tensor& got_;
  at::Tensor want_;
  at::Tensor conditions_;
  at::Tensor allowed_conditions_;  // of the native allowance
  Budget budget_;
};

}  // namespace

Judgement JudgeNumbers(const KernelCall& call, ReferenceRuns& runs,
                       size_t index, const at::Tensor& got) {
  const absl::StatusOr<Judgement> judgement =
      StatusOrOf([&] { return NumberJudge(call, runs, index, got).Judge(); });
  return judgement.ok() ? *judgement : ErrorOf(judgement.status());
}

}  // namespace flaggems
