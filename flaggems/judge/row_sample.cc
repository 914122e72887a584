#include "flaggems/judge/row_sample.h"

#include <ATen/ExpandUtils.h>
#include <ATen/TensorOperators.h>
#include <ATen/core/Tensor.h>
#include <ATen/core/enum_tag.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/tensor.h>

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "flaggems/aten/status_of_exception.h"
#include "flaggems/aten/visit_tensors.h"
#include "flaggems/core/split_mix.h"
#include "flaggems/judge/contract.h"
#include "flaggems/judge/flat_values.h"
#include "flaggems/judge/judge_call.h"

namespace flaggems {
namespace {

using Values = absl::Span<const c10::IValue>;

// For each element of arguments and results float64 copies: the widened one,
// its condition, a perturbed one and the change it makes, and one for
// temporaries.
constexpr int64_t kBytesPerElement = 5 * 8;

// More would take longer to choose than to judge; the rows beside those chosen
// are judged with them.
constexpr int64_t kMaxRuns = 4096;

const at::Tensor* TensorAt(Values arguments, size_t i) {
  if (i >= arguments.size() || !arguments[i].isTensor()) return nullptr;
  const at::Tensor& tensor = arguments[i].toTensor();
  return tensor.defined() ? &tensor : nullptr;
}

int64_t SizeAt(Values arguments, size_t i, int64_t d) {
  const at::Tensor* const tensor = TensorAt(arguments, i);
  const int64_t rank = tensor == nullptr ? 0 : tensor->dim();
  return d >= -rank && d < rank ? tensor->size(d) : 0;
}

// Elements of one row of an argument along its first dimension.
int64_t RowOf(Values arguments, size_t i) {
  const int64_t rows = SizeAt(arguments, i, 0);
  return rows == 0 ? 0 : TensorAt(arguments, i)->numel() / rows;
}

// Which slices of the arguments a slice of the result depends on.
enum class Slices {
  kBroadcast,  // the same of every argument, by broadcasting
  kFirst,      // dimension 0 of the arguments in `sliced`; others by
               // broadcasting if in `broadcast`, else whole
  kOther,      // of those in `sliced`, of one size, any dimension that the
               // argument dim leaves out
};

struct Row {
  absl::string_view op;
  Slices slices;
  uint32_t sliced = 0;     // bit i: argument i
  uint32_t broadcast = 0;  // bit i: argument i
  // Of kFirst: elements that a row of the result has, and of what is made on
  // the way to it, about; null: as many as argument 0's.
  int64_t (*result_row)(Values arguments) = nullptr;
};

int64_t ConvolutionRow(Values arguments) {
  const int64_t channels = SizeAt(arguments, 0, 1);
  if (channels == 0) return 0;
  const int64_t results =
      std::max(SizeAt(arguments, 1, 0), SizeAt(arguments, 1, 1));
  // Padding and strides move the sizes in both directions.
  return 2 * RowOf(arguments, 0) / channels * results;
}

int64_t AttentionRow(Values arguments) {
  const int64_t width = SizeAt(arguments, 0, -1);
  if (width == 0) return 0;
  return RowOf(arguments, 0) / width *
         (SizeAt(arguments, 1, -2) + SizeAt(arguments, 2, -1));
}

constexpr Row kRows[] = {
    {"_to_copy", Slices::kBroadcast},
    {"clone", Slices::kBroadcast},
    {"copy", Slices::kBroadcast},
    {"fill", Slices::kBroadcast},
    {"mm", Slices::kFirst, 0b1, 0, [](Values a) { return SizeAt(a, 1, 1); }},
    {"addmm", Slices::kFirst, 0b10, 0b1,
     [](Values a) { return SizeAt(a, 2, 1); }},
    {"bmm", Slices::kFirst, 0b11, 0,
     [](Values a) { return SizeAt(a, 0, 1) * SizeAt(a, 1, 2); }},
    {"baddbmm", Slices::kFirst, 0b110, 0b1,
     [](Values a) { return SizeAt(a, 1, 1) * SizeAt(a, 2, 2); }},
    {"linear", Slices::kFirst, 0b1, 0,
     [](Values a) {
       const int64_t width = std::max<int64_t>(1, SizeAt(a, 0, -1));
       return RowOf(a, 0) / width * SizeAt(a, 1, 0);
     }},
    {"embedding", Slices::kFirst, 0b10, 0,
     [](Values a) { return RowOf(a, 1) * SizeAt(a, 0, 1); }},
    {"convolution", Slices::kFirst, 0b1, 0, ConvolutionRow},
    {"_convolution", Slices::kFirst, 0b1, 0, ConvolutionRow},
    {"mkldnn_convolution", Slices::kFirst, 0b1, 0, ConvolutionRow},
    {"scaled_dot_product_attention", Slices::kFirst, 0b111, 0, AttentionRow},
    {"_scaled_dot_product_flash_attention_for_cpu", Slices::kFirst, 0b111, 0,
     AttentionRow},
    {"native_layer_norm", Slices::kFirst, 0b1},
    {"_fused_rms_norm", Slices::kFirst, 0b1},
    {"_softmax", Slices::kOther, 0b1},
    {"_log_softmax", Slices::kOther, 0b1},
    {"_softmax_backward_data", Slices::kOther, 0b11},
    {"_log_softmax_backward_data", Slices::kOther, 0b11},
    {"softmax", Slices::kOther, 0b1},
    {"log_softmax", Slices::kOther, 0b1},
    {"sum", Slices::kOther, 0b1},
    {"mean", Slices::kOther, 0b1},
    {"amax", Slices::kOther, 0b1},
    {"amin", Slices::kOther, 0b1},
    {"argmax", Slices::kOther, 0b1},
    {"argmin", Slices::kOther, 0b1},
    {"max", Slices::kOther, 0b1},
    {"min", Slices::kOther, 0b1},
    {"var", Slices::kOther, 0b1},
    {"std", Slices::kOther, 0b1},
    {"cumsum", Slices::kOther, 0b1},
    {"cumprod", Slices::kOther, 0b1},
    {"sort", Slices::kOther, 0b1},
    {"topk", Slices::kOther, 0b1},
};

std::optional<Row> TableRowOf(const JudgedOp& op) {
  const OpKey& key = op.traits.key;
  if (op.handle.hasTag(at::Tag::pointwise)) {
    return Row{key.name, Slices::kBroadcast};
  }
  if (key.ns != "aten") return std::nullopt;
  for (const Row& row : kRows) {
    if (row.op == key.name || row.op == absl::StripSuffix(key.name, "_")) {
      return row;
    }
  }
  return std::nullopt;
}

// One dimension of the result, and of each argument the one that goes with it.
struct Dimensions {
  // Of the result; `reduced_before` of those before it are gone in a result of
  // a lower rank than `input_rank`.
  int64_t result = 0;
  int64_t input_rank = 0;
  int64_t reduced_before = 0;
  int64_t size = 0;
  int64_t result_row = 0;          // elements, about
  std::vector<int64_t> arguments;  // -1: the argument is taken whole
};

// The dimension of an argument that broadcasts to the one that lies `from_end`
// from the end of the result, 1 the last.
int64_t Broadcast(Values arguments, size_t i, int64_t from_end, int64_t size) {
  const at::Tensor* const tensor = TensorAt(arguments, i);
  if (tensor == nullptr) return -1;
  const int64_t own = tensor->dim() - from_end;
  return own >= 0 && tensor->size(own) == size ? own : -1;
}

std::optional<Dimensions> Broadcasting(Values arguments) {
  std::vector<int64_t> sizes;
  for (size_t i = 0; i < arguments.size(); ++i) {
    const at::Tensor* const tensor = TensorAt(arguments, i);
    if (tensor != nullptr) sizes = at::infer_size(sizes, tensor->sizes());
  }
  if (sizes.empty()) return std::nullopt;
  const auto largest = std::max_element(sizes.begin(), sizes.end());
  Dimensions dimensions;
  dimensions.result = largest - sizes.begin();
  dimensions.size = *largest;
  dimensions.result_row = 1;
  for (auto size = sizes.begin(); size != sizes.end(); ++size) {
    if (size != largest) dimensions.result_row *= *size;
  }
  for (size_t i = 0; i < arguments.size(); ++i) {
    dimensions.arguments.push_back(
        Broadcast(arguments, i, sizes.end() - largest, dimensions.size));
  }
  return dimensions;
}

// Null if the schema has none of that name.
const c10::IValue* Named(const JudgedOp& op, Values arguments,
                         absl::string_view name) {
  const auto& schema = op.handle.schema().arguments();
  for (size_t i = 0; i < schema.size() && i < arguments.size(); ++i) {
    if (schema[i].name() == name) return &arguments[i];
  }
  return nullptr;
}

std::optional<Dimensions> First(const JudgedOp& op, const Row& row,
                                Values arguments) {
  Dimensions dimensions;
  dimensions.arguments.assign(arguments.size(), -1);
  int64_t rank = 0;
  for (size_t i = 0; i < arguments.size() && i < 32; ++i) {
    if ((row.sliced >> i & 1) == 0) continue;
    // Single samples have another first dimension, so have grouped heads.
    const bool first = rank == 0;
    if (SizeAt(arguments, i, 1) == 0 ||
        (!first && SizeAt(arguments, i, 0) != dimensions.size)) {
      return std::nullopt;
    }
    dimensions.arguments[i] = 0;
    dimensions.size = SizeAt(arguments, i, 0);
    rank = std::max(rank, TensorAt(arguments, i)->dim());
  }
  for (size_t i = 0; i < arguments.size() && i < 32; ++i) {
    if ((row.broadcast >> i & 1) == 0) continue;
    dimensions.arguments[i] = Broadcast(arguments, i, rank, dimensions.size);
  }
  if (const c10::IValue* const shape =
          Named(op, arguments, "normalized_shape")) {
    if (!shape->isIntList() ||
        static_cast<int64_t>(shape->toIntVector().size()) >= rank) {
      return std::nullopt;
    }
  }
  dimensions.result_row = row.result_row != nullptr ? row.result_row(arguments)
                                                    : RowOf(arguments, 0);
  return dimensions;
}

std::optional<Dimensions> Other(const JudgedOp& op, const Row& row,
                                Values arguments) {
  const at::Tensor* const input = TensorAt(arguments, 0);
  if (input == nullptr) return std::nullopt;
  std::vector<int64_t> dims;
  if (const c10::IValue* const dim = Named(op, arguments, "dim")) {
    if (dim->isInt()) dims = {dim->toInt()};
    if (dim->isIntList()) dims = dim->toIntVector();
  }
  for (int64_t& d : dims) d = d < 0 ? d + input->dim() : d;
  if (dims.empty()) return std::nullopt;
  int64_t best = -1;
  for (int64_t d = 0; d < input->dim(); ++d) {
    if (std::find(dims.begin(), dims.end(), d) != dims.end()) continue;
    if (best < 0 || input->size(d) > input->size(best)) best = d;
  }
  if (best < 0 || input->size(best) == 0) return std::nullopt;
  Dimensions dimensions;
  dimensions.result = best;
  dimensions.input_rank = input->dim();
  dimensions.reduced_before = std::count_if(
      dims.begin(), dims.end(), [&](int64_t d) { return d < best; });
  dimensions.size = input->size(best);
  dimensions.result_row = input->numel() / input->size(best);
  dimensions.arguments.assign(arguments.size(), -1);
  for (size_t i = 0; i < arguments.size() && i < 32; ++i) {
    if ((row.sliced >> i & 1) == 0) continue;
    const at::Tensor* const tensor = TensorAt(arguments, i);
    if (tensor == nullptr || tensor->sizes() != input->sizes()) {
      return std::nullopt;
    }
    dimensions.arguments[i] = best;
  }
  return dimensions;
}

std::optional<Dimensions> DimensionsOf(const JudgedOp& op, Values arguments) {
  const std::optional<Row> row = TableRowOf(op);
  if (!row) return std::nullopt;
  std::optional<Dimensions> dimensions;
  switch (row->slices) {
    case Slices::kBroadcast:
      dimensions = Broadcasting(arguments);
      break;
    case Slices::kFirst:
      dimensions = First(op, *row, arguments);
      break;
    case Slices::kOther:
      dimensions = Other(op, *row, arguments);
      break;
  }
  return dimensions;
}

// Where runs of `run` rows start: at the first row, at one of each of equal
// parts, and before the last row.
std::vector<int64_t> ChooseStarts(int64_t size, int64_t runs, int64_t run,
                                  uint64_t seed) {
  const int64_t last = size - run;
  std::vector<int64_t> starts = {0};
  const int64_t parts = runs - 2;
  // Runs do not overlap while the parts are longer than they are.
  for (int64_t i = 0; i < parts; ++i) {
    const int64_t begin = run + (last - run) * i / parts;
    const int64_t end = run + (last - run) * (i + 1) / parts - run + 1;
    const int64_t choices = std::max<int64_t>(1, end - begin);
    const int64_t start =
        begin + static_cast<int64_t>(NextSplitMix(seed) %
                                     static_cast<uint64_t>(choices));
    if (start >= starts.back() + run && start + run <= last) {
      starts.push_back(start);
    }
  }
  if (last >= run) starts.push_back(last);
  return starts;
}

// A change of what the kernel must not write.
std::optional<Judgement> ChangedRows(const KernelCall& call) {
  for (size_t i = 0; i < call.arguments.size(); ++i) {
    const at::Tensor* const now = TensorAt(call.arguments, i);
    const at::Tensor* const then = TensorAt(call.before.arguments(), i);
    if (call.op.writable[i] || now == nullptr || then == nullptr ||
        !IsPlainTensor(*now) || now->sizes() != then->sizes()) {
      continue;
    }
    if (!HaveSameBytes(*now, *then)) return ChangedArgument(call.op, i);
  }
  return std::nullopt;
}

}  // namespace

int64_t JudgingBytes(const KernelCall& call) {
  int64_t bytes = 0;
  const auto add = [&](const at::Tensor& tensor) {
    bytes += kBytesPerElement * tensor.numel() * (tensor.is_complex() ? 2 : 1);
  };
  VisitTensors(call.outputs, add);
  VisitTensors(call.before.arguments(), add);
  return bytes;
}

std::optional<RowSample> RowSample::Choose(const JudgedOp& op, Values arguments,
                                           int64_t memory_limit,
                                           uint64_t seed) {
  // Sizes that do not go together are the operator's to refuse.
  const auto found =
      StatusOrOf([&]() -> absl::StatusOr<std::optional<Dimensions>> {
        return DimensionsOf(op, arguments);
      });
  if (!found.ok() || !*found || (*found)->size < 2 ||
      (*found)->result_row == 0) {
    return std::nullopt;
  }
  const Dimensions& dimensions = **found;
  // What is not sliced is needed whole.
  int64_t whole = 0;
  int64_t row = kBytesPerElement * dimensions.result_row;
  for (size_t i = 0; i < arguments.size(); ++i) {
    int64_t bytes = 0;
    VisitTensors(arguments[i], [&](const at::Tensor& tensor) {
      bytes +=
          kBytesPerElement * tensor.numel() * (tensor.is_complex() ? 2 : 1);
    });
    if (dimensions.arguments[i] < 0) {
      whole += bytes;
    } else {
      row += bytes / dimensions.size;
    }
  }
  const int64_t count = std::min(
      (memory_limit - whole) / std::max<int64_t>(1, row), dimensions.size);
  if (count < 2) return std::nullopt;
  RowSample sample;
  sample.size_ = dimensions.size;
  sample.dimension_ = dimensions.result;
  sample.input_rank_ = dimensions.input_rank;
  sample.reduced_before_ = dimensions.reduced_before;
  sample.argument_dimensions_ = dimensions.arguments;
  sample.run_ = std::max<int64_t>(1, count / kMaxRuns);
  sample.starts_ =
      ChooseStarts(dimensions.size, count / sample.run_, sample.run_, seed);
  for (const c10::Argument& argument : op.handle.schema().arguments()) {
    sample.is_out_.push_back(argument.is_out());
  }
  return sample;
}

c10::IValue RowSample::Slice(const c10::IValue& value, int64_t dim) const {
  if (dim < 0 || !value.isTensor() || !value.toTensor().defined()) return value;
  const at::Tensor& tensor = value.toTensor();
  at::Tensor rows = at::tensor(starts_).to(tensor.device());
  if (run_ > 1) {
    rows =
        (rows.unsqueeze(1) +
         at::arange(run_, at::TensorOptions(at::kLong).device(tensor.device())))
            .flatten();
  }
  return tensor.index_select(dim, rows);
}

std::vector<c10::IValue> RowSample::Arguments(Values arguments) const {
  std::vector<c10::IValue> rows;
  rows.reserve(arguments.size());
  for (size_t i = 0; i < arguments.size(); ++i) {
    // An operator resizes what it writes its result to.
    int64_t dim = argument_dimensions_[i];
    const at::Tensor* const tensor = TensorAt(arguments, i);
    if (is_out_[i] && tensor != nullptr &&
        (dim < 0 || dim >= tensor->dim() || tensor->size(dim) != size_)) {
      dim = -1;
    }
    rows.push_back(Slice(arguments[i], dim));
  }
  return rows;
}

absl::StatusOr<RowSample::Results> RowSample::After(Values outputs,
                                                    Values arguments) const {
  Results results;
  for (size_t o = 0; o < outputs.size(); ++o) {
    const at::Tensor* const tensor = TensorAt(outputs, o);
    if (tensor == nullptr) {
      results.outputs.push_back(outputs[o]);
      continue;
    }
    const int64_t dim = DimensionOf(tensor->dim());
    if (dim < 0 || dim >= tensor->dim() || tensor->size(dim) != size_) {
      return absl::InvalidArgumentError(
          absl::StrCat("result ", o, " has sizes ", TypeAndShape(*tensor),
                       "; dimension ", dim, " should have size ", size_));
    }
    results.outputs.push_back(Slice(outputs[o], dim));
  }
  results.arguments = Arguments(arguments);
  for (size_t i = 0; i < arguments.size(); ++i) {
    const at::Tensor* const tensor = TensorAt(arguments, i);
    if (tensor == nullptr) continue;
    for (size_t o = 0; o < outputs.size(); ++o) {
      const at::Tensor* const output = TensorAt(outputs, o);
      if (output != nullptr && output->is_same(*tensor)) {
        results.arguments[i] = results.outputs[o];
      }
    }
  }
  return results;
}

// Of a result of this rank.
int64_t RowSample::DimensionOf(int64_t rank) const {
  return dimension_ - (rank < input_rank_ ? reduced_before_ : 0);
}

void RowSample::Describe(Judgement& judgement) const {
  int64_t dim = dimension_;
  if (judgement.worst_index) {
    std::vector<int64_t>& worst = *judgement.worst_index;
    dim = DimensionOf(static_cast<int64_t>(worst.size()));
    if (dim >= 0 && dim < static_cast<int64_t>(worst.size())) {
      int64_t& index = worst[static_cast<size_t>(dim)];
      if (index < count()) {
        index = starts_[static_cast<size_t>(index / run_)] + index % run_;
      }
    }
  }
  absl::StrAppend(&judgement.message, judgement.message.empty() ? "" : "; ",
                  count(), " of ", size_, " rows along dimension ", dim,
                  " judged");
}

Judgement JudgeSampledRows(KernelCall rows, const RowSample& sample) {
  rows.is_sample = true;
  Judgement judgement = JudgeCall(rows);
  if (auto changed = ChangedRows(rows)) {
    if (IsWorse(*changed, judgement)) judgement = *std::move(changed);
  }
  sample.Describe(judgement);
  return judgement;
}

Judgement JudgeSample(const KernelCall& call, const RowSample& sample,
                      const Snapshot& before) {
  const auto judgement = StatusOrOf([&]() -> absl::StatusOr<Judgement> {
    const absl::StatusOr<RowSample::Results> after =
        sample.After(call.outputs, call.arguments);
    if (!after.ok()) {
      return Differs(Verdict::kFailShape,
                     std::string(after.status().message()));
    }
    return JudgeSampledRows(
        {call.op, call.reference, call.row, before, after->arguments,
         after->outputs, call.on_host, call.alone},
        sample);
  });
  return judgement.ok() ? *judgement : ErrorOf(judgement.status());
}

std::optional<Judgement> JudgeRows(const KernelCall& call, int64_t memory_limit,
                                   uint64_t seed) {
  const std::optional<RowSample> sample =
      RowSample::Choose(call.op, call.before.arguments(), memory_limit, seed);
  if (!sample) return std::nullopt;
  if (auto broken = BrokenMemory(call)) return broken;
  const auto before = StatusOrOf([&]() -> absl::StatusOr<Snapshot> {
    return Snapshot::Take(sample->Arguments(call.before.arguments()));
  });
  if (!before.ok()) return ErrorOf(before.status());
  return JudgeSample(call, *sample, *before);
}

}  // namespace flaggems
