#include "flaggems/check/compare_outputs.h"

#include <ATen/core/Tensor.h>
#include <ATen/ops/scalar_tensor.h>

#include <limits>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "flaggems/aten/array_view_of.h"
#include "flaggems/aten/at_parallel_for.h"
#include "flaggems/aten/dtype_of.h"
#include "flaggems/aten/status_of_exception.h"
#include "flaggems/aten/visit_tensors.h"
#include "flaggems/core/value_desc.h"

namespace flaggems {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

// Lists and tuples flattened; a list is preceded by its length, so that
// [[a], [b]] and [[a, b], []] differ.
struct Leaf {
  const c10::IValue* value = nullptr;
  int64_t list_size = -1;  // >= 0: the start of a list
};

void Flatten(const c10::IValue& value, std::vector<Leaf>& leaves) {
  c10::ArrayRef<c10::IValue> items;
  if (value.isList()) {
    items = value.toListRef();
  } else if (value.isTuple()) {
    items = value.toTupleRef().elements();
  } else {
    leaves.push_back({&value, -1});
    return;
  }
  leaves.push_back({nullptr, static_cast<int64_t>(items.size())});
  for (const c10::IValue& item : items) Flatten(item, leaves);
}

std::vector<Leaf> Flatten(absl::Span<const c10::IValue> values) {
  std::vector<Leaf> leaves;
  for (const c10::IValue& value : values) Flatten(value, leaves);
  return leaves;
}

bool IsNothing(const c10::IValue& value) {
  return value.isNone() || (value.isTensor() && !value.toTensor().defined());
}

// A number as a 0-d tensor, so that there is one rule for both.
at::Tensor AsTensor(const c10::IValue& value) {
  if (value.isTensor()) return value.toTensor();
  const c10::Scalar scalar = value.toScalar();
  return at::scalar_tensor(scalar, at::TensorOptions(scalar.type()));
}

bool IsNumberOrTensor(const c10::IValue& value) {
  return value.isTensor() || value.isScalar();
}

// On the CPU, with conjugate and negative bits carried out.
at::Tensor ToHost(const at::Tensor& tensor) {
  at::Tensor host = tensor.detach();
  if (!host.device().is_cpu()) host = host.to(at::kCPU);
  if (host.is_conj()) host = host.resolve_conj();
  if (host.is_neg()) host = host.resolve_neg();
  return host;
}

std::vector<int64_t> IndexOf(int64_t position, c10::IntArrayRef sizes) {
  std::vector<int64_t> index(sizes.size());
  for (size_t d = sizes.size(); d-- > 0;) {
    index[d] = position % sizes[d];
    position /= sizes[d];
  }
  return index;
}

OutputComparison Differs(Verdict verdict, std::string message) {
  OutputComparison result;
  result.verdict = verdict;
  result.max_abs_diff = kNan;
  result.max_rel_diff = kNan;
  result.message = std::move(message);
  return result;
}

std::string TypeAndShape(const at::Tensor& tensor) {
  return FormatValue(
      ValueDesc::Tensor(DTypeOf(tensor.scalar_type()), tensor.sizes().vec()));
}

OutputComparison CompareTensors(const at::Tensor& got, const at::Tensor& want,
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
  const ArrayView got_view = ArrayViewOf(host_got);
  const ArrayView want_view = ArrayViewOf(host_want);
  AtParallelFor threads;
  const absl::StatusOr<Comparison> comparison =
      Compare(got_view, want_view, tolerance, &threads);
  if (!comparison.ok()) {
    return Differs(Verdict::kErrorComparison,
                   std::string(comparison.status().message()));
  }
  OutputComparison result;
  result.verdict = comparison->verdict;
  result.max_abs_diff = comparison->max_abs_diff;
  result.max_rel_diff = comparison->max_rel_diff;
  result.score = comparison->score;
  if (comparison->worst >= 0) {
    result.worst_index = IndexOf(comparison->worst, host_want.sizes());
    result.got = FormatElement(got_view, comparison->worst);
    result.want = FormatElement(want_view, comparison->worst);
  }
  return result;
}

OutputComparison CompareLeaf(const c10::IValue& got, const c10::IValue& want,
                             const Tolerance& tolerance) {
  if (IsNothing(got) || IsNothing(want)) {
    if (IsNothing(got) && IsNothing(want)) {
      OutputComparison nothing;
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

// Which of two verdicts says more; higher is worse.
int Severity(Verdict verdict) {
  switch (OutcomeOf(verdict)) {
    case Outcome::kFail:
      // The order of the enumerators, reversed: what makes elements
      // incomparable is worse than an element.
      switch (verdict) {
        case Verdict::kFailCount:
          return 9;
        case Verdict::kFailDtype:
          return 8;
        case Verdict::kFailShape:
          return 7;
        case Verdict::kFailSpecial:
          return 6;
        default:
          return 5;
      }
    case Outcome::kError:
      return 4;
    case Outcome::kPass:
      return 3;
    case Outcome::kUntrusted:
      return 2;
    case Outcome::kSkip:
      return 1;
  }
  return 0;
}

bool IsWorse(const OutputComparison& a, const OutputComparison& b) {
  const int severity_a = Severity(a.verdict);
  const int severity_b = Severity(b.verdict);
  if (severity_a != severity_b) return severity_a > severity_b;
  return a.score.value_or(0) > b.score.value_or(0);
}

OutputComparison CompareAll(absl::Span<const c10::IValue> got,
                            absl::Span<const c10::IValue> want,
                            const Tolerance& tolerance) {
  const std::vector<Leaf> got_leaves = Flatten(got);
  const std::vector<Leaf> want_leaves = Flatten(want);
  const auto count_differs = [&] {
    return Differs(Verdict::kFailCount, absl::StrCat(got_leaves.size(),
                                                     " outputs and lists, the "
                                                     "reference has ",
                                                     want_leaves.size()));
  };
  if (got_leaves.size() != want_leaves.size()) return count_differs();
  OutputComparison worst;
  worst.verdict = Verdict::kUntrustedEmpty;
  bool any = false;
  int index = 0;
  for (size_t i = 0; i < got_leaves.size(); ++i) {
    if (got_leaves[i].list_size != want_leaves[i].list_size) {
      return count_differs();
    }
    if (got_leaves[i].list_size >= 0) continue;
    OutputComparison leaf =
        CompareLeaf(*got_leaves[i].value, *want_leaves[i].value, tolerance);
    leaf.output_index = index++;
    if (!any || IsWorse(leaf, worst)) worst = std::move(leaf);
    any = true;
  }
  return worst;
}

}  // namespace

OutputComparison CompareOutputs(absl::Span<const c10::IValue> got,
                                absl::Span<const c10::IValue> want,
                                const Tolerance& tolerance) {
  try {
    return CompareAll(got, want, tolerance);
  } catch (...) {
    const absl::Status status = StatusOfException(std::current_exception());
    return Differs(absl::IsResourceExhausted(status)
                       ? Verdict::kErrorOutOfMemory
                       : Verdict::kErrorComparison,
                   std::string(status.message()));
  }
}

}  // namespace flaggems
