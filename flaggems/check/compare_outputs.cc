#include "flaggems/check/compare_outputs.h"

#include <ATen/core/Tensor.h>

#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "flaggems/aten/array_view_of.h"
#include "flaggems/aten/at_parallel_for.h"
#include "flaggems/aten/dtype_of.h"
#include "flaggems/aten/status_of_exception.h"
#include "flaggems/aten/visit_tensors.h"
#include "flaggems/judge/describe_comparison.h"
#include "flaggems/judge/flat_values.h"

namespace flaggems {
namespace {

Judgement CompareTensors(const at::Tensor& got, const at::Tensor& want,
                         const Tolerance& tolerance) {
  const std::string types = absl::StrCat(
      "got ", TypeAndShape(got), ", the reference has ", TypeAndShape(want));
  if (got.scalar_type() != want.scalar_type()) {
    return Differs(Verdict::kFailDtype, types);
  }
  if (got.sizes() != want.sizes()) return Differs(Verdict::kFailShape, types);
  if (!IsPlainTensor(got) || !IsPlainTensor(want)) {
    return Differs(Verdict::kErrorComparison,
                   "an output is not a plain strided tensor");
  }
  const at::Tensor host_got = ToHost(got);
  const at::Tensor host_want = ToHost(want);
  AtParallelFor threads;
  const absl::StatusOr<Comparison> comparison = Compare(
      ArrayViewOf(host_got), ArrayViewOf(host_want), tolerance, &threads);
  if (!comparison.ok()) {
    return Differs(Verdict::kErrorComparison,
                   std::string(comparison.status().message()));
  }
  return DescribeComparison(*comparison, host_got, host_want);
}

Judgement CompareLeaf(const c10::IValue& got, const c10::IValue& want,
                      const Tolerance& tolerance) {
  if (IsNothing(got) || IsNothing(want)) {
    if (IsNothing(got) && IsNothing(want)) {
      Judgement nothing;
      nothing.verdict = Verdict::kUntrustedEmpty;
      return nothing;
    }
    return Differs(Verdict::kFailCount,
                   IsNothing(got) ? "no output where the reference has one"
                                  : "an output where the reference has none");
  }
  if (!IsNumberOrTensor(got) || !IsNumberOrTensor(want)) {
    return Differs(Verdict::kErrorComparison,
                   absl::StrCat("no rule to compare ", got.tagKind(), " with ",
                                want.tagKind()));
  }
  return CompareTensors(AsTensor(got), AsTensor(want), tolerance);
}

Judgement CompareAll(absl::Span<const c10::IValue> got,
                     absl::Span<const c10::IValue> want,
                     const Tolerance& tolerance,
                     const std::function<bool(int output)>& is_unread) {
  const std::vector<FlatValue> got_leaves = FlattenValues(got);
  const std::vector<FlatValue> want_leaves = FlattenValues(want);
  const auto count_differs = [&] {
    return Differs(Verdict::kFailCount, absl::StrCat(got_leaves.size(),
                                                     " outputs and lists, the "
                                                     "reference has ",
                                                     want_leaves.size()));
  };
  if (got_leaves.size() != want_leaves.size()) return count_differs();
  Judgement worst;
  worst.verdict = Verdict::kUntrustedEmpty;
  bool any = false;
  int index = 0;
  for (size_t i = 0; i < got_leaves.size(); ++i) {
    if (got_leaves[i].list_size != want_leaves[i].list_size) {
      return count_differs();
    }
    if (got_leaves[i].list_size >= 0) continue;
    if (is_unread(index)) {
      ++index;
      continue;
    }
    Judgement leaf =
        CompareLeaf(got_leaves[i].value, want_leaves[i].value, tolerance);
    leaf.output_index = index++;
    if (!any || IsWorse(leaf, worst)) worst = std::move(leaf);
    any = true;
  }
  return worst;
}

}  // namespace

Judgement CompareOutputs(absl::Span<const c10::IValue> got,
                         absl::Span<const c10::IValue> want,
                         const Tolerance& tolerance,
                         const std::function<bool(int output)>& is_unread) {
  try {
    return CompareAll(got, want, tolerance, is_unread);
  } catch (...) {
    return ErrorOf(StatusOfException(std::current_exception()));
  }
}

}  // namespace flaggems
