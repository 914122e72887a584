#include "flaggems/judge/meaning.h"

#include <ATen/TensorOperators.h>
#include <ATen/core/Tensor.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/full_like.h>
#include <ATen/ops/ones_like.h>
#include <ATen/ops/where.h>
#include <ATen/ops/zeros_like.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "flaggems/judge/flat_values.h"
#include "flaggems/judge/linalg_meaning.h"
#include "flaggems/judge/meaning_view.h"
#include "flaggems/policy/meaning_table.h"

namespace flaggems {
namespace {

// Equal numbers, or both NaN.
at::Tensor Same(const at::Tensor& a, const at::Tensor& b) {
  at::Tensor same = a.eq(b);
  if (a.is_floating_point() || a.is_complex()) {
    same = same.logical_or(a.isnan().logical_and(b.isnan()));
  }
  return same;
}

bool AllSame(const at::Tensor& a, const at::Tensor& b) {
  return a.sizes() == b.sizes() && Same(a, b).all().item<bool>();
}

std::string At(const at::Tensor& wrong) {
  const at::Tensor where = wrong.nonzero();
  if (where.numel() == 0) return "";
  const at::Tensor first = where[0];
  std::vector<std::string> index;
  for (int64_t d = 0; d < first.numel(); ++d) {
    index.push_back(absl::StrCat(first[d].item<int64_t>()));
  }
  std::string text = " at (";
  for (size_t d = 0; d < index.size(); ++d) {
    absl::StrAppend(&text, d == 0 ? "" : ", ", index[d]);
  }
  return text + ")";
}

class MeaningJudge : private MeaningView {
 public:
  MeaningJudge(const KernelCall& call, ReferenceRuns& runs)
      : MeaningView(call, runs) {}

  std::optional<BrokenMeaning> Judge() {
    if (!runs_.Native().ok()) return std::nullopt;
    const Meaning meaning = MeaningOf(call_.op.traits.key);
    switch (meaning) {
      case Meaning::kNone:
        return std::nullopt;
      case Meaning::kIndexOfValue:
        return IndexOfValue();
      case Meaning::kIndexOfExtreme:
        return IndexOfExtreme();
      case Meaning::kPermutation:
        if (Flag("stable")) return std::nullopt;
        return Permutation();
      case Meaning::kSelection:
        return Selection();
      case Meaning::kIndexInPlane:
        return IndexInPlane();
      case Meaning::kMostFrequent:
        return MostFrequent();
      case Meaning::kAnyWinner:
        return AnyWinner();
      case Meaning::kDistinct:
        return Distinct();
      case Meaning::kEigen:
      case Meaning::kGeneralEigen:
      case Meaning::kUnordered:
      case Meaning::kSingular:
      case Meaning::kOrthogonalTriangular:
        return JudgeLinalgMeaning(call_, runs_, meaning);
    }
    return std::nullopt;
  }

 private:
  // The dim argument counted from the front; the last where there is none.
  std::optional<int64_t> Dim(const at::Tensor& input) const {
    const c10::IValue* const value = Argument("dim");
    if (value == nullptr) return input.dim() - 1;
    if (value->isNone()) return std::nullopt;
    if (!value->isInt()) return std::nullopt;
    const int64_t dim = value->toInt();
    return dim < 0 ? dim + input.dim() : dim;
  }

  // Indices as a tensor that gather() along dim takes: a reduced dimension is
  // put back.
  at::Tensor Gatherable(const at::Tensor& indices, const at::Tensor& input,
                        int64_t dim) const {
    return indices.dim() < input.dim() ? indices.unsqueeze(dim) : indices;
  }

  static std::optional<std::string> OutOfRange(const at::Tensor& indices,
                                               int64_t size) {
    const at::Tensor wrong = indices.lt(0).logical_or(indices.ge(size));
    if (!wrong.any().item<bool>()) return std::nullopt;
    return absl::StrCat("an index outside [0, ", size, ")", At(wrong));
  }

  std::optional<BrokenMeaning> IndexOfValue() {
    const at::Tensor input = Input();
    const at::Tensor values = Got(0);
    const at::Tensor indices = Got(1);
    const at::Tensor want = Want(0);
    if (!input.defined() || !indices.defined() || !want.defined()) {
      return std::nullopt;
    }
    if (!AllSame(values, want)) return std::nullopt;
    return PointsAt(input, values, indices, "");
  }

