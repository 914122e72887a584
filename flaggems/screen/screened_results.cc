#include "flaggems/screen/screened_results.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/fmax.h>
#include <ATen/ops/nan_to_num.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <map>
#include <utility>

#include "absl/status/statusor.h"
#include "flaggems/aten/array_view_of.h"
#include "flaggems/aten/flat_memory.h"
#include "flaggems/aten/visit_tensors.h"
#include "flaggems/comparator/cuda/device_compare_launch.h"
#include "flaggems/core/mutex.h"
#include "flaggems/core/status_macros.h"
#include "flaggems/judge/unread_results.h"
#include "flaggems/screen/conditions_launch.h"
#include "flaggems/screen/cuda_work.h"

namespace flaggems {
namespace {

// Memory that comparisons of one stream share: they follow each other.
void* CompareScratch(const c10::cuda::CUDAStream& stream) {
  static Mutex& mutex = *new Mutex();
  // Every device has a default stream of the same handle.
  using Key = std::pair<c10::DeviceIndex, cudaStream_t>;
  static auto& scratch = *new std::map<Key, at::Tensor>();
  const MutexLock lock(&mutex);
  const Key key(stream.device_index(), stream.stream());
  const auto found = scratch.find(key);
  if (found != scratch.end()) return found->second.mutable_data_ptr();
  const at::Tensor bytes =
      EmptyFlat(DeviceCompareScratchBytes(), at::kByte,
                at::Device(at::kCUDA, stream.device_index()));
  bytes.zero_();
  return scratch.emplace(key, bytes).first->second.mutable_data_ptr();
}

// The reference's result in the dtype that `got` is compared in.
at::Tensor WantFor(const at::Tensor& got, const at::Tensor& wide) {
  const c10::ScalarType type =
      got.is_floating_point() ? c10::kDouble : got.scalar_type();
  return wide.scalar_type() == type ? wide : wide.to(type);
}

// No more than the full judge's, which find no smaller effects. Where elements
// have something in common, those that one draw leaves without an effect have
// the quantile of the others.
int DrawsOf(const Measurement& how, int64_t numel) {
  constexpr int64_t kMany = 64;
  return std::min(how.draws, how.pointwise || numel < kMany ? 3 : 1);
}

}  // namespace

bool ScreenedResults::Find(absl::Span<const FlatValue> got,
                           ReferenceRuns& runs) {
  const ReferenceRun& native = *runs.Native();
  const ReferenceRun& wide = *runs.Wide();
  if (got.size() != wide.values.size() || got.size() != native.values.size()) {
    return false;
  }
  int output = 0;
  for (size_t i = 0; i < got.size(); ++i) {
    if (got[i].list_size >= 0) continue;
    const int index = output++;
    if (got[i].steps) return false;
    if (IsUnread(call_.op, call_.before.arguments(), index) ||
        IsNothing(got[i].value)) {
      continue;
    }
    if (!got[i].value.isTensor()) {
      if (got[i].value != native.values[i].value) return false;
      continue;
    }
    const at::Tensor& tensor = got[i].value.toTensor();
    if (!wide.values[i].value.isTensor() || !tensor.device().is_cuda() ||
        !IsPlainTensor(tensor) || tensor.is_complex() || tensor.is_neg() ||
        items_.size() == kMaxScreenedValues) {
      return false;
    }
    const at::Tensor& want = wide.values[i].value.toTensor();
    if (want.sizes() != tensor.sizes()) return false;
    items_.push_back({i,
                      index,
                      tensor,
                      WantFor(tensor, want),
                      {},
                      !tensor.is_floating_point()});
  }
  return !items_.empty();
}

absl::Status ScreenedResults::Compare(ReferenceRuns& runs, bool measure,
                                      ResultSlot& slot) {
  for (size_t i = 0; i < items_.size(); ++i) {
    Item& item = items_[i];
    FoundWords* const result = &slot.values[i];
    void* const scratch = CompareScratch(stream_);
    uint32_t* const done = i + 1 == items_.size() ? &slot.done : nullptr;
    if (item.exact) {
      FG_RETURN_IF_ERROR(StatusOfLaunch(
          LaunchCompareExactly(ArrayViewOf(item.got), ArrayViewOf(item.want),
                               scratch, result, stream_.stream(), done),
          "comparing results"));
      continue;
    }
    FG_ASSIGN_OR_RETURN(const Budget budget, BudgetOf(item, runs, measure));
    FG_RETURN_IF_ERROR(StatusOfLaunch(
        LaunchCompareBudget(ArrayViewOf(item.got), ArrayViewOf(item.want),
                            budget, scratch, result, stream_.stream(), done),
        "comparing results"));
  }
  return absl::OkStatus();
}

void ScreenedResults::Release() {
  perturbed_.clear();
  for (Item& item : items_) {
    item.want = at::Tensor();
    item.conditions = at::Tensor();
  }
}

void ScreenedResults::Restore(const ReferenceRun& wide) {
  for (Item& item : items_) {
    item.want = WantFor(item.got, wide.values[item.index].value.toTensor());
  }
}

std::optional<Judgement> ScreenedResults::Read(const ResultSlot& slot) const {
  std::optional<Judgement> worst;
  for (size_t i = 0; i < items_.size(); ++i) {
    const Comparison comparison = Finish(ComparisonOf(slot.values[i]).partial);
    if (OutcomeOf(comparison.verdict) == Outcome::kFail) return std::nullopt;
    Judgement judgement;
    judgement.verdict = comparison.verdict;
    judgement.max_abs_diff = comparison.max_abs_diff;
    judgement.max_rel_diff = comparison.max_rel_diff;
    if (comparison.finite_numbers > 0) {
      judgement.mean_error_ulps = comparison.mean_error_ulps;
      judgement.rms_error_ulps = comparison.rms_error_ulps;
    }
    judgement.score = comparison.score;
    judgement.output_index = items_[i].output;
    if (!worst || IsWorse(judgement, *worst)) worst = std::move(judgement);
  }
  return worst;
}

bool ScreenedResults::AreZero(const ResultSlot& slot) const {
  for (size_t i = 0; i < items_.size(); ++i) {
    if (ComparisonOf(slot.values[i]).got_nonzero != 0) return false;
  }
  return true;
}

// What the full judge would accept too: its budget, or less.
absl::StatusOr<Budget> ScreenedResults::BudgetOf(Item& item,
                                                 ReferenceRuns& runs,
                                                 bool measure) {
  const Budget base = BaseBudget(call_, item.got, /*wide_is_native=*/false);
  Budget budget = QuickBudget(call_, base);
  if (measure && HasBudget(call_.row.op_class) &&
      call_.row.op_class != OpClass::kRound) {
    FG_RETURN_IF_ERROR(MakeConditions(item, runs, base));
    if (item.conditions.defined()) {
      budget = base;
      budget.condition = Budget::Condition::kArray;
      budget.conditions = ArrayViewOf(item.conditions);
    }
  }
  const double loss = NativeLoss(call_, item.got, base);
  const bool narrow = IsReducedPrecision(item.got.scalar_type()) ||
                      InputRoundoff(call_, item.got.scalar_type()) >= 0x1p-12;
  if (MayLoseAsNative(call_) && narrow && loss < 1) {
    budget.a += loss / budget.unit_roundoff;
  }
  return budget;
}

// The condition of the class (AddCondition() of judge/numbers.cc).
absl::Status ScreenedResults::MakeConditions(Item& item, ReferenceRuns& runs,
                                             const Budget& base) {
  switch (call_.row.op_class) {
    case OpClass::kSum: {
      const absl::StatusOr<ReferenceRun>& sums = runs.Magnitudes();
      if (absl::IsResourceExhausted(sums.status())) return sums.status();
      if (!sums.ok()) return Measure(item, runs, base);
      item.conditions = sums->values[item.index].value.toTensor().contiguous();
      return absl::OkStatus();
    }
    case OpClass::kInput: {
      at::Tensor conditions = item.want.abs();
      VisitTensors(call_.before.arguments(), [&](const at::Tensor& tensor) {
        if (tensor.is_floating_point() && tensor.device().is_cuda() &&
            tensor.sizes() == conditions.sizes()) {
          conditions = conditions.fmax(tensor.to(c10::kDouble).abs());
        }
      });
      item.conditions = conditions.contiguous();
      return absl::OkStatus();
    }
    case OpClass::kScale:
      // What overflows excuses nothing.
      item.conditions = item.want.square()
                            .mean()
                            .sqrt()
                            .nan_to_num(/*nan=*/0, /*posinf=*/0, /*neginf=*/0)
                            .expand(item.want.sizes())
                            .contiguous();
      return absl::OkStatus();
    default:
      return Measure(item, runs, base);
  }
}

absl::Status ScreenedResults::Measure(Item& item, ReferenceRuns& runs,
                                      const Budget& base) {
  const Measurement how = MeasurementOf(call_, item.got, base);
  const at::Tensor want = item.want.contiguous();
  at::Tensor conditions =
      EmptyFlat(want.numel(), at::kDouble, want.device()).view(want.sizes());
  auto* const c = static_cast<double*>(conditions.mutable_data_ptr());
  const auto* const w = static_cast<const double*>(want.const_data_ptr());
  bool first = true;
  for (int draw = 0; draw < DrawsOf(how, want.numel()); ++draw) {
    const ReferenceRun* const run = PerturbedRun(runs, how.step, draw);
    if (run == nullptr) continue;
    const at::Tensor moved =
        WantFor(item.got, run->values[item.index].value.toTensor())
            .contiguous();
    if (moved.sizes() != want.sizes()) continue;
    FG_RETURN_IF_ERROR(StatusOfLaunch(
        LaunchEffect(w, static_cast<const double*>(moved.const_data_ptr()), c,
                     want.numel(), first, stream_.stream()),
        "measuring the condition"));
    first = false;
  }
  if (first) return absl::OkStatus();  // the quick budget has to do
  ConditionsFormula formula;
  formula.scale = how.scale;
  formula.underflow = how.underflow;
  formula.unit_roundoff = base.unit_roundoff;
  formula.pointwise = how.pointwise;
  const at::Tensor quantiles = EmptyFlat(3, at::kDouble, want.device());
  FG_RETURN_IF_ERROR(StatusOfLaunch(
      LaunchConditions(w, c, want.numel(), formula,
                       static_cast<double*>(quantiles.mutable_data_ptr()),
                       stream_.stream()),
      "measuring the condition"));
  item.conditions = std::move(conditions);
  return absl::OkStatus();
}

// One of the runs that all results share; null if the operator refuses it.
const ReferenceRun* ScreenedResults::PerturbedRun(ReferenceRuns& runs,
                                                  double step, int draw) {
  auto found = perturbed_.find({step, draw});
  if (found == perturbed_.end()) {
    found =
        perturbed_.emplace(std::pair(step, draw), runs.Perturbed(step, draw))
            .first;
  }
  return found->second.ok() ? &*found->second : nullptr;
}

}  // namespace flaggems
