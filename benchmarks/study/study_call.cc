#include "benchmarks/study/study_call.h"

#include <ATen/core/dispatch/Dispatcher.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "flaggems/aten/dtype_of.h"
#include "flaggems/aten/status_of_exception.h"
#include "flaggems/comparator/ulp.h"
#include "flaggems/core/status_macros.h"
#include "flaggems/policy/budget_table.h"
#include "flaggems/reference/native_cpu_reference.h"

namespace flaggems::study {
namespace {

absl::StatusOr<c10::OperatorHandle> OperatorOf(const char* name) {
  const std::pair<std::string, std::string> parts =
      absl::StrSplit(name, absl::MaxSplits('.', 1));
  const auto op =
      c10::Dispatcher::singleton().findSchema({parts.first, parts.second});
  if (!op) {
    return absl::NotFoundError(
        absl::StrCat("torch has no operator ", name, "; correct the case"));
  }
  return *op;
}

absl::StatusOr<std::vector<c10::IValue>> WithDefaults(
    std::vector<c10::IValue> values, const c10::FunctionSchema& schema) {
  for (size_t i = values.size(); i < schema.arguments().size(); ++i) {
    const c10::Argument& argument = schema.arguments()[i];
    if (!argument.default_value()) {
      return absl::InvalidArgumentError(
          absl::StrCat("the call leaves out ", argument.name(),
                       ", which has no default; give it in the case's draw"));
    }
    values.push_back(*argument.default_value());
  }
  return values;
}

Arguments Widened(const std::vector<c10::IValue>& arguments) {
  std::vector<c10::IValue> wide = arguments;
  for (c10::IValue& value : wide) {
    if (value.isTensor()) value = value.toTensor().to(at::kFloat, false, true);
  }
  return Arguments(std::move(wide));
}

std::vector<at::Tensor> TensorsOf(const std::vector<c10::IValue>& values,
                                  bool wide) {
  std::vector<at::Tensor> tensors;
  for (const c10::IValue& value : values) {
    const at::Tensor tensor = value.toTensor();
    tensors.push_back((wide ? tensor.to(at::kDouble) : tensor).contiguous());
  }
  return tensors;
}

}  // namespace

absl::StatusOr<std::unique_ptr<StudyCall>> StudyCall::Make(
    const StudyCase& study_case, uint64_t seed, c10::ScalarType dtype) {
  FG_ASSIGN_OR_RETURN(const c10::OperatorHandle op, OperatorOf(study_case.op));
  std::unique_ptr<StudyCall> call(new StudyCall(op));
  FG_ASSIGN_OR_RETURN(const std::shared_ptr<const Reference> reference,
                      NativeCpuReference(op));
  Draw draw(seed, dtype);
  FG_ASSIGN_OR_RETURN(
      call->arguments_,
      WithDefaults(study_case.draw(draw).values(), op.schema()));
  FG_ASSIGN_OR_RETURN(call->before_, Snapshot::Take(call->arguments_));
  call->call_ =
      std::make_unique<KernelCall>(KernelCall{call->op_,
                                              reference,
                                              FindBudget(call->op_.traits.key),
                                              call->before_,
                                              call->arguments_,
                                              {}});
  call->runs_ = std::make_unique<ReferenceRuns>(*call->call_);
  FG_RETURN_IF_ERROR(call->runs_->Native().status());
  FG_RETURN_IF_ERROR(call->runs_->Wide().status());
  call->native_ = TensorsOf(call->runs_->Native()->outputs, false);
  call->want_ = TensorsOf(call->runs_->Wide()->outputs, true);

  FG_ASSIGN_OR_RETURN(const Results results,
                      StatusOrOf([&]() -> absl::StatusOr<Results> {
                        return study_case.kernel(Widened(call->arguments_));
                      }));
  if (results.tensors.size() != call->native_.size()) {
    return absl::InvalidArgumentError(absl::StrCat(
        "the kernel \"", study_case.kind, "\" gives ", results.tensors.size(),
        " results and ", study_case.op, " has ", call->native_.size()));
  }
  for (size_t i = 0; i < results.tensors.size(); ++i) {
    call->outputs_.push_back(
        results.tensors[i].to(call->native_[i].scalar_type()).contiguous());
    call->returned_.emplace_back(call->outputs_.back());
  }
  call->call_->outputs = call->returned_;
  return call;
}

double StudyCall::MaxUlps() const {
  double most = 0;
  for (size_t i = 0; i < outputs_.size(); ++i) {
    const c10::ScalarType type = outputs_[i].scalar_type();
    const auto format = FloatFormatOf(DTypeOf(type));
    const at::Tensor got = outputs_[i].to(at::kDouble);
    const at::Tensor right = want_[i].to(type).to(at::kDouble);
    const double* x = got.const_data_ptr<double>();
    const double* y = right.const_data_ptr<double>();
    for (int64_t k = 0; k < got.numel(); ++k) {
      if (x[k] == y[k]) continue;
      if (!format || !std::isfinite(x[k]) || !std::isfinite(y[k])) {
        return std::numeric_limits<double>::infinity();
      }
      most = std::max(most,
                      std::fabs(x[k] - y[k]) / Ulp(*format, std::fabs(y[k])));
    }
  }
  return most;
}

}  // namespace flaggems::study
