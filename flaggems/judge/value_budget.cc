#include "flaggems/judge/value_budget.h"

#include <ATen/Context.h>
#include <ATen/core/enum_tag.h>

#include <algorithm>
#include <cmath>
#include <string>

#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "flaggems/aten/visit_tensors.h"
#include "flaggems/judge/op_names.h"
#include "flaggems/judge/terms.h"
#include "flaggems/policy/budget_table.h"

namespace flaggems {
namespace {

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

// Roundoff of what products may make of their float32 inputs by the program's
// own choice; 0 if it chose nothing.
double AllowedInputRoundoff(const KernelCall& call, c10::ScalarType type) {
  if (type != c10::kFloat && type != c10::kComplexFloat) return 0;
  const at::Context& context = at::globalContext();
  const std::string& name = call.op.traits.key.name;
  if (HasOp(kProducts, name)) {
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
  if (HasOp(kConvolutions, name) && !call.on_host && context.allowTF32CuDNN()) {
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

double ArithmeticA(const KernelCall& call) {
  return HasBudget(call.row.op_class) ? call.row.constants.a : 0;
}

// A variance over n must not pass for one over n - 1: its budget stays below
// 1 / n (half of that for a standard deviation) while that leaves room for
// sums in blocks.
void LimitVariance(const KernelCall& call, Budget& budget) {
  const std::string& name = call.op.traits.key.name;
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

// A pointwise operator on which several effects may cancel.
bool HasSeveralInputs(const KernelCall& call) {
  int inputs = 0;
  VisitTensors(call.before.arguments(), [&](const at::Tensor& tensor) {
    if (tensor.is_floating_point() || tensor.is_complex()) ++inputs;
  });
  return inputs > 1 && call.op.handle.hasTag(at::Tag::pointwise);
}

}  // namespace

double UnitRoundoff(c10::ScalarType type) {
  return type == c10::kDouble || type == c10::kComplexDouble ? 0x1p-53
                                                             : 0x1p-24;
}

bool IsReducedPrecision(c10::ScalarType type) {
  return type == c10::kHalf || type == c10::kBFloat16 ||
         c10::isFloat8Type(type);
}

double InputRoundoff(const KernelCall& call, c10::ScalarType got) {
  double u = 0;
  VisitTensors(call.before.arguments(), [&](const at::Tensor& tensor) {
    if (tensor.is_floating_point()) {
      u = std::max(u, OwnRoundoff(tensor.scalar_type()));
    }
  });
  return u == 0 ? UnitRoundoff(got) : u;
}

Budget BaseBudget(const KernelCall& call, const at::Tensor& got,
                  bool wide_is_native) {
  const BudgetRow& row = call.row;
  Budget budget;
  budget.h = got.is_complex() ? 0.75 : 0.5;
  budget.unit_roundoff = UnitRoundoff(got.scalar_type());
  // Its subnormals are far above those of the float32 that it is computed in.
  budget.flush_subnormals =
      got.scalar_type() != c10::kHalf && !c10::isFloat8Type(got.scalar_type());
  budget.overflow_margin = OverflowMargin(call);
  if (HasBudget(row.op_class)) {
    budget.a = row.constants.a;
    budget.b = row.constants.b;
    budget.l = row.constants.l;
    budget.n = TermsOf(call, got);
    // Tensor cores truncate: 0.11 n units on positive data.
    if (!call.on_host && IsReducedPrecision(got.scalar_type()) &&
        (HasOp(kProducts, call.op.traits.key.name) ||
         HasOp(kConvolutions, call.op.traits.key.name))) {
      budget.l += 0.25;
    }
  }
  LimitVariance(call, budget);
  if (const double u = AllowedInputRoundoff(call, got.scalar_type())) {
    budget.a += 2 * u / budget.unit_roundoff;
  }
  // The reference has the roundings of a kernel of this dtype itself.
  if (wide_is_native) {
    budget.h *= 2;
    budget.a *= 2;
    budget.b *= 2;
    budget.l *= 2;
  }
  return budget;
}

Budget QuickBudget(const KernelCall& call, const Budget& base) {
  Budget quick = base;
  quick.condition = Budget::Condition::kReference;
  quick.a = std::min(2.0, ArithmeticA(call));
  if (call.row.op_class == OpClass::kRound) quick.a = call.row.constants.a;
  quick.b = quick.l = 0;
  quick.n = 1;
  return quick;
}

Measurement MeasurementOf(const KernelCall& call, const at::Tensor& got,
                          const Budget& base) {
  Measurement how;
  how.step = UnitRoundoff(got.scalar_type());
  if (call.row.op_class == OpClass::kStep) {
    // A step within A roundoffs of the inputs may be taken or not, but only
    // one: A P is to be one step.
    how.step = base.a * InputRoundoff(call, got.scalar_type());
    how.scale = 1 / base.a;
  }
  // An intermediate result that underflows is off by up to the smallest normal
  // number, times what it is then multiplied with: x * sigmoid(x) is 0 before
  // it has to be.
  how.underflow = 0x1p-119;
  if (how.step < kFloat64Step) {
    how.step = kFloat64Step;
    how.scale *= kFloat64Scale;
    how.underflow = 0x1p-1015;
  }
  // One element has no median to be floored by, and the elements of a pointwise
  // operator have none in common: more draws instead.
  how.draws = got.numel() == 1 ? 8 : HasSeveralInputs(call) ? 6 : 3;
  how.pointwise = call.op.handle.hasTag(at::Tag::pointwise);
  return how;
}

double NativeLoss(const KernelCall& call, const at::Tensor& got,
                  const Budget& base) {
  const Native16& row =
      call.on_host ? call.row.native_cpu : call.row.native_cuda;
  return (row.k + row.k_per_term * base.n) *
         std::max(OwnRoundoff(got.scalar_type()),
                  InputRoundoff(call, got.scalar_type()));
}

bool MayLoseAsNative(const KernelCall& call) {
  return call.op.native ||
         (!call.on_host && HasOp(kRoundsBetween, call.op.traits.key.name));
}

}  // namespace flaggems
