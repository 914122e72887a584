#include "flaggems/reference/denied_calls.h"

#include <ATen/core/Tensor.h>

#include <algorithm>

#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "flaggems/aten/find_argument.h"
#include "flaggems/aten/status_of_exception.h"

namespace flaggems {
namespace {

constexpr absl::string_view kNoStatistics =
    "torch's CPU kernel reads statistics that are not there and ends the "
    "process";
constexpr absl::string_view kStepsByArgument =
    "torch's CPU kernel takes a step for each unit below zero: some 12 ns";
constexpr absl::string_view kStepsByDegree =
    "torch's CPU kernel takes a step for each degree: some 6 ns";

// Of an element with bound 1e5 a reference takes a millisecond.
constexpr DeniedRow kRows[] = {
    {"native_batch_norm", DeniedIf::kEvalWithoutStatistics, "", 0,
     kNoStatistics},
    {"_native_batch_norm_legit", DeniedIf::kEvalWithoutStatistics, "", 0,
     kNoStatistics},
    {"_native_batch_norm_legit_functional", DeniedIf::kEvalWithoutStatistics,
     "", 0, kNoStatistics},
    {"_native_batch_norm_legit_no_training", DeniedIf::kEvalWithoutStatistics,
     "", 0, kNoStatistics},
    {"_batch_norm_no_update", DeniedIf::kEvalWithoutStatistics, "", 0,
     kNoStatistics},
    {"native_batch_norm_backward", DeniedIf::kEvalWithoutStatistics, "", 0,
     kNoStatistics},
    {"native_batch_norm_backward", DeniedIf::kTrainWithoutStatistics, "", 0,
     kNoStatistics},
    {"batch_norm_backward", DeniedIf::kEvalWithoutStatistics, "", 0,
     kNoStatistics},
    {"batch_norm_backward", DeniedIf::kTrainWithoutStatistics, "", 0,
     kNoStatistics},
    {"polygamma", DeniedIf::kBelow, "self", -1e5, kStepsByArgument},
    {"special_zeta", DeniedIf::kBelow, "other", -1e5, kStepsByArgument},
    {"special_laguerre_polynomial_l", DeniedIf::kAbove, "n", 1e5,
     kStepsByDegree},
    {"special_legendre_polynomial_p", DeniedIf::kAbove, "n", 1e5,
     kStepsByDegree},
};

class Arguments {
 public:
  Arguments(const c10::FunctionSchema& schema,
            absl::Span<const c10::IValue> values)
      : schema_(schema), values_(values) {}

  // Null if the schema has no such argument.
  const c10::IValue* Find(absl::string_view name) const {
    return FindArgument(schema_, values_, name);
  }

  bool IsMissing(absl::string_view name) const {
    const c10::IValue* const value = Find(name);
    return value == nullptr || value->isNone() ||
           (value->isTensor() && !value->toTensor().defined());
  }

  // An operator that has no such argument is for evaluation.
  bool IsTraining() const {
    for (const absl::string_view name : {"training", "train", "update"}) {
      const c10::IValue* const value = Find(name);
      if (value != nullptr && value->isBool()) return value->toBool();
    }
    return false;
  }

 private:
  const c10::FunctionSchema& schema_;
  const absl::Span<const c10::IValue> values_;
};

bool AnyBeyond(const c10::IValue& value, double bound, bool below) {
  if (value.isScalar()) {
    const c10::Scalar scalar = value.toScalar();
    if (scalar.isComplex()) return false;
    const double x = scalar.toDouble();
    return below ? x < bound : x > bound;
  }
  if (!value.isTensor() || !value.toTensor().defined() ||
      value.toTensor().is_complex()) {
    return false;
  }
  const at::Tensor wide = value.toTensor().to(at::kDouble);
  return (below ? wide.lt(bound) : wide.gt(bound)).any().item<bool>();
}

bool Holds(const DeniedRow& row, const Arguments& arguments) {
  switch (row.condition) {
    case DeniedIf::kEvalWithoutStatistics:
      return !arguments.IsTraining() && (arguments.IsMissing("running_mean") ||
                                         arguments.IsMissing("running_var"));
    case DeniedIf::kTrainWithoutStatistics:
      return arguments.IsTraining() && (arguments.IsMissing("save_mean") ||
                                        (arguments.IsMissing("save_invstd") &&
                                         arguments.IsMissing("save_var")));
    case DeniedIf::kBelow:
    case DeniedIf::kAbove: {
      // polygamma of order 0 and 1 has a formula for negative numbers.
      const c10::IValue* const order = arguments.Find("n");
      if (row.op == "polygamma" && order != nullptr && order->isInt() &&
          order->toInt() < 2) {
        return false;
      }
      const c10::IValue* const value = arguments.Find(row.argument);
      return value != nullptr &&
             AnyBeyond(*value, row.bound, row.condition == DeniedIf::kBelow);
    }
  }
  return false;
}

}  // namespace

absl::Span<const DeniedRow> DeniedRows() { return kRows; }

std::optional<std::string> DeniedReason(
    const OpKey& op, const c10::FunctionSchema& schema,
    absl::Span<const c10::IValue> arguments) {
  if (op.ns != "aten") return std::nullopt;
  const absl::string_view name = absl::StripSuffix(op.name, "_");
  for (const DeniedRow& row : kRows) {
    if (row.op != name) continue;
    const absl::StatusOr<bool> holds =
        StatusOrOf([&]() -> absl::StatusOr<bool> {
          return Holds(row, Arguments(schema, arguments));
        });
    if (!holds.ok()) {
      return absl::StrCat("arguments that could not be looked at: ",
                          holds.status().message());
    }
    if (*holds) return std::string(row.why);
  }
  return std::nullopt;
}

}  // namespace flaggems
