#include "flaggems/judge/numbers.h"

#include <ATen/Context.h>
#include <ATen/TensorOperators.h>
#include <ATen/core/Tensor.h>
#include <ATen/core/enum_tag.h>
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
#include "absl/strings/strip.h"
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
#include "flaggems/judge/terms.h"
#include "flaggems/statistics/rounding_bias.h"

namespace flaggems {
namespace {

// Of the type that a kernel accumulates in.
double UnitRoundoff(c10::ScalarType type) {
  return type == c10::kDouble || type == c10::kComplexDouble ? 0x1p-53
                                                             : 0x1p-24;
}

// Of the type itself.
double OwnRoundoff(c10::ScalarType type) {
  switch (type) {
    case c10::kBFloat16:
      return 0x1p-8;
    case c10::kHalf:
    case c10::kComplexHalf:
      return 0x1p-11;
    default:
      return UnitRoundoff(type);
  }
}

bool IsReducedPrecision(c10::ScalarType type) {
  return type == c10::kHalf || type == c10::kBFloat16 ||
         c10::isFloat8Type(type);
}

// float64 arithmetic rounds away a change of its own unit roundoff: a larger
// one is used, and its effect scaled down.
constexpr double kFloat64Step = 0x1p-45;
constexpr double kFloat64Scale = 0x1p-8;

// Products, whose inputs may be rounded to fewer bits where the program allows
// it.
constexpr absl::string_view kProducts[] = {
    "mm", "bmm",   "addmm",  "baddbmm",          "addbmm",
    "mv", "addmv", "linear", "_addmm_activation"};
constexpr absl::string_view kConvolutions[] = {"convolution",
                                               "_convolution",
                                               "mkldnn_convolution",
                                               "cudnn_convolution",
                                               "cudnn_convolution_relu",
                                               "cudnn_convolution_add_relu",
                                               "cudnn_convolution_transpose",
                                               "convolution_backward"};

// Fused attention of 16-bit inputs on a device: the probabilities go into the
// second product in the inputs' type, since tensor cores take no other (T. Dao,
// FlashAttention-2, 2023, section 3.1), whoever writes the kernel. What torch's
// own kernels are allowed for it, every kernel is.
constexpr absl::string_view kRoundsBetween[] = {
    "_cudnn_attention_forward",
    "_efficient_attention_forward",
    "_flash_attention_forward",
    "_scaled_dot_product_cudnn_attention",
    "_scaled_dot_product_efficient_attention",
    "_scaled_dot_product_flash_attention",
};

// Optimisers with decaying averages.
constexpr absl::string_view kAveraging[] = {"_fused_adam", "_fused_adamw"};

template <size_t kSize>
bool Names(const absl::string_view (&names)[kSize], absl::string_view name) {
  return std::find(std::begin(names), std::end(names),
                   absl::StripSuffix(name, "_")) != std::end(names);
}

// Roundoff of what products may make of their float32 inputs by the program's
// own choice; 0 if it chose nothing.
double AllowedInputRoundoff(const KernelCall& call, c10::ScalarType type) {
  if (type != c10::kFloat && type != c10::kComplexFloat) return 0;
  const at::Context& context = at::globalContext();
  const std::string& name = call.op.traits.key.name;
  if (Names(kProducts, name)) {
    if (context.float32MatmulPrecision() ==
        at::Float32MatmulPrecision::MEDIUM) {
      return 0x1p-8;
    }
    if (context.allowTF32CuBLAS() ||
        context.float32MatmulPrecision() == at::Float32MatmulPrecision::HIGH) {
      return 0x1p-10;  // truncated to 10 bits, not rounded
    }
  }
  // The default of cuDNN's switch is on, and means devices only.
  if (Names(kConvolutions, name) && !call.on_host && context.allowTF32CuDNN()) {
    return 0x1p-10;
  }
  return 0;
}

// Formulas that overflow before the result does, as fractions of the largest
// finite value (measured: docs/tolerance.md).
double OverflowMargin(const KernelCall& call) {
  struct Row {
    absl::string_view op;
    double margin;
  };
  static constexpr Row kRows[] = {
      {"cosh", 2},
      {"sinh", 2},
      {"i0", 32},
      {"special_i1", 32},
      {"lerp", 32},
      {"special_modified_bessel_i0", 32},
      {"tanh_backward", 32},
      {"special_modified_bessel_i1", 32},
  };
  const absl::string_view name =
      absl::StripSuffix(call.op.traits.key.name, "_");
  for (const Row& row : kRows) {
    if (row.op == name) return row.margin;
  }
  return 1;
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
    budget_ = BaseBudget();
    const BudgetRow& row = call_.row;
    // What the rounding of the output and two of the arithmetic explain needs
    // no condition.
    Budget quick = budget_;
    quick.condition = Budget::Condition::kReference;
    quick.a = ArithmeticA() >= 2 ? 2 : ArithmeticA();
    if (row.op_class == OpClass::kRound) quick.a = row.constants.a;
    quick.b = quick.l = 0;
    quick.n = 1;
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

  double ArithmeticA() const {
    return HasBudget(call_.row.op_class) ? call_.row.constants.a : 0;
  }

  Budget BaseBudget() const {
    const BudgetRow& row = call_.row;
    Budget budget;
    budget.h = got_.is_complex() ? 0.75 : 0.5;
    budget.unit_roundoff = UnitRoundoff(got_.scalar_type());
    // Its subnormals are far above those of the float32 that it is computed in.
    budget.flush_subnormals = got_.scalar_type() != c10::kHalf &&
                              !c10::isFloat8Type(got_.scalar_type());
    budget.overflow_margin = OverflowMargin(call_);
    if (HasBudget(row.op_class)) {
      budget.a = row.constants.a;
      budget.b = row.constants.b;
      budget.l = row.constants.l;
      budget.n = TermsOf(call_, got_);
      // Tensor cores truncate: 0.11 n units on positive data.
      if (!call_.on_host && IsReducedPrecision(got_.scalar_type()) &&
          (Names(kProducts, call_.op.traits.key.name) ||
           Names(kConvolutions, call_.op.traits.key.name))) {
        budget.l += 0.25;
      }
    }
    LimitVariance(budget);
    if (const double u = AllowedInputRoundoff(call_, got_.scalar_type())) {
      budget.a += 2 * u / budget.unit_roundoff;
    }
    // The reference has the roundings of a kernel of this dtype itself.
    if (runs_.wide_is_native()) {
      budget.h *= 2;
      budget.a *= 2;
      budget.b *= 2;
      budget.l *= 2;
    }
    return budget;
  }

  // A variance over n must not pass for one over n - 1: its budget stays below
  // 1 / n (half of that for a standard deviation) while that leaves room for
  // sums in blocks.
  void LimitVariance(Budget& budget) const {
    const std::string& name = call_.op.traits.key.name;
    double share = 0;
    if (name == "var" || name == "var_mean") share = 1;
    if (name == "std" || name == "std_mean") share = 0.5;
    if (share == 0) return;
    const double root = std::sqrt(budget.n);
    const double limit = 0.8 * share / (budget.n * budget.unit_roundoff);
    budget.a = std::max(share * (48 + 0.3 * root),
                        std::min(budget.a + budget.b * root, limit));
    budget.b = 0;
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
        return Measure(want, UnitRoundoff(got_.scalar_type()));
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
      case OpClass::kStep:
        // A step within A roundoffs of the inputs may be taken or not, but
        // only one: A P is to be one step.
        return Measure(want, budget_.a * InputRoundoff(), 1 / budget_.a);
      default:
        return Measure(want, UnitRoundoff(got_.scalar_type()));
    }
  }

