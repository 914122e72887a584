#include "flaggems/check/substitute.h"

#include <ATen/core/List.h>
#include <ATen/core/Tensor.h>
#include <ATen/ops/empty.h>

#include <optional>
#include <utility>

#include "absl/algorithm/container.h"
#include "flaggems/aten/status_of_exception.h"
#include "flaggems/aten/visit_tensors.h"

namespace flaggems {
namespace {

std::vector<at::Tensor> TensorsOf(const c10::IValue& value) {
  std::vector<at::Tensor> tensors;
  VisitTensors(value, [&](const at::Tensor& t) { tensors.push_back(t); });
  return tensors;
}

// Throws what torch throws.
class Substitution {
 public:
  Substitution(const JudgedOp& op, const Recomputed& reference,
               absl::Span<const c10::IValue> arguments)
      : op_(op), reference_(reference), arguments_(arguments) {
    VisitTensors(arguments, [&](const at::Tensor& tensor) {
      if (!device_) device_ = tensor.device();
    });
  }

  void WriteArguments() const {
    for (size_t i = 0; i < arguments_.size(); ++i) {
      if (!op_.writable[i]) continue;
      const std::vector<at::Tensor> to = TensorsOf(arguments_[i]);
      const std::vector<at::Tensor> from = TensorsOf(reference_.arguments[i]);
      for (size_t j = 0; j < to.size() && j < from.size(); ++j) {
        if (to[j].sizes() != from[j].sizes()) to[j].resize_(from[j].sizes());
        to[j].copy_(from[j]);
      }
    }
  }

  std::vector<c10::IValue> Outputs() const {
    const std::vector<c10::Argument>& returns = op_.handle.schema().returns();
    std::vector<c10::IValue> outputs;
    for (size_t i = 0; i < reference_.outputs.size(); ++i) {
      const std::optional<size_t> argument =
          i < returns.size() ? WrittenArgument(returns[i]) : std::nullopt;
      outputs.push_back(argument ? arguments_[*argument]
                                 : BroughtOver(reference_.outputs[i]));
    }
    return outputs;
  }

 private:
  // The argument that the operator writes and returns here.
  std::optional<size_t> WrittenArgument(const c10::Argument& result) const {
    const c10::AliasInfo* const alias = result.alias_info();
    if (alias == nullptr || !alias->isWrite()) return std::nullopt;
    const std::vector<c10::Argument>& arguments =
        op_.handle.schema().arguments();
    for (size_t i = 0; i < arguments.size(); ++i) {
      const c10::AliasInfo* const other = arguments[i].alias_info();
      if (other != nullptr && other->isWrite() &&
          other->beforeSets() == alias->beforeSets()) {
        return i;
      }
    }
    return std::nullopt;
  }

  c10::IValue BroughtOver(const c10::IValue& value) const {
    if (value.isTensor()) return BroughtOver(value.toTensor());
    if (value.isTensorList()) {
      c10::List<at::Tensor> list;
      for (const at::Tensor& tensor : value.toTensorVector()) {
        list.push_back(BroughtOver(tensor));
      }
      return list;
    }
    return value;
  }

  at::Tensor BroughtOver(const at::Tensor& tensor) const {
    if (!tensor.defined() || !tensor.has_storage()) return tensor;
    const auto range =
        absl::c_find_if(reference_.ranges, [&](const CopiedRange& copied) {
          return copied.copy.storage().is_alias_of(tensor.storage());
        });
    if (range != reference_.ranges.end()) return ViewOfOriginal(tensor, *range);
    return device_ ? tensor.to(*device_) : tensor;
  }

  // What `view` is to the copy.
  static at::Tensor ViewOfOriginal(const at::Tensor& view,
                                   const CopiedRange& range) {
    const at::Tensor original =
        at::empty({0}, view.options().device(range.storage.device()));
    const int64_t begin =
        range.begin / static_cast<int64_t>(view.element_size());
    original.set_(range.storage, begin + view.storage_offset(), view.sizes(),
                  view.strides());
    if (view.is_conj()) original._set_conj(true);
    if (view.is_neg()) original._set_neg(true);
    return original;
  }

  const JudgedOp& op_;
  const Recomputed& reference_;
  const absl::Span<const c10::IValue> arguments_;
  std::optional<c10::Device> device_;
};

}  // namespace

absl::Status Substitute(const JudgedOp& op, const Recomputed& reference,
                        absl::Span<const c10::IValue> arguments,
                        std::vector<c10::IValue>* outputs) {
  return StatusOrOf([&]() -> absl::Status {
    const Substitution substitution(op, reference, arguments);
    substitution.WriteArguments();
    *outputs = substitution.Outputs();
    return absl::OkStatus();
  });
}

}  // namespace flaggems
