#include "flaggems/judge/reference_runs.h"

#include <ATen/CPUGeneratorImpl.h>
#include <ATen/core/enum_tag.h>
#include <ATen/ops/empty.h>
#include <omp.h>

#include <mutex>
#include <utility>

#include "flaggems/aten/status_of_exception.h"
#include "flaggems/aten/visit_tensors.h"
#include "flaggems/core/fork_section.h"
#include "flaggems/core/status_macros.h"
#include "flaggems/reference/definitions.h"

namespace flaggems {
namespace {

// Leaves torch's default generator as it was.
class GeneratorStateGuard {
 public:
  GeneratorStateGuard()
      : generator_(at::detail::getDefaultCPUGenerator()), state_(State()) {}
  ~GeneratorStateGuard() {
    const std::lock_guard<std::mutex> lock(generator_.mutex());
    generator_.set_state(state_);
  }
  GeneratorStateGuard(const GeneratorStateGuard&) = delete;
  GeneratorStateGuard& operator=(const GeneratorStateGuard&) = delete;

 private:
  at::Tensor State() {
    const std::lock_guard<std::mutex> lock(generator_.mutex());
    return generator_.get_state();
  }

  at::Generator generator_;
  const at::Tensor state_;
};

// This thread's parallel loops have another number of threads; not in a forked
// child, which may start none.
class OtherThreadCount {
 public:
  OtherThreadCount() : count_(omp_get_max_threads()) {
    if (!IsForkedChild()) omp_set_num_threads(count_ == 1 ? 2 : 1);
  }
  ~OtherThreadCount() { omp_set_num_threads(count_); }
  OtherThreadCount(const OtherThreadCount&) = delete;
  OtherThreadCount& operator=(const OtherThreadCount&) = delete;

