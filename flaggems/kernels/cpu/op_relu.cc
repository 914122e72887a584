#include "flaggems/kernels/cpu/op_relu.h"

#include <ATen/Dispatch.h>
#include <ATen/TensorIterator.h>

#include "flaggems/kernels/cpu/pointwise.h"

namespace flaggems {
namespace kernels {
namespace cpu {
namespace {

void Kernel(at::TensorIteratorBase& iter) {
  AT_DISPATCH_ALL_TYPES_AND2(
      at::kBFloat16, at::kHalf, iter.common_dtype(), "relu_cpu", [&] {
        using A = at::opmath_type<scalar_t>;
        MapUnary<scalar_t>(
            iter, Elementwise([](A a) -> A { return a < A(0) ? A(0) : a; }));
      });
}

void CheckDtype(const at::Tensor& self) {
  TORCH_CHECK(self.scalar_type() != at::kBool,
              "relu: bool tensors are not supported");
}

}  // namespace

at::Tensor relu(const at::Tensor& self) {
  CheckDtype(self);
  at::Tensor out;
  auto iter = at::TensorIterator::unary_op(out, self);
  Kernel(iter);
  return iter.output();
}

at::Tensor& relu_(at::Tensor& self) {
  CheckDtype(self);
  auto iter = at::TensorIterator::unary_op(self, self);
  Kernel(iter);
  return self;
}

}  // namespace cpu
}  // namespace kernels
}  // namespace flaggems
