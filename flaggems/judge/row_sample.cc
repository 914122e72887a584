#include "flaggems/judge/row_sample.h"

#include <ATen/core/Tensor.h>
#include <ATen/core/enum_tag.h>
#include <ATen/ops/tensor.h>

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "flaggems/aten/visit_tensors.h"
#include "flaggems/core/split_mix.h"
#include "flaggems/judge/contract.h"
#include "flaggems/judge/judge_call.h"

namespace flaggems {
namespace {

// Which slices of the arguments a slice of the result depends on.
enum class Slices {
  kBroadcast,  // the same of every argument, by broadcasting
  kFirst,      // dimension 0 of the arguments in `sliced`; others by
               // broadcasting if in `broadcast`, else whole
  kOther,      // of argument 0, any dimension that the argument dim leaves out
};

struct Row {
  absl::string_view op;
  Slices slices;
  uint32_t sliced = 0;     // bit i: argument i
  uint32_t broadcast = 0;  // bit i: argument i
};

constexpr Row kRows[] = {
    {"mm", Slices::kFirst, 0b1},
    {"addmm", Slices::kFirst, 0b10, 0b1},
    {"bmm", Slices::kFirst, 0b11},
    {"baddbmm", Slices::kFirst, 0b110, 0b1},
    {"linear", Slices::kFirst, 0b1},
    {"embedding", Slices::kFirst, 0b10},
    {"convolution", Slices::kFirst, 0b1},
    {"_convolution", Slices::kFirst, 0b1},
    {"mkldnn_convolution", Slices::kFirst, 0b1},
    {"scaled_dot_product_attention", Slices::kFirst, 0b111},
    {"_scaled_dot_product_flash_attention_for_cpu", Slices::kFirst, 0b111},
    {"native_layer_norm", Slices::kFirst, 0b1},
    {"_softmax", Slices::kOther},
    {"_log_softmax", Slices::kOther},
    {"softmax", Slices::kOther},
    {"log_softmax", Slices::kOther},
    {"sum", Slices::kOther},
    {"mean", Slices::kOther},
    {"amax", Slices::kOther},
    {"amin", Slices::kOther},
    {"argmax", Slices::kOther},
    {"argmin", Slices::kOther},
    {"max", Slices::kOther},
    {"min", Slices::kOther},
    {"var", Slices::kOther},
    {"std", Slices::kOther},
    {"cumsum", Slices::kOther},
    {"cumprod", Slices::kOther},
    {"sort", Slices::kOther},
    {"topk", Slices::kOther},
};

std::optional<Row> RowOf(const KernelCall& call) {
  const OpKey& key = call.op.traits.key;
  if (call.op.handle.hasTag(at::Tag::pointwise)) {
    return Row{key.name, Slices::kBroadcast};
  }
  if (key.ns != "aten") return std::nullopt;
  for (const Row& row : kRows) {
    if (row.op == absl::StripSuffix(key.name, "_")) return row;
  }
  return std::nullopt;
}

// One dimension of the result, and of each argument the one that goes with it;
// -1: the argument is taken whole.
struct Dimensions {
  int64_t output = 0;
  int64_t size = 0;
  std::vector<int64_t> arguments;
};

int64_t LargestDimension(const at::Tensor& tensor) {
  int64_t largest = 0;
  for (int64_t d = 1; d < tensor.dim(); ++d) {
    if (tensor.size(d) > tensor.size(largest)) largest = d;
  }
  return largest;
}

// The dimension of an argument that broadcasts to dimension d of the result.
int64_t Broadcast(const c10::IValue& argument, const at::Tensor& result,
                  int64_t d) {
  if (!argument.isTensor() || !argument.toTensor().defined()) return -1;
  const at::Tensor& tensor = argument.toTensor();
  const int64_t own = d - (result.dim() - tensor.dim());
  return own >= 0 && tensor.size(own) == result.size(d) ? own : -1;
}

std::vector<int64_t> DimArgument(const KernelCall& call, int64_t rank) {
  const c10::IValue* const dim = FindArgument(call, "dim");
  std::vector<int64_t> dims;
  if (dim != nullptr && dim->isInt()) dims = {dim->toInt()};
  if (dim != nullptr && dim->isIntList()) dims = dim->toIntVector();
  for (int64_t& d : dims) d = d < 0 ? d + rank : d;
  return dims;
}

std::optional<Dimensions> DimensionsOf(const KernelCall& call) {
  const std::optional<Row> row = RowOf(call);
  if (!row || call.outputs.empty() || !call.outputs[0].isTensor()) {
    return std::nullopt;
  }
  const at::Tensor& result = call.outputs[0].toTensor();
  if (!result.defined() || result.dim() == 0) return std::nullopt;
  const std::vector<c10::IValue>& arguments = call.before.arguments();
  Dimensions dimensions;
  dimensions.arguments.assign(arguments.size(), -1);
  switch (row->slices) {
    case Slices::kBroadcast: {
      dimensions.output = LargestDimension(result);
      for (size_t i = 0; i < arguments.size(); ++i) {
        dimensions.arguments[i] =
            Broadcast(arguments[i], result, dimensions.output);
      }
      break;
    }
    case Slices::kFirst: {
      for (size_t i = 0; i < arguments.size() && i < 32; ++i) {
        if ((row->sliced >> i & 1) != 0) {
          // Grouped heads and single samples have another first dimension.
          if (!arguments[i].isTensor() || arguments[i].toTensor().dim() < 2 ||
              arguments[i].toTensor().size(0) != result.size(0)) {
            return std::nullopt;
          }
          dimensions.arguments[i] = 0;
        } else if ((row->broadcast >> i & 1) != 0) {
          dimensions.arguments[i] = Broadcast(arguments[i], result, 0);
        }
      }
      if (row->op == "native_layer_norm") {
        const c10::IValue* const shape = FindArgument(call, "normalized_shape");
        if (shape == nullptr || !shape->isIntList() ||
            static_cast<int64_t>(shape->toIntVector().size()) >= result.dim()) {
          return std::nullopt;
        }
      }
      break;
    }
    case Slices::kOther: {
      if (!arguments[0].isTensor()) return std::nullopt;
      const at::Tensor& input = arguments[0].toTensor();
      const std::vector<int64_t> dims = DimArgument(call, input.dim());
      if (dims.empty()) return std::nullopt;
      int64_t best = -1;
      for (int64_t d = 0; d < input.dim(); ++d) {
        if (std::find(dims.begin(), dims.end(), d) != dims.end()) continue;
        if (best < 0 || input.size(d) > input.size(best)) best = d;
      }
      if (best < 0) return std::nullopt;
      dimensions.arguments[0] = best;
      dimensions.output = best;
      if (result.dim() < input.dim()) {
        dimensions.output -= std::count_if(dims.begin(), dims.end(),
                                           [&](int64_t d) { return d < best; });
      }
      break;
    }
  }
  dimensions.size = result.size(dimensions.output);
  // An out argument goes with the result if it has its sizes; else the operator
  // resizes it.
  for (size_t i = 0; i < arguments.size(); ++i) {
    if (!call.op.handle.schema().arguments()[i].is_out()) continue;
    const bool fits = arguments[i].isTensor() &&
                      arguments[i].toTensor().defined() &&
                      arguments[i].toTensor().sizes() == result.sizes();
    dimensions.arguments[i] = fits ? dimensions.output : -1;
  }
  return dimensions;
}

// `count` of `size` rows in rising order: the first, the last, and one of each
// of equal parts between them.
std::vector<int64_t> ChooseRows(int64_t size, int64_t count, uint64_t seed) {
  std::vector<int64_t> rows = {0};
  const int64_t parts = count - 2;
  for (int64_t i = 0; i < parts; ++i) {
    const int64_t begin = 1 + (size - 2) * i / parts;
    const int64_t end = 1 + (size - 2) * (i + 1) / parts;
    if (begin >= end) continue;
    rows.push_back(begin +
                   static_cast<int64_t>(NextSplitMix(seed) %
                                        static_cast<uint64_t>(end - begin)));
  }
  rows.push_back(size - 1);
  return rows;
}

c10::IValue Slice(const c10::IValue& value, int64_t dim,
                  const std::vector<int64_t>& rows) {
  if (dim < 0 || !value.isTensor() || !value.toTensor().defined()) return value;
  const at::Tensor& tensor = value.toTensor();
  return tensor.index_select(dim, at::tensor(rows).to(tensor.device()));
}

}  // namespace

int64_t JudgingBytes(const KernelCall& call) {
  // For each value float64 copies of: the widened one, its condition, a
  // perturbed one and the change it makes, and one for temporaries.
  constexpr int64_t kCopies = 5;
  int64_t bytes = 0;
  const auto add = [&](const at::Tensor& tensor) {
    bytes += kCopies * tensor.numel() * (tensor.is_complex() ? 16 : 8);
  };
  VisitTensors(call.outputs, add);
  VisitTensors(call.before.arguments(), add);
  return bytes;
}

std::optional<Judgement> JudgeRows(const KernelCall& call, int64_t memory_limit,
                                   uint64_t seed) {
  const std::optional<Dimensions> dimensions = DimensionsOf(call);
  if (!dimensions || dimensions->size < 2) return std::nullopt;
  // What is not sliced is needed whole.
  const int64_t bytes = JudgingBytes(call);
  int64_t whole = 0;
  for (size_t i = 0; i < dimensions->arguments.size(); ++i) {
    const c10::IValue& argument = call.before.arguments()[i];
    if (dimensions->arguments[i] < 0 && argument.isTensor() &&
        argument.toTensor().defined()) {
      whole += 40 * argument.toTensor().numel();
    }
  }
  const double share = static_cast<double>(memory_limit - whole) /
                       static_cast<double>(bytes - whole + 1);
  const auto count =
      static_cast<int64_t>(share * static_cast<double>(dimensions->size));
  if (count < 2) return std::nullopt;
  if (auto broken = BrokenMemory(call)) return broken;

  const std::vector<int64_t> rows =
      ChooseRows(dimensions->size, std::min(count, dimensions->size), seed);
  std::vector<c10::IValue> outputs;
  for (const c10::IValue& output : call.outputs) {
    outputs.push_back(Slice(output, dimensions->output, rows));
  }
  // What an operator wrote and returns is one tensor, in the sample too.
  const auto written = [&](const c10::IValue& argument) -> const c10::IValue* {
    for (size_t o = 0; o < call.outputs.size(); ++o) {
      if (argument.isTensor() && call.outputs[o].isTensor() &&
          argument.toTensor().is_same(call.outputs[o].toTensor())) {
        return &outputs[o];
      }
    }
    return nullptr;
  };
  std::vector<c10::IValue> before;
  std::vector<c10::IValue> after;
  for (size_t i = 0; i < dimensions->arguments.size(); ++i) {
    const c10::IValue* const result = written(call.arguments[i]);
    before.push_back(
        Slice(call.before.arguments()[i], dimensions->arguments[i], rows));
    after.push_back(result != nullptr ? *result
                                      : Slice(call.arguments[i],
                                              dimensions->arguments[i], rows));
  }

  absl::StatusOr<Snapshot> snapshot = Snapshot::Take(before);
  if (!snapshot.ok()) {
    return ErrorOf(snapshot.status());
  }
  KernelCall sample = {call.op, call.reference, call.row,     *snapshot,
                       after,   outputs,        call.on_host, call.alone};
  sample.is_sample = true;
  Judgement judgement = JudgeCall(sample);
  if (judgement.worst_index &&
      dimensions->output <
          static_cast<int64_t>(judgement.worst_index->size())) {
    int64_t& index =
        (*judgement.worst_index)[static_cast<size_t>(dimensions->output)];
    index = rows[static_cast<size_t>(index)];
  }
  absl::StrAppend(&judgement.message, judgement.message.empty() ? "" : "; ",
                  rows.size(), " of ", dimensions->size,
                  " rows along dimension ", dimensions->output, " judged");
  return judgement;
}

}  // namespace flaggems
