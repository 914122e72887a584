#include "flaggems/kernels/cuda/elementwise.h"

#include <ATen/ScalarOps.h>
#include <ATen/cuda/EmptyTensor.h>
#include <c10/core/DynamicCast.h>
#include <c10/util/Exception.h>

#include <algorithm>

#include "flaggems/kernels/cuda/launch.h"

namespace flaggems {
namespace kernels {
namespace cuda {
namespace {

at::TensorIterator UnaryIterator(at::Tensor& out, const at::Tensor& self,
                                 Promotion promotion) {
  if (promotion == Promotion::kFloat) {
    return at::TensorIterator::unary_float_op(out, self);
  }
  return at::TensorIterator::unary_op(out, self);
}

at::TensorIterator BinaryIterator(at::Tensor& out, const at::Tensor& self,
                                  const at::Tensor& other,
                                  Promotion promotion) {
  switch (promotion) {
    case Promotion::kFloat:
      return at::TensorIterator::binary_float_op(out, self, other);
    case Promotion::kComparison:
      return at::TensorIterator::comparison_op(out, self, other);
    default:
      return at::TensorIterator::binary_op(out, self, other);
  }
}

bool HasNames(const at::Tensor& x) {
  return x.unsafeGetTensorImpl()->has_named_tensor_meta();
}

// Whether x may stand in a call without TensorIterator.
bool IsPlain(const at::Tensor& x) {
  return x.defined() && x.is_cuda() && x.layout() == at::kStrided &&
         x.is_contiguous() && !HasNames(x);
}

bool IsPlainAs(const at::Tensor& x, const at::Tensor& y) {
  return IsPlain(x) && x.scalar_type() == y.scalar_type() &&
         x.device() == y.device() && x.sizes().equals(y.sizes());
}

// A CPU tensor of no dimension beside a floating point tensor that has some: it
// does not change the dtype.
bool IsPlainNumber(const at::Tensor& x, const at::Tensor& beside) {
  return x.defined() && x.is_cpu() && x.dim() == 0 &&
         x.layout() == at::kStrided && beside.dim() > 0 &&
         at::isFloatingType(beside.scalar_type()) &&
         TryElementOf(x.scalar_type()).has_value() && !HasNames(x);
}

Number NumberAt(const void* data, at::ScalarType dtype) {
  if (at::isFloatingType(dtype)) {
    const double value = c10::fetch_and_cast<double>(dtype, data);
    // Where the number is out of range, no kernel asks for the integer.
    const bool in_range = value > -9e18 && value < 9e18;
    return {value, in_range ? static_cast<int64_t>(value) : 0};
  }
  const int64_t value = c10::fetch_and_cast<int64_t>(dtype, data);
  return {static_cast<double>(value), value};
}

// A number as an element of the type holds it.
Number Rounded(const Number& x, Element element) {
  const float value = static_cast<float>(x.floating);
  switch (element) {
    case Element::kFloat16:
      return {static_cast<float>(c10::Half(value)), x.integer};
    case Element::kBFloat16:
      return {static_cast<float>(c10::BFloat16(value)), x.integer};
    default:
      return x;
  }
}

// What a kernel gets for a number among tensors. aten computes with numbers in
// the wider type, but compares with them in the tensors' own: a float16 of 0.1
// is equal to 0.1.
Number ConstantFor(const Elementwise& op, const Number& x, Element compute) {
  return op.predicate ? Rounded(x, compute) : x;
}

void SetScalars(const Elementwise& op, ElementwiseCall* call) {
  std::copy_n(op.scalars, kMaxElementwiseScalars, call->scalars);
}

void SetDense(const void* data, Element element, int64_t bytes,
              ElementwiseOperand* operand) {
  operand->data = const_cast<void*>(data);
  operand->element = element;
  operand->constant = {};
  operand->strides[0] = bytes;
}

// A second input of a plain call: one of tensor and number, or none.
struct Second {
  const at::Tensor* tensor = nullptr;
  const Number* number = nullptr;
};

// Contiguous tensors of the shape of `self`, and numbers.
void RunPlain(const Elementwise& op, const at::Tensor& self, Second other,
              const at::Tensor& out) {
  ElementwiseCall call;
  const at::ScalarType dtype = self.scalar_type();
  call.compute = ElementOf(dtype, op.name);
  call.mixed = false;
  call.inputs = other.tensor != nullptr || other.number != nullptr ? 2 : 1;
  call.dims = 1;
  call.numel = self.numel();
  call.sizes[0] = call.numel;
  SetScalars(op, &call);
  const int64_t bytes = static_cast<int64_t>(self.element_size());
  SetDense(self.const_data_ptr(), call.compute, bytes, &call.in[0]);
  if (other.number != nullptr) {
    SetDense(nullptr, call.compute, 0, &call.in[1]);
    call.in[1].constant = ConstantFor(op, *other.number, call.compute);
  } else if (other.tensor != nullptr) {
    SetDense(other.tensor->const_data_ptr(), call.compute, bytes, &call.in[1]);
  }
  SetDense(out.mutable_data_ptr(), op.predicate ? Element::kBool : call.compute,
           static_cast<int64_t>(out.element_size()), &call.out);
  const DeviceStream on(self);
  CheckLaunch(op.launch(call, on.stream()), dtype, op.name);
}

at::Tensor EmptyPlain(const Elementwise& op, const at::Tensor& self) {
  const at::ScalarType dtype = self.scalar_type();
  ElementOf(dtype, op.name);
  return at::Tensor(at::detail::empty_cuda(self.sizes(),
                                           op.predicate ? at::kBool : dtype,
                                           self.device(), std::nullopt));
}

// Whether `other` can be a plain second input; then it is in *second.
bool PlainSecond(const at::Tensor& self, const at::Tensor& other,
                 Number* number, Second* second) {
  if (IsPlainNumber(other, self)) {
    *number = NumberAt(other.const_data_ptr(), other.scalar_type());
    second->number = number;
    return true;
  }
  second->tensor = &other;
  return IsPlainAs(other, self);
}

bool IsOwnDtype(const at::Tensor& self, Promotion promotion) {
  return promotion != Promotion::kFloat ||
         at::isFloatingType(self.scalar_type());
}

// A dense iterator of any size is one run, which the launch cuts itself.
bool NeedsSplit(const at::TensorIteratorBase& iter) {
  return !iter.can_use_32bit_indexing() &&
         !(iter.ndim() == 1 && iter.is_contiguous());
}

void SetOperands(const Elementwise& op, at::TensorIteratorBase& iter,
                 ElementwiseCall* call) {
  const int dims = iter.ndim();
  TORCH_CHECK_NOT_IMPLEMENTED(
      dims <= kMaxElementwiseDims, op.name, ": tensors of ", dims,
      " dimensions that do not lie side by side; at most ", kMaxElementwiseDims,
      " are supported");
  call->inputs = iter.ninputs();
  TORCH_INTERNAL_ASSERT(iter.noutputs() == 1 &&
                        call->inputs <= kMaxElementwiseInputs);
  call->dims = dims;
  call->numel = iter.numel();
  for (int d = 0; d < dims; ++d) call->sizes[d] = iter.shape()[d];
  for (int k = 0; k <= call->inputs; ++k) {
    ElementwiseOperand& x = k == 0 ? call->out : call->in[k - 1];
    x.constant = {};
    if (k > 0 && iter.is_cpu_scalar(k)) {
      x.constant = ConstantFor(op, NumberAt(iter.data_ptr(k), iter.dtype(k)),
                               call->compute);
      x.data = nullptr;
      continue;
    }
    x.data = iter.data_ptr(k);
    for (int d = 0; d < dims; ++d) x.strides[d] = iter.strides(k)[d];
  }
  for (int k = call->inputs; k < kMaxElementwiseInputs; ++k) {
    call->in[k].data = nullptr;
    call->in[k].constant = op.scalars[0];
  }
  SetScalars(op, call);
}

}  // namespace

void CheckElements(const char* op,
                   std::initializer_list<const at::Tensor*> tensors) {
  for (const at::Tensor* x : tensors) {
    if (x->defined()) ElementOf(x->scalar_type(), op);
  }
}

Number NumberOf(const at::Scalar& scalar) {
  if (scalar.isFloatingPoint()) {
    const double value = scalar.toDouble();
    return NumberAt(&value, at::kDouble);
  }
  TORCH_CHECK_NOT_IMPLEMENTED(!scalar.isComplex(),
                              "a complex scalar where a real one is due");
  const int64_t value =
      scalar.isBoolean() ? int64_t{scalar.toBool()} : scalar.toLong();
  return {static_cast<double>(value), value};
}

Number NumberOf(const at::Scalar& scalar, at::ScalarType dtype) {
  switch (dtype) {
    case at::kFloat:
    case at::kHalf:
    case at::kBFloat16:
      scalar.toFloat();
      break;
    case at::kLong:
      scalar.toLong();
      break;
    case at::kInt:
      scalar.toInt();
      break;
    case at::kShort:
      scalar.toShort();
      break;
    case at::kChar:
      scalar.toChar();
      break;
    case at::kByte:
      scalar.toByte();
      break;
    default:
      break;
  }
  return NumberOf(scalar);
}

void RunElementwise(const Elementwise& op, at::TensorIteratorBase& iter,
                    at::ScalarType compute) {
  if (NeedsSplit(iter)) {
    for (at::TensorIterator& part : iter.with_32bit_indexing()) {
      RunElementwise(op, part, compute);
    }
    return;
  }
  ElementwiseCall call;
  call.compute = ElementOf(compute, op.name);
  call.mixed = false;
  SetOperands(op, iter, &call);
  for (int k = 0; k <= call.inputs; ++k) {
    ElementwiseOperand& x = k == 0 ? call.out : call.in[k - 1];
    x.element = ElementOf(iter.dtype(k), op.name);
    const Element own = k == 0 && op.predicate ? Element::kBool : call.compute;
    if (x.data != nullptr && x.element != own) call.mixed = true;
  }
  const DeviceStream on(iter.tensor(0));
  CheckLaunch(op.launch(call, on.stream()), compute, op.name);
}

Element ElementOfBytes(int bytes, at::ScalarType dtype, const char* op) {
  switch (bytes) {
    case 1:
      return Element::kUInt8;
    case 2:
      return Element::kInt16;
    case 4:
      return Element::kInt32;
    case 8:
      return Element::kInt64;
    default:
      ThrowNotImplemented(dtype, op);
  }
}

void RunElementwiseOfBytes(const Elementwise& op, at::TensorIteratorBase& iter,
                           int bytes) {
  if (NeedsSplit(iter)) {
    for (at::TensorIterator& part : iter.with_32bit_indexing()) {
      RunElementwiseOfBytes(op, part, bytes);
    }
    return;
  }
  ElementwiseCall call;
  call.compute = ElementOfBytes(bytes, iter.dtype(0), op.name);
  call.mixed = false;
  SetOperands(op, iter, &call);
  const DeviceStream on(iter.tensor(0));
  CheckLaunch(op.launch(call, on.stream()), iter.dtype(0), op.name);
}

at::Tensor MapUnary(const Elementwise& op, const at::Tensor& self,
                    Promotion promotion) {
  CheckElements(op.name, {&self});
  if (IsPlain(self) && IsOwnDtype(self, promotion)) {
    at::Tensor out = EmptyPlain(op, self);
    RunPlain(op, self, {}, out);
    return out;
  }
  at::Tensor out;
  at::TensorIterator iter = UnaryIterator(out, self, promotion);
  RunElementwise(op, iter, iter.common_dtype());
  return iter.output();
}

at::Tensor& MapUnaryOut(const Elementwise& op, const at::Tensor& self,
                        at::Tensor& out, Promotion promotion) {
  CheckElements(op.name, {&self, &out});
  if (out.is_same(self) && !op.predicate && IsPlain(self) &&
      IsOwnDtype(self, promotion)) {
    RunPlain(op, self, {}, out);
    return out;
  }
  at::TensorIterator iter = UnaryIterator(out, self, promotion);
  RunElementwise(op, iter, iter.common_dtype());
  return out;
}

at::Tensor MapBinary(const Elementwise& op, const at::Tensor& self,
                     const at::Tensor& other, Promotion promotion) {
  CheckElements(op.name, {&self, &other});
  Number number;
  Second second;
  if (IsPlain(self) && IsOwnDtype(self, promotion) &&
      PlainSecond(self, other, &number, &second)) {
    at::Tensor out = EmptyPlain(op, self);
    RunPlain(op, self, second, out);
    return out;
  }
  at::Tensor out;
  at::TensorIterator iter = BinaryIterator(out, self, other, promotion);
  RunElementwise(op, iter, iter.common_dtype());
  return iter.output();
}

at::Tensor& MapBinaryOut(const Elementwise& op, const at::Tensor& self,
                         const at::Tensor& other, at::Tensor& out,
                         Promotion promotion) {
  CheckElements(op.name, {&self, &other, &out});
  Number number;
  Second second;
  if (out.is_same(self) && !op.predicate && IsPlain(self) &&
      IsOwnDtype(self, promotion) && !other.is_alias_of(self) &&
      PlainSecond(self, other, &number, &second)) {
    RunPlain(op, self, second, out);
    return out;
  }
  at::TensorIterator iter = BinaryIterator(out, self, other, promotion);
  RunElementwise(op, iter, iter.common_dtype());
  return out;
}

at::Tensor MapScalar(const Elementwise& op, const at::Tensor& self,
                     const at::Scalar& other, Promotion promotion) {
  if (IsPlain(self) && self.dim() > 0 &&
      at::isFloatingType(self.scalar_type()) && !other.isComplex()) {
    const Number number = NumberOf(other);
    at::Tensor out = EmptyPlain(op, self);
    RunPlain(op, self, {nullptr, &number}, out);
    return out;
  }
  return MapBinary(op, self, at::native::wrapped_scalar_tensor(other),
                   promotion);
}

at::Tensor& MapScalarOut(const Elementwise& op, const at::Tensor& self,
                         const at::Scalar& other, at::Tensor& out,
                         Promotion promotion) {
  return MapBinaryOut(op, self, at::native::wrapped_scalar_tensor(other), out,
                      promotion);
}

}  // namespace cuda
}  // namespace kernels
}  // namespace flaggems
