#ifndef BENCHMARKS_STUDY_STUDY_CALL_H_
#define BENCHMARKS_STUDY_STUDY_CALL_H_

// One call of a case, with what torch's own kernel and float64 give for it.

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "benchmarks/study/study_case.h"
#include "flaggems/aten/snapshot.h"
#include "flaggems/judge/kernel_call.h"
#include "flaggems/judge/reference_runs.h"

namespace flaggems::study {

// For one thread, which holds a CheckScope.
class StudyCall {
 public:
  // Draws the arguments. kNotFound: no such operator; kInvalidArgument: a
  // case whose kernel and arguments do not fit the operator.
  static absl::StatusOr<std::unique_ptr<StudyCall>> Make(
      const StudyCase& study_case, uint64_t seed, c10::ScalarType dtype);

  // By output. `outputs` are the kernel's, rounded into the output's dtype;
  // `native` are those of torch's CPU kernel; `want` float64, unrounded.
  const std::vector<at::Tensor>& outputs() const { return outputs_; }
  const std::vector<at::Tensor>& native() const { return native_; }
  const std::vector<at::Tensor>& want() const { return want_; }

  // Of the kernel, for JudgeCall().
  const KernelCall& kernel_call() const { return *call_; }
  ReferenceRuns& runs() { return *runs_; }

  // How far an output is from the correctly rounded reference at most, in
  // steps of the output's dtype there. Inf where one of them is not finite.
  double MaxUlps() const;

 private:
  explicit StudyCall(const c10::OperatorHandle& op) : op_(op) {}

  JudgedOp op_;
  std::vector<c10::IValue> arguments_;
  Snapshot before_;
  std::vector<at::Tensor> outputs_, native_, want_;
  std::vector<c10::IValue> returned_;
  std::unique_ptr<KernelCall> call_;
  std::unique_ptr<ReferenceRuns> runs_;
};

}  // namespace flaggems::study

#endif  // BENCHMARKS_STUDY_STUDY_CALL_H_
