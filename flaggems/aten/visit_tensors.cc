#include "flaggems/aten/visit_tensors.h"

namespace flaggems {

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

}  // namespace flaggems