  std::optional<BrokenMeaning> PointsAt(const at::Tensor& input,
                                        const at::Tensor& values,
                                        const at::Tensor& indices,
                                        const std::string&) {
    const std::optional<int64_t> dim = Dim(input);
    if (!dim) return std::nullopt;
    if (input.dim() == 0) {
      if (indices.ne(0).any().item<bool>()) {
        return Wrong("an index other than 0 of a single element");
      }
      return Right();
    }
    const at::Tensor at = Gatherable(indices, input, *dim);
    if (auto text = OutOfRange(at, input.size(*dim))) return Wrong(*text);
    const at::Tensor found = input.gather(*dim, at);
    const at::Tensor wrong =
        Same(found, Gatherable(values, input, *dim)).logical_not();
    if (wrong.any().item<bool>()) {
      return Wrong(absl::StrCat(
          "the input has another value at the index than the result",
          At(wrong)));
    }
    return Right();
  }

  std::optional<BrokenMeaning> IndexOfExtreme() {
    at::Tensor input = Input();
    at::Tensor got = Got(0);
    at::Tensor want = Want(0);
    if (!input.defined() || !got.defined() || !want.defined()) {
      return std::nullopt;
    }
    std::optional<int64_t> dim = Dim(input);
    if (!dim || input.dim() == 0) {
      input = input.reshape({-1});
      got = got.reshape({-1});
      want = want.reshape({-1});
      dim = 0;
    }
    got = Gatherable(got, input, *dim);
    want = Gatherable(want, input, *dim);
    if (auto text = OutOfRange(got, input.size(*dim))) return Wrong(*text);
    const at::Tensor wrong =
        Same(input.gather(*dim, got), input.gather(*dim, want)).logical_not();
    if (wrong.any().item<bool>()) {
      return Wrong(absl::StrCat(
          "the input at the index is not the extreme value", At(wrong)));
    }
    return Right();
  }

  // In each row along dim every index at most once.
  static bool AreDistinct(const at::Tensor& indices, int64_t dim) {
    if (indices.dim() == 0 || indices.size(dim) < 2) return true;
    const at::Tensor sorted = std::get<0>(indices.sort(dim));
    const int64_t size = sorted.size(dim);
    return !sorted.narrow(dim, 1, size - 1)
                .eq(sorted.narrow(dim, 0, size - 1))
                .any()
                .item<bool>();
  }

  std::optional<BrokenMeaning> Permutation() {
    const at::Tensor input = Input();
    const bool has_values = call_.outputs.size() > 1;
    const at::Tensor indices = Got(has_values ? 1 : 0);
    if (!input.defined() || !indices.defined()) return std::nullopt;
    const std::optional<int64_t> dim = Dim(input);
    if (!dim) return std::nullopt;
    if (input.dim() == 0) return std::nullopt;
    if (has_values && !AllSame(Got(0), Want(0))) return std::nullopt;
    if (auto text = OutOfRange(indices, input.size(*dim))) return Wrong(*text);
    if (!AreDistinct(indices, *dim)) {
      return Wrong("an index twice in one row: no permutation");
    }
    const at::Tensor sorted = has_values ? Got(0) : input.gather(*dim, Want(0));
    return PointsAt(input, sorted, indices, "");
  }

  std::optional<BrokenMeaning> Selection() {
    const at::Tensor input = Input();
    const at::Tensor values = Got(0);
    const at::Tensor indices = Got(1);
    at::Tensor want = Want(0);
    if (!input.defined() || !indices.defined() || !want.defined()) {
      return std::nullopt;
    }
    const std::optional<int64_t> dim = Dim(input);
    if (!dim || input.dim() == 0) return std::nullopt;
    const c10::IValue* const sorted = Argument("sorted");
    if (sorted != nullptr && sorted->isBool() && !sorted->toBool()) {
      if (!AllSame(std::get<0>(values.sort(*dim)),
                   std::get<0>(want.sort(*dim)))) {
        return Wrong("not the selected values, in any order");
      }
    } else if (!AllSame(values, want)) {
      return std::nullopt;
    }
    if (auto text = OutOfRange(indices, input.size(*dim))) return Wrong(*text);
    if (!AreDistinct(indices, *dim)) return Wrong("an index twice in one row");
    return PointsAt(input, values, indices, "");
  }

