#include "flaggems/kernels/cuda/op_select.h"

#include <ATen/Dispatch.h>
#include <ATen/ExpandUtils.h>
#include <ATen/MemoryOverlap.h>
#include <ATen/TensorIterator.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/result_type.h>
#include <c10/util/Exception.h>

#include <cstring>

#include "flaggems/kernels/cuda/elementwise.h"
#include "flaggems/kernels/cuda/launch.h"
#include "flaggems/kernels/cuda/op_select_launch.h"

namespace flaggems {
namespace kernels {
namespace cuda {

namespace {

// The bits of a number as an element of the dtype.
Number BitsOf(const at::Scalar& value, at::ScalarType dtype, const char* op) {
  Number bits = {};
  if (at::isBarebonesUnsignedType(dtype) ||
      c10::elementSize(dtype) > sizeof(bits.integer)) {
    ThrowNotImplemented(dtype, op);
  }
  AT_DISPATCH_ALL_TYPES_AND_COMPLEX_AND4(
      at::kComplexHalf, at::kBool, at::kBFloat16, at::kHalf, dtype, "fill_cuda",
      [&] {
        if constexpr (sizeof(scalar_t) <= sizeof(bits.integer)) {
          const scalar_t element = value.to<scalar_t>();
          std::memcpy(&bits.integer, &element, sizeof(element));
        }
      });
  return bits;
}

// A CPU tensor of no dimension, on the device of the others.
at::Tensor OnDevice(const at::Tensor& x, at::Device device) {
  return x.device() != device && x.dim() == 0 && !device.is_cpu() ? x.to(device)
                                                                  : x;
}

// out may be undefined.
at::Tensor& Where(const at::Tensor& condition, const at::Tensor& self,
                  const at::Tensor& other, at::Device device, at::Tensor& out) {
  const at::ScalarType dtype = at::result_type(self, other);
  if (at::isBarebonesUnsignedType(dtype) ||
      c10::elementSize(dtype) > sizeof(int64_t)) {
    ThrowNotImplemented(dtype, "where_cuda");
  }
  TORCH_CHECK(!out.defined() || out.scalar_type() == dtype,
              "where: the output must be of ", dtype, ", not of ",
              out.defined() ? out.scalar_type() : dtype);
  at::Tensor mask = OnDevice(condition, device);
  if (mask.scalar_type() == at::kByte) {
    TORCH_WARN_ONCE("where: a uint8 condition is deprecated, use bool");
    mask = mask.to(at::kBool);
  }
  TORCH_CHECK(mask.scalar_type() == at::kBool,
              "where: the condition must be a bool tensor, not ",
              condition.scalar_type());
  at::TensorIteratorConfig config;
  config.check_all_same_dtype(false)
      .add_output(out)
      .add_owned_const_input(mask)
      .add_owned_const_input(OnDevice(self.to(dtype), device))
      .add_owned_const_input(OnDevice(other.to(dtype), device));
  if (!out.defined()) config.declare_static_dtype_and_device(dtype, device);
  auto iter = config.build();
  RunElementwiseOfBytes({LaunchWhere, "where_cuda"}, iter,
                        static_cast<int>(iter.element_size(0)));
  if (!out.defined()) out = iter.output();
  return out;
}

void CheckMask(const at::Tensor& self, const at::Tensor& mask) {
  TORCH_CHECK(self.device() == mask.device(), "masked_fill: self is on ",
              self.device(), ", the mask on ", mask.device());
  TORCH_CHECK(mask.scalar_type() == at::kBool,
              "masked_fill: the mask must be a bool tensor, not ",
              mask.scalar_type());
}

void CheckValue(const at::Tensor& self, const at::Tensor& value) {
  TORCH_CHECK(value.dim() == 0,
              "masked_fill: the value must have no dimension, not ",
              value.dim());
  TORCH_CHECK(self.is_cuda(), "masked_fill: self must be a CUDA tensor");
}

// Everything of an iterator that both values need.
at::TensorIteratorConfig FillConfig(const at::Tensor& out,
                                    const at::Tensor& mask) {
  at::TensorIteratorConfig config;
  config.set_check_mem_overlap(false)
      .check_all_same_dtype(false)
      .resize_outputs(false)
      .add_output(out)
      .add_owned_const_input(mask);
  return config;
}

void MaskedFill(const at::Tensor& self, const at::Tensor& mask,
                const at::Scalar& value, const at::Tensor& out) {
  const Elementwise op = {
      LaunchMaskedFill,
      "masked_fill_cuda",
      false,
      {BitsOf(value, self.scalar_type(), "masked_fill_cuda")}};
  auto iter = FillConfig(out, mask).add_owned_const_input(self).build();
  RunElementwiseOfBytes(op, iter, static_cast<int>(self.element_size()));
}

void MaskedFill(const at::Tensor& self, const at::Tensor& mask,
                const at::Tensor& value, const at::Tensor& out) {
  if (value.is_cpu()) {
    MaskedFill(self, mask, value.item(), out);
    return;
  }
  auto iter = FillConfig(out, mask)
                  .add_owned_const_input(value.to(self.scalar_type()))
                  .add_owned_const_input(self)
                  .build();
  RunElementwiseOfBytes({LaunchWhere, "masked_fill_cuda"}, iter,
                        static_cast<int>(self.element_size()));
}

// Contiguous, whatever self's strides are.
at::Tensor Expanded(const at::Tensor& self, const at::Tensor& mask) {
  return at::empty(at::infer_size(self.sizes(), mask.sizes()), self.options());
}

at::Tensor MaskInPlace(const at::Tensor& self, const at::Tensor& mask) {
  CheckMask(self, mask);
  if (at::has_internal_overlap(self) == at::MemOverlap::Yes) {
    TORCH_WARN(
        "masked_fill_: self is expanded, several of its elements are "
        "one; clone it first");
  }
  at::assert_no_partial_overlap(self, mask);
  return *at::expand_inplace(self, mask, "masked_fill_");
}

at::TensorIterator FillIterator(const at::Tensor& self,
                                const at::Tensor* value) {
  at::TensorIteratorConfig config;
  config.set_check_mem_overlap(false)
      .check_all_same_dtype(false)
      .resize_outputs(false)
      .add_output(self);
  if (value != nullptr) config.add_owned_const_input(*value);
  return config.build();
}

}  // namespace

at::Tensor where(const at::Tensor& condition, const at::Tensor& self,
                 const at::Tensor& other) {
  // The first of self, other and condition that is no number decides.
  at::Device device = condition.device();
  if (other.dim() > 0 || condition.dim() == 0) device = other.device();
  if (self.dim() > 0) device = self.device();
  if (!device.is_cuda()) {
    for (const at::Tensor* x : {&condition, &self, &other}) {
      if (x->is_cuda()) device = x->device();
    }
  }
  at::Tensor out;
  return Where(condition, self, other, device, out);
}

at::Tensor& where_out(const at::Tensor& condition, const at::Tensor& self,
                      const at::Tensor& other, at::Tensor& out) {
  return Where(condition, self, other, out.device(), out);
}

at::Tensor masked_fill(const at::Tensor& self, const at::Tensor& mask,
                       const at::Scalar& value) {
  CheckMask(self, mask);
  at::Tensor out = Expanded(self, mask);
  MaskedFill(self, mask, value, out);
  return out;
}
at::Tensor& masked_fill_(at::Tensor& self, const at::Tensor& mask,
                         const at::Scalar& value) {
  MaskedFill(self, MaskInPlace(self, mask), value, self);
  return self;
}

at::Tensor masked_fill_tensor(const at::Tensor& self, const at::Tensor& mask,
                              const at::Tensor& value) {
  CheckValue(self, value);
  CheckMask(self, mask);
  at::Tensor out = Expanded(self, mask);
  MaskedFill(self, mask, value, out);
  return out;
}
at::Tensor& masked_fill_tensor_(at::Tensor& self, const at::Tensor& mask,
                                const at::Tensor& value) {
  CheckValue(self, value);
  MaskedFill(self, MaskInPlace(self, mask), value, self);
  return self;
}

at::Tensor& fill_(at::Tensor& self, const at::Scalar& value) {
  const Elementwise op = {LaunchFill,
                          "fill_cuda",
                          false,
                          {BitsOf(value, self.scalar_type(), "fill_cuda")}};
  auto iter = FillIterator(self, nullptr);
  RunElementwiseOfBytes(op, iter, static_cast<int>(self.element_size()));
  return self;
}

at::Tensor& fill_tensor_(at::Tensor& self, const at::Tensor& value) {
  TORCH_CHECK(value.dim() == 0, "fill_: the value must have no dimension, not ",
              value.dim());
  if (value.device() != self.device()) return cuda::fill_(self, value.item());
  if (at::isBarebonesUnsignedType(self.scalar_type())) {
    ThrowNotImplemented(self.scalar_type(), "fill_cuda");
  }
  at::Tensor element = value.to(self.scalar_type());
  if (element.is_alias_of(self)) element = element.clone();
  auto iter = FillIterator(self, &element);
  RunElementwiseOfBytes({LaunchFill, "fill_cuda"}, iter,
                        static_cast<int>(self.element_size()));
  return self;
}

}  // namespace cuda
}  // namespace kernels
}  // namespace flaggems
