#ifndef FLAGGEMS_JUDGE_REFERENCE_RUNS_H_
#define FLAGGEMS_JUDGE_REFERENCE_RUNS_H_

// The reference's runs of one call, each made when it is first asked for.

#include <ATen/core/ivalue.h>
#include <c10/core/ScalarType.h>

#include <cstdint>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "flaggems/judge/flat_values.h"
#include "flaggems/judge/kernel_call.h"
#include "flaggems/reference/reference_arguments.h"

namespace flaggems {

struct ReferenceRun {
  std::vector<c10::IValue> arguments;  // after the run
  std::vector<c10::IValue> outputs;
  // Outputs, then arguments that were written.
  std::vector<FlatValue> values;
};

// The values of a call as ReferenceRun::values has them.
std::vector<FlatValue> ValuesOf(absl::Span<const c10::IValue> outputs,
                                absl::Span<const c10::IValue> arguments,
                                const std::vector<bool>& writable);

// For one thread; the call outlives it. Each run costs what the operator does
// in that dtype. Pointers stay valid. The caller holds a CheckScope; torch's
// default generator is left as it was.
class ReferenceRuns {
 public:
  explicit ReferenceRuns(const KernelCall& call);

  // The operator on the arguments as they were: what dtypes, shapes, strides
  // and sharing the result has, and whether the call is legal.
  const absl::StatusOr<ReferenceRun>& Native();

  // Native() is this from now on, without a run: of a call whose results are
  // known to have the dtypes, sizes and sharing that the operator promises.
  void AssumeNative(ReferenceRun run) { native_ = std::move(run); }

  // In float64, unrounded.
  const absl::StatusOr<ReferenceRun>& Wide();
  // The same with another number of threads.
  absl::StatusOr<ReferenceRun> WideAgain();
  // The same with Python numbers rounded to `type` first.
  absl::StatusOr<ReferenceRun> WideWithScalars(c10::ScalarType type);
  // On the magnitudes of the inputs, so that summands cannot cancel.
  const absl::StatusOr<ReferenceRun>& Magnitudes();
  // With inputs times 1 + step * r, 1/2 <= |r| <= 1; `draw` picks the r.
  absl::StatusOr<ReferenceRun> Perturbed(double step, int draw);

  // Whether Wide() was computed in the arguments' own dtype, because it cannot
  // be in float64: then its result is rounded too.
  bool wide_is_native();

 private:
  bool MustCopy() const;
  bool Widens() const;
  ReferenceArgumentOptions NativeOptions() const;
  ReferenceArgumentOptions WideOptions();
  absl::StatusOr<ReferenceRun> Run(const Reference& reference,
                                   const ReferenceArgumentOptions& options);

  const KernelCall& call_;
  const std::shared_ptr<const Reference> wide_reference_;
  std::optional<absl::StatusOr<ReferenceRun>> native_;
  std::optional<absl::StatusOr<ReferenceRun>> wide_;
  std::optional<absl::StatusOr<ReferenceRun>> magnitudes_;
  bool wide_is_native_ = false;
};

}  // namespace flaggems

#endif  // FLAGGEMS_JUDGE_REFERENCE_RUNS_H_