 private:
  const int count_;
};

bool IsRandom(const KernelCall& call) {
  return call.op.traits.nondeterministic_seeded ||
         call.row.op_class == OpClass::kRandom;
}

// The operator makes floating numbers of integers alone.
bool TurnsIntegersIntoFloats(const KernelCall& call,
                             const absl::StatusOr<ReferenceRun>& native) {
  if (!native.ok() || !call.op.handle.hasTag(at::Tag::pointwise)) return false;
  bool floating_output = false;
  for (const FlatValue& value : native->values) {
    if (value.value.isTensor() && value.value.toTensor().defined()) {
      const at::Tensor& tensor = value.value.toTensor();
      floating_output |= tensor.is_floating_point() || tensor.is_complex();
    }
  }
  bool floating_input = false;
  VisitTensors(call.before.arguments(), [&](const at::Tensor& tensor) {
    floating_input |= (tensor.is_floating_point() || tensor.is_complex()) &&
                      !tensor.unsafeGetTensorImpl()->is_wrapped_number();
  });
  return floating_output && !floating_input;
}

// It fills a result from numbers alone, in 0-d tensors or not.
bool IsFactory(const KernelCall& call) {
  bool from_numbers = !call.op.handle.hasTag(at::Tag::pointwise);
  const std::vector<c10::IValue>& arguments = call.before.arguments();
  for (size_t i = 0; i < arguments.size(); ++i) {
    if (call.op.writable[i]) continue;
    VisitTensors(arguments[i], [&](const at::Tensor& tensor) {
      from_numbers &= tensor.dim() == 0;
    });
  }
  return from_numbers;
}

std::optional<c10::ScalarType> FactoryType(
    const absl::StatusOr<ReferenceRun>& native) {
  if (!native.ok()) return std::nullopt;
  for (const FlatValue& value : native->values) {
    if (!value.value.isTensor() || !value.value.toTensor().defined()) continue;
    const at::Tensor& tensor = value.value.toTensor();
    if (tensor.is_floating_point()) return c10::kDouble;
    if (tensor.is_complex()) return c10::kComplexDouble;
  }
  return std::nullopt;
}

}  // namespace

std::vector<FlatValue> ValuesOf(absl::Span<const c10::IValue> outputs,
                                absl::Span<const c10::IValue> arguments,
                                const std::vector<bool>& writable) {
  std::vector<FlatValue> values = FlattenValues(outputs);
  for (size_t i = 0; i < arguments.size(); ++i) {
    if (!writable[i]) continue;
    for (FlatValue& value : FlattenValues(arguments.subspan(i, 1))) {
      values.push_back(std::move(value));
    }
  }
  return values;
}

ReferenceRuns::ReferenceRuns(const KernelCall& call)
    : call_(call),
      wide_reference_(WideReference(call.op.handle, call.reference)) {}

absl::StatusOr<ReferenceRun> ReferenceRuns::Run(
    const Reference& reference, const ReferenceArgumentOptions& options) {
  ReferenceRun run;
  FG_ASSIGN_OR_RETURN(run.arguments,
                      ReferenceArguments(call_.op.handle.schema(),
                                         call_.before.arguments(), options));
  std::optional<GeneratorStateGuard> keep_state;
  if (IsRandom(call_)) keep_state.emplace();
  FG_ASSIGN_OR_RETURN(run.outputs,
                      reference.Compute(AllWithOwnLists(run.arguments)));
  run.values = ValuesOf(run.outputs, run.arguments, call_.op.writable);
  return run;
}

const absl::StatusOr<ReferenceRun>& ReferenceRuns::Native() {
  if (!native_) {
    native_ = Run(*call_.reference, NativeOptions());
  }
  return *native_;
}

// What a golden function writes is its own affair.
bool ReferenceRuns::MustCopy() const {
  return call_.op.traits.is_mutable || !call_.reference->is_operator();
}

// The row speaks of the operator's own kernel.
bool ReferenceRuns::Widens() const {
  return call_.reference->is_operator() ? call_.row.widening != Widening::kNever
                                        : call_.reference->widens();
}

ReferenceArgumentOptions ReferenceRuns::NativeOptions() const {
  ReferenceArgumentOptions options;
  options.widen = false;
  options.copy = MustCopy();
  return options;
}

ReferenceArgumentOptions ReferenceRuns::WideOptions() {
  ReferenceArgumentOptions options;
  options.widening = call_.row.widening;
  options.widen = Widens();
  options.widen_integers = TurnsIntegersIntoFloats(call_, Native());
  options.factory_dtype = FactoryType(Native());
  options.copy = MustCopy();
  return options;
}

const absl::StatusOr<ReferenceRun>& ReferenceRuns::Wide() {
  if (!wide_) {
    wide_ = Run(*wide_reference_, WideOptions());
    // Some operators have no float64 kernel, or none for what the arguments
    // became. A golden function that does not keep its promise is an error.
    if (!wide_->ok() && call_.reference->is_operator() &&
        !absl::IsResourceExhausted(wide_->status()) && Native().ok()) {
      wide_ = Native();
      wide_is_native_ = true;
    } else {
      wide_is_native_ = !Widens();
    }
  }
  return *wide_;
}

bool ReferenceRuns::wide_is_native() {
  Wide().status().IgnoreError();
  return wide_is_native_;
}

absl::StatusOr<ReferenceRun> ReferenceRuns::WideAgain() {
  const OtherThreadCount other;
  if (wide_is_native()) {
    return Run(*call_.reference, NativeOptions());
  }
  return Run(*wide_reference_, WideOptions());
}

absl::StatusOr<ReferenceRun> ReferenceRuns::WideWithScalars(
    c10::ScalarType type) {
  ReferenceArgumentOptions options = WideOptions();
  options.scalar_type = type;
  return Run(*wide_reference_, options);
}

const absl::StatusOr<ReferenceRun>& ReferenceRuns::Magnitudes() {
  if (!magnitudes_) {
    ReferenceArgumentOptions options = WideOptions();
    options.elements = ReferenceArgumentOptions::Elements::kMagnitude;
    const std::string& name = call_.op.traits.key.name;
    // a - b: the operator on |a| and -|b| adds. rsub: b - a.
    if (name == "sub" || name == "sub_" || name == "_foreach_sub" ||
        name == "_foreach_sub_") {
      options.negative_argument = 1;
    } else if (name == "rsub") {
      options.negative_argument = 0;
    }
    magnitudes_ = Run(*wide_reference_, options);
  }
  return *magnitudes_;
}

absl::StatusOr<ReferenceRun> ReferenceRuns::Perturbed(double step, int draw) {
  ReferenceArgumentOptions options = WideOptions();
  options.elements = ReferenceArgumentOptions::Elements::kPerturb;
  options.step = step;
  options.seed = static_cast<uint64_t>(draw) + 1;
  options.perturb_numbers = IsFactory(call_);
  return Run(*wide_reference_, options);
}

}  // namespace flaggems