  // The largest roundoff of the types of the arguments.
  double InputRoundoff() const {
    double u = 0;
    VisitTensors(call_.before.arguments(), [&](const at::Tensor& tensor) {
      if (tensor.is_floating_point()) {
        u = std::max(u, OwnRoundoff(tensor.scalar_type()));
      }
    });
    return u == 0 ? UnitRoundoff(got_.scalar_type()) : u;
  }

  static bool AtLeast(const at::Tensor& condition, const at::Tensor& want) {
    const auto* c = static_cast<const double*>(condition.const_data_ptr());
    const auto* w = static_cast<const double*>(want.const_data_ptr());
    for (int64_t i = 0; i < want.numel(); ++i) {
      if (c[i] < w[i] * (1 - 1e-9)) return false;
    }
    return true;
  }

  // C = |want| + P / u, P the change of the element when inputs change by
  // `roundoff`, times `share`.
  absl::Status Measure(const at::Tensor& want, double roundoff,
                       double share = 1) {
    const int64_t numel = want.numel();
    at::Tensor effect = at::zeros(want.sizes(), want.options());
    auto* p = static_cast<double*>(effect.mutable_data_ptr());
    const auto* w = static_cast<const double*>(want.const_data_ptr());
    const bool tiny = roundoff < kFloat64Step;
    // One element has no median to be floored by, and the elements of a
    // pointwise operator have none in common: more draws instead.
    const int draws = numel == 1 ? 8 : HasSeveralInputs() ? 6 : 3;
    const at::Tensor wide = want_.contiguous();
    int made = 0;
    for (int draw = 0; draw < draws; ++draw) {
      const absl::StatusOr<at::Tensor> moved =
          WantOf(runs_.Perturbed(tiny ? kFloat64Step : roundoff, draw));
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
    const double scale = tiny ? share * kFloat64Scale : share;
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
    // An intermediate result that underflows is off by up to the smallest
    // normal number, times what it is then multiplied with: x * sigmoid(x) is 0
    // before it has to be.
    const double underflow = tiny ? 0x1p-1015 : 0x1p-119;
    // Single elements can be lucky in every draw: none has less than the
    // median.
    // Where an element depends on elements of its own alone, its size is no
    // measure for that of others.
    // Elements that nothing reaches (padding) say nothing about those that
    // something does.
    const bool pointwise = call_.op.handle.hasTag(at::Tag::pointwise);
    const double median = pointwise ? 0 : Median(std::move(changes));
    const double median_changed = pointwise ? 0 : Median(std::move(changed));
    const double median_ratio = Median(std::move(ratios));
    for (int64_t i = 0; i < numel; ++i) {
      const double floor =
          std::max(p[i] > 0 ? median_changed : median, w[i] * median_ratio);
      const double change = (p[i] > floor ? p[i] : floor) * scale;
      p[i] = w[i] + std::max(change, underflow) / budget_.unit_roundoff;
    }
    SetConditions(std::move(effect));
    return absl::OkStatus();
  }

  // A pointwise operator on which several effects may cancel.
  bool HasSeveralInputs() const {
    int inputs = 0;
    VisitTensors(call_.before.arguments(), [&](const at::Tensor& tensor) {
      if (tensor.is_floating_point() || tensor.is_complex()) ++inputs;
    });
    return inputs > 1 && call_.op.handle.hasTag(at::Tag::pointwise);
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
        if (Names(kAveraging, call_.op.traits.key.name)) {
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
      const bool rounds_between =
          !call_.on_host && Names(kRoundsBetween, call_.op.traits.key.name);
      if (as_bad_as_native && (call_.op.native || rounds_between)) {
        Judgement judgement = Describe(allowed, want_);
        if (NativeLoss() >= 1 && judgement.verdict == Verdict::kPass) {
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
    judgement.rounding = RoundingOf();
    return judgement;
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

  // k + k1 n of the row, times the roundoff of the output.
  double NativeLoss() const {
    const Native16& row =
        call_.on_host ? call_.row.native_cpu : call_.row.native_cuda;
    return (row.k + row.k_per_term * budget_.n) *
           std::max(OwnRoundoff(got_.scalar_type()), InputRoundoff());
  }

  // The budget with what torch's own kernels lose by rounding in between.
  std::optional<Budget> NativeAllowance() {
    // A float32 result of 16-bit inputs has their roundings in it.
    if (!IsReducedPrecision(got_.scalar_type()) && InputRoundoff() < 0x1p-12) {
      return std::nullopt;
    }
    const double loss = NativeLoss();
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