  std::optional<BrokenMeaning> IndexInPlane() {
    const at::Tensor input = Input();
    const at::Tensor values = Got(0);
    const at::Tensor indices = Got(1);
    if (!input.defined() || !indices.defined() || !AllSame(values, Want(0))) {
      return std::nullopt;
    }
    const int64_t planes = absl::StrContains(call_.op.traits.key.name, "3d")
                               ? input.dim() - 3
                               : input.dim() - 2;
    if (planes < 1) return std::nullopt;
    const at::Tensor flat_input = input.flatten(planes);
    const at::Tensor flat_indices = indices.flatten(planes);
    const int64_t last = flat_input.dim() - 1;
    if (auto text = OutOfRange(flat_indices, flat_input.size(last))) {
      return Wrong(*text);
    }
    const at::Tensor wrong =
        Same(flat_input.gather(last, flat_indices), values.flatten(planes))
            .logical_not();
    if (wrong.any().item<bool>()) {
      return Wrong(absl::StrCat(
          "the input has another value at the index than the result",
          At(wrong)));
    }
    return Right();
  }

  std::optional<BrokenMeaning> MostFrequent() {
    const at::Tensor input = Input();
    const at::Tensor values = Got(0);
    const at::Tensor indices = Got(1);
    const at::Tensor want = Want(0);
    if (!input.defined() || !indices.defined() || !want.defined() ||
        input.dim() == 0) {
      return std::nullopt;
    }
    const std::optional<int64_t> dim = Dim(input);
    if (!dim) return std::nullopt;
    const at::Tensor got_count =
        Same(input, Gatherable(values, input, *dim)).sum(*dim, true);
    const at::Tensor want_count =
        Same(input, Gatherable(want, input, *dim)).sum(*dim, true);
    const at::Tensor wrong = got_count.ne(want_count);
    if (wrong.any().item<bool>()) {
      return Wrong(absl::StrCat("not a most frequent value", At(wrong)));
    }
    return PointsAt(input, values, indices, "");
  }

  // For every write k: whether the result holds source k in its cell. A result
  // is right if every written cell holds one of its sources, and every other
  // cell what it had.
  std::optional<BrokenMeaning> AnyWinner() {
    if (Flag("accumulate")) return std::nullopt;
    const c10::IValue* const reduce = Argument("reduce");
    if (reduce != nullptr && !reduce->isNone()) return std::nullopt;
    const at::Tensor self = Input();
    const at::Tensor got = Got(0).defined() ? Got(0) : WrittenSelf();
    if (!self.defined() || !got.defined() || got.sizes() != self.sizes()) {
      return std::nullopt;
    }
    const std::optional<Writes> writes = WritesOf(self, got);
    if (!writes) return std::nullopt;
    // Cells by number, so that one form serves all operators.
    const at::Tensor source_fits =
        Same(writes->held, writes->source.to(got.scalar_type()))
            .reshape({-1})
            .to(at::kInt);
    const at::Tensor cell = writes->cell.reshape({-1});
    const at::Tensor zeros =
        at::zeros_like(got, at::TensorOptions(at::kInt).memory_format(
                                at::MemoryFormat::Contiguous))
            .reshape({-1});
    const at::Tensor fits = zeros.index_add(0, cell, source_fits);
    const at::Tensor written =
        zeros.index_add(0, cell, at::ones_like(source_fits));
    const at::Tensor untouched = Same(got, self).reshape({-1});
    const at::Tensor wrong =
        at::where(written.gt(0), fits.eq(0), untouched.logical_not())
            .reshape(got.sizes());
    if (wrong.any().item<bool>()) {
      return Wrong(absl::StrCat(
          "a cell that holds none of the sources written to it, or that no "
          "source is for",
          At(wrong)));
    }
    return Right();
  }

  at::Tensor WrittenSelf() const {
    for (size_t i = 0; i < call_.arguments.size(); ++i) {
      if (call_.op.writable[i] && call_.arguments[i].isTensor()) {
        return ToHost(call_.arguments[i].toTensor());
      }
    }
    return at::Tensor();
  }

  struct Writes {
    at::Tensor cell;    // row-major number of the cell that each write hits
    at::Tensor held;    // what the result has there
    at::Tensor source;  // what was written
  };

