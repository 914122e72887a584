#include "flaggems/aten/visit_tensors.h"

namespace flaggems {

bool IsOnHost(absl::Span<const c10::IValue> values) {
  bool on_host = true;
  VisitTensors(values, [&](const at::Tensor& tensor) {
    on_host = on_host && tensor.device().is_cpu();
  });
  return on_host;
}

c10::IValue WithOwnLists(const c10::IValue& value) {
  return value.isList() ? c10::IValue(value.toList().copy()) : value;
}

std::vector<c10::IValue> AllWithOwnLists(absl::Span<const c10::IValue> values) {
  std::vector<c10::IValue> own;
  own.reserve(values.size());
  for (const c10::IValue& value : values) own.push_back(WithOwnLists(value));
  return own;
}

void OwnTensorLists(std::vector<c10::IValue>* stack, size_t count) {
  for (size_t i = stack->size() - count; i < stack->size(); ++i) {
    c10::IValue& value = (*stack)[i];
    if (value.isTensorList() && value.use_count() > 1) {
      value = WithOwnLists(value);
    }
  }
}

bool IsPlainTensor(const at::Tensor& tensor) {
  if (tensor.layout() != c10::kStrided || !tensor.has_storage() ||
      tensor.is_meta() || tensor.is_quantized() || tensor.is_nested()) {
    return false;
  }
  // Wrappers of functorch, functionalisation and Python hold another tensor;
  // their own memory says nothing.
  constexpr c10::DispatchKeySet kWrappers(
      {c10::DispatchKey::FuncTorchBatched,
       c10::DispatchKey::FuncTorchGradWrapper, c10::DispatchKey::Functionalize,
       c10::DispatchKey::Python, c10::DispatchKey::ZeroTensor});
  return !tensor.key_set().has_any(kWrappers);
}

bool IsComparable(const at::Tensor& tensor) {
  return !tensor.is_nested() && !tensor.is_mkldnn() &&
         tensor.layout() != at::kSparseBsr &&
         tensor.layout() != at::kSparseBsc &&
         !tensor.unsafeGetTensorImpl()->has_named_tensor_meta();
}

bool IsVast(const at::Tensor& tensor) {
  constexpr int64_t kLarge = int64_t{1} << 24;
  constexpr int64_t kFold = 16;
  if (!IsPlainTensor(tensor) || tensor.numel() < kLarge) return false;
  const auto bytes = static_cast<int64_t>(tensor.storage().nbytes());
  return tensor.numel() / kFold >
         bytes / static_cast<int64_t>(tensor.element_size());
}

}  // namespace flaggems
