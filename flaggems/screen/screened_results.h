#ifndef FLAGGEMS_SCREEN_SCREENED_RESULTS_H_
#define FLAGGEMS_SCREEN_SCREENED_RESULTS_H_

// The results of one call beside those of its float64 reference, both in the
// memory of a CUDA device.

#include <ATen/core/Tensor.h>
#include <c10/cuda/CUDAStream.h>

#include <cstddef>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "flaggems/comparator/budget.h"
#include "flaggems/judge/flat_values.h"
#include "flaggems/judge/judgement.h"
#include "flaggems/judge/kernel_call.h"
#include "flaggems/judge/reference_runs.h"
#include "flaggems/judge/value_budget.h"
#include "flaggems/screen/result_slots.h"

namespace flaggems {

// For one thread. What it compares nobody else writes. The caller holds a
// CheckScope; torch throws.
class ScreenedResults {
 public:
  // The call outlives the results. `stream` is the current one in every
  // function.
  ScreenedResults(const KernelCall& call, c10::cuda::CUDAStream stream)
      : call_(call), stream_(stream) {}

  // `got` as ValuesOf() makes it. False: a result that no screen compares.
  bool Find(absl::Span<const FlatValue> got, ReferenceRuns& runs);
  bool empty() const { return items_.empty(); }

  // Puts one comparison a result into the stream, the last of which says that
  // the slot is done. `measure`: with the condition
  // of the operator's class, else within what needs none.
  // kUnimplemented: a result that the device's comparator does not know.
  absl::Status Compare(ReferenceRuns& runs, bool measure, ResultSlot& slot);

  // Gives back what the stream needs no more once it has come this far, and
  // takes it from another run.
  void Release();
  void Restore(const ReferenceRun& wide);

  // What the slot says once the comparisons are done. nullopt: a result may be
  // wrong.
  std::optional<Judgement> Read(const ResultSlot& slot) const;
  // All results were zero.
  bool AreZero(const ResultSlot& slot) const;

 private:
  struct Item {
    size_t index;  // in ReferenceRun::values
    int output;    // as Judgement::output_index counts
    at::Tensor got;
    at::Tensor want;  // float64, or of got's dtype
    at::Tensor conditions;
    bool exact;  // integers and bools
  };

  absl::StatusOr<Budget> BudgetOf(Item& item, ReferenceRuns& runs,
                                  bool measure);
  absl::Status MakeConditions(Item& item, ReferenceRuns& runs,
                              const Budget& base);
  absl::Status Measure(Item& item, ReferenceRuns& runs, const Budget& base);
  const ReferenceRun* PerturbedRun(ReferenceRuns& runs, double step, int draw);

  const KernelCall& call_;
  const c10::cuda::CUDAStream stream_;
  std::vector<Item> items_;
  std::map<std::pair<double, int>, absl::StatusOr<ReferenceRun>> perturbed_;
};

}  // namespace flaggems

#endif  // FLAGGEMS_SCREEN_SCREENED_RESULTS_H_