  // Numbers the cells of `self`, and looks them up as the operator does.
  std::optional<Writes> WritesOf(const at::Tensor& self,
                                 const at::Tensor& got) {
    const std::string& name = call_.op.traits.key.name;
    const at::Tensor numbers =
        at::arange(self.numel(), at::TensorOptions(at::kLong))
            .reshape(self.sizes());
    if (absl::StartsWith(name, "scatter")) {
      const at::Tensor index = Input("index");
      const std::optional<int64_t> dim = Dim(self);
      if (!index.defined() || !dim || self.dim() == 0) return std::nullopt;
      Writes writes;
      writes.cell = numbers.gather(*dim, index);
      writes.held = got.gather(*dim, index);
      const at::Tensor src = Input("src");
      if (src.defined()) {
        writes.source = src;
        for (int64_t d = 0; d < index.dim(); ++d) {
          writes.source = writes.source.narrow(d, 0, index.size(d));
        }
      } else if (const c10::IValue* value = Argument("value");
                 value != nullptr && value->isScalar()) {
        writes.source = at::full_like(writes.held, value->toScalar());
      } else {
        return std::nullopt;
      }
      return writes;
    }
    if (absl::StartsWith(name, "index_copy")) {
      const at::Tensor index = Input("index");
      const at::Tensor source = Input("source");
      const std::optional<int64_t> dim = Dim(self);
      if (!index.defined() || !source.defined() || !dim || self.dim() == 0) {
        return std::nullopt;
      }
      return Writes{numbers.index_select(*dim, index.reshape({-1})),
                    got.index_select(*dim, index.reshape({-1})), source};
    }
    if (absl::StartsWith(name, "put")) {
      const at::Tensor index = Input("index");
      const at::Tensor source = Input("source");
      if (!index.defined() || !source.defined()) return std::nullopt;
      return Writes{numbers.take(index), got.take(index),
                    source.reshape(index.sizes())};
    }
    // index_put and its forms.
    const c10::IValue* const list = Argument("indices");
    const at::Tensor values = Input("values");
    if (list == nullptr || !list->isList() || !values.defined()) {
      return std::nullopt;
    }
    c10::List<std::optional<at::Tensor>> indices;
    for (const c10::IValue& index : list->toListRef()) {
      if (IsNothing(index)) {
        indices.push_back(std::nullopt);
      } else {
        indices.push_back(index.toTensor());
      }
    }
    const at::Tensor cell = numbers.index(indices);
    return Writes{cell, got.index(indices), values.expand(cell.sizes())};
  }

  // self, and unique values, inverse, counts.
  std::optional<BrokenMeaning> Distinct() {
    const at::Tensor input = Input();
    const at::Tensor got = Got(0);
    const at::Tensor want = Want(0);
    if (!input.defined() || !got.defined() || !want.defined()) {
      return std::nullopt;
    }
    if (Flag("sorted") && !AllSame(got, want)) return std::nullopt;
    if (!AllSame(std::get<0>(got.sort()), std::get<0>(want.sort()))) {
      return Wrong("not the distinct values of the input");
    }
    if (Flag("return_inverse")) {
      const at::Tensor inverse = Got(1);
      if (!inverse.defined() || inverse.sizes() != input.sizes()) {
        return std::nullopt;
      }
      if (auto text = OutOfRange(inverse, got.numel())) return Wrong(*text);
      const at::Tensor wrong = Same(got.take(inverse), input).logical_not();
      if (wrong.any().item<bool>()) {
        return Wrong(absl::StrCat(
            "the inverse index does not give the input back", At(wrong)));
      }
    }
    if (Flag("return_counts")) {
      const at::Tensor counts = Got(call_.outputs.size() - 1);
      if (!counts.defined() || counts.sizes() != got.sizes()) {
        return std::nullopt;
      }
      const at::Tensor found =
          Same(input.reshape({1, -1}), got.reshape({-1, 1})).sum(1);
      if (!AllSame(found, counts)) {
        return Wrong("counts that are not those of the values");
      }
    }
    return Right();
  }
};

}  // namespace

std::optional<BrokenMeaning> JudgeMeaning(const KernelCall& call,
                                          ReferenceRuns& runs) {
  return MeaningJudge(call, runs).Judge();
}

}  // namespace flaggems
