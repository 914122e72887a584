#include "flaggems/kernels/cuda/norm_checks.h"

#include <c10/util/Exception.h>

namespace flaggems {
namespace kernels {
namespace cuda {

const at::Tensor& OrNone(const std::optional<at::Tensor>& tensor) {
  static const at::Tensor* const none = new at::Tensor;
  return tensor.has_value() ? *tensor : *none;
}

at::Tensor Contiguous(const at::Tensor& tensor) {
  return tensor.defined() ? tensor.contiguous() : tensor;
}

const void* DataOf(const at::Tensor& tensor) {
  return tensor.defined() ? tensor.const_data_ptr() : nullptr;
}

Element NormElement(at::ScalarType dtype, const char* op) {
  if (!at::isFloatingType(dtype)) ThrowNotImplemented(dtype, op);
  return ElementOf(dtype, op);
}

void CheckDtype(const at::Tensor& tensor, at::ScalarType dtype) {
  if (!tensor.defined()) return;
  TORCH_CHECK(tensor.scalar_type() == dtype, "expected scalar type ", dtype,
              " but found ", tensor.scalar_type());
}

at::ScalarType StatisticsDtype(at::ScalarType dtype) {
  return dtype == at::kDouble ? at::kDouble : at::kFloat;
}

at::Tensor EmptyLike(const at::Tensor& like) {
  return Empty(like.sizes(), like.scalar_type(), like);
}

NormShape ShapeOf(int64_t rows, int64_t n) {
  const DeviceLimits& limits = CurrentDeviceLimits();
  return {rows, n, limits.capability, limits.multiprocessors};
}

}  // namespace cuda
}  // namespace kernels
}  // namespace flaggems
