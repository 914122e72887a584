#include "flaggems/kernels/cuda/op_clamp.h"

#include <ATen/TensorIterator.h>
#include <ATen/native/TypeProperties.h>
#include <c10/util/Exception.h>

#include "flaggems/kernels/cuda/elementwise.h"
#include "flaggems/kernels/cuda/op_clamp_launch.h"

namespace flaggems {
namespace kernels {
namespace cuda {

namespace {

constexpr Elementwise kMaximum = {
    LaunchExtreme, "maximum_cuda", false, {{1.0, 1}}};
constexpr Elementwise kMinimum = {
    LaunchExtreme, "minimum_cuda", false, {{0.0, 0}}};
constexpr Elementwise kClampTensor = {LaunchClampTensor, "clamp_cuda"};

void CheckBounds(bool has_min, bool has_max) {
  TORCH_CHECK(has_min || has_max,
              "clamp: at least one of 'min' and 'max' must be given");
}

// self in the dtype that it is clamped in: numbers take part in promotion,
// unless self is of floating point already.
at::Tensor Promoted(const at::Tensor& self,
                    const std::optional<at::Scalar>& min,
                    const std::optional<at::Scalar>& max, bool in_place) {
  const at::ScalarType dtype = self.scalar_type();
  CheckElements("clamp_cuda", {&self});
  TORCH_CHECK(!(min && min->isComplex()) && !(max && max->isComplex()),
              "clamp: complex numbers have no order");
  if (at::isFloatingType(dtype)) return self;
  at::native::ResultTypeState state = {};
  state = at::native::update_result_type_state(self, state);
  if (min) state = at::native::update_result_type_state(*min, state);
  if (max) state = at::native::update_result_type_state(*max, state);
  const at::ScalarType result = at::native::result_type(state);
  TORCH_CHECK(result == dtype || !in_place, "clamp_: the result's type ",
              result, " cannot be stored in a tensor of ", dtype);
  return self.to(result);
}

Elementwise Clamp(const at::Tensor& promoted,
                  const std::optional<at::Scalar>& min,
                  const std::optional<at::Scalar>& max) {
  const at::ScalarType dtype = promoted.scalar_type();
  Elementwise op = {LaunchClamp, "clamp_cuda"};
  if (min) op.scalars[0] = NumberOf(*min, dtype);
  if (max) op.scalars[1] = NumberOf(*max, dtype);
  op.scalars[2].integer = (min ? 1 : 0) + (max ? 2 : 0);
  return op;
}

at::Tensor& ClampBothOut(const at::Tensor& self, const at::Tensor& min,
                         const at::Tensor& max, at::Tensor& out) {
  CheckElements(kClampTensor.name, {&self, &min, &max, &out});
  auto iter = at::TensorIteratorConfig()
                  .set_check_mem_overlap(true)
                  .add_output(out)
                  .add_const_input(self)
                  .add_const_input(min)
                  .add_const_input(max)
                  .promote_inputs_to_common_dtype(true)
                  .cast_common_dtype_to_outputs(true)
                  .enforce_safe_casting_to_output(true)
                  .build();
  RunElementwise(kClampTensor, iter, iter.common_dtype());
  if (!out.defined()) out = iter.output();
  return out;
}

}  // namespace

at::Tensor maximum(const at::Tensor& self, const at::Tensor& other) {
  return MapBinary(kMaximum, self, other);
}
at::Tensor& maximum_out(const at::Tensor& self, const at::Tensor& other,
                        at::Tensor& out) {
  return MapBinaryOut(kMaximum, self, other, out);
}
at::Tensor minimum(const at::Tensor& self, const at::Tensor& other) {
  return MapBinary(kMinimum, self, other);
}
at::Tensor& minimum_out(const at::Tensor& self, const at::Tensor& other,
                        at::Tensor& out) {
  return MapBinaryOut(kMinimum, self, other, out);
}

at::Tensor clamp(const at::Tensor& self, const std::optional<at::Scalar>& min,
                 const std::optional<at::Scalar>& max) {
  CheckBounds(min.has_value(), max.has_value());
  const at::Tensor promoted = Promoted(self, min, max, false);
  return MapUnary(Clamp(promoted, min, max), promoted);
}
at::Tensor& clamp_out(const at::Tensor& self,
                      const std::optional<at::Scalar>& min,
                      const std::optional<at::Scalar>& max, at::Tensor& out) {
  CheckElements("clamp_cuda", {&self, &out});
  CheckBounds(min.has_value(), max.has_value());
  const at::Tensor promoted = Promoted(self, min, max, out.is_same(self));
  return MapUnaryOut(Clamp(promoted, min, max), promoted, out);
}
at::Tensor& clamp_(at::Tensor& self, const std::optional<at::Scalar>& min,
                   const std::optional<at::Scalar>& max) {
  return clamp_out(self, min, max, self);
}

at::Tensor clamp_min(const at::Tensor& self, const at::Scalar& min) {
  return clamp(self, min, std::nullopt);
}
at::Tensor& clamp_min_(at::Tensor& self, const at::Scalar& min) {
  return clamp_out(self, min, std::nullopt, self);
}
at::Tensor& clamp_min_out(const at::Tensor& self, const at::Scalar& min,
                          at::Tensor& out) {
  return clamp_out(self, min, std::nullopt, out);
}
at::Tensor clamp_max(const at::Tensor& self, const at::Scalar& max) {
  return clamp(self, std::nullopt, max);
}
at::Tensor& clamp_max_(at::Tensor& self, const at::Scalar& max) {
  return clamp_out(self, std::nullopt, max, self);
}
at::Tensor& clamp_max_out(const at::Tensor& self, const at::Scalar& max,
                          at::Tensor& out) {
  return clamp_out(self, std::nullopt, max, out);
}

at::Tensor relu(const at::Tensor& self) {
  TORCH_CHECK(self.scalar_type() != at::kBool, "relu: of bool is not defined");
  return clamp_min(self, 0);
}
at::Tensor& relu_(at::Tensor& self) {
  TORCH_CHECK(self.scalar_type() != at::kBool, "relu_: of bool is not defined");
  return clamp_min_(self, 0);
}

at::Tensor& clamp_tensor_out(const at::Tensor& self,
                             const std::optional<at::Tensor>& min,
                             const std::optional<at::Tensor>& max,
                             at::Tensor& out) {
  const bool has_min = min.has_value() && min->defined();
  const bool has_max = max.has_value() && max->defined();
  CheckBounds(has_min, has_max);
  if (has_min && has_max) return ClampBothOut(self, *min, *max, out);
  if (out.defined()) {
    return has_min ? maximum_out(self, *min, out)
                   : minimum_out(self, *max, out);
  }
  out = has_min ? maximum(self, *min) : minimum(self, *max);
  return out;
}
at::Tensor clamp_tensor(const at::Tensor& self,
                        const std::optional<at::Tensor>& min,
                        const std::optional<at::Tensor>& max) {
  at::Tensor out;
  return clamp_tensor_out(self, min, max, out);
}
at::Tensor& clamp_tensor_(at::Tensor& self,
                          const std::optional<at::Tensor>& min,
                          const std::optional<at::Tensor>& max) {
  return clamp_tensor_out(self, min, max, self);
}

at::Tensor clamp_min_tensor(const at::Tensor& self, const at::Tensor& min) {
  return maximum(self, min);
}
at::Tensor& clamp_min_tensor_(at::Tensor& self, const at::Tensor& min) {
  return maximum_out(self, min, self);
}
at::Tensor& clamp_min_tensor_out(const at::Tensor& self, const at::Tensor& min,
                                 at::Tensor& out) {
  return maximum_out(self, min, out);
}
at::Tensor clamp_max_tensor(const at::Tensor& self, const at::Tensor& max) {
  return minimum(self, max);
}
at::Tensor& clamp_max_tensor_(at::Tensor& self, const at::Tensor& max) {
  return minimum_out(self, max, self);
}
at::Tensor& clamp_max_tensor_out(const at::Tensor& self, const at::Tensor& max,
                                 at::Tensor& out) {
  return minimum_out(self, max, out);
}

}  // namespace cuda
}  // namespace kernels
}  // namespace flaggems
