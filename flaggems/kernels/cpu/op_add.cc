#include "flaggems/kernels/cpu/op_add.h"

#include <ATen/Dispatch.h>
#include <ATen/TensorIterator.h>
#include <ATen/native/BinaryOps.h>

#include "flaggems/kernels/cpu/pointwise.h"

namespace flaggems {
namespace kernels {
namespace cpu {
namespace {

void Kernel(at::TensorIteratorBase& iter, const at::Scalar& alpha) {
  const at::ScalarType dtype = iter.common_dtype();
  at::native::alpha_check(dtype, alpha);
  if (dtype == at::kBool) {
    const bool factor = alpha.to<bool>();
    MapBinary<bool>(iter, Elementwise2([factor](bool a, bool b) {
                      return a || (factor && b);
                    }));
    iter.cast_outputs();
    return;
  }
  AT_DISPATCH_ALL_TYPES_AND_COMPLEX_AND3(
      at::kComplexHalf, at::kBFloat16, at::kHalf, dtype, "add_cpu/sub_cpu",
      [&] {
        using A = at::opmath_type<scalar_t>;
        const A factor = alpha.to<A>();
        if (factor == A(1)) {
          MapBinary<scalar_t>(
              iter, Elementwise2([](A a, A b) -> A { return a + b; }));
        } else {
          MapBinary<scalar_t>(iter, Elementwise2([factor](A a, A b) -> A {
                                return a + factor * b;
                              }));
        }
      });
  iter.cast_outputs();
}

}  // namespace

at::Tensor add(const at::Tensor& self, const at::Tensor& other,
               const at::Scalar& alpha) {
  at::Tensor out;
  auto iter = at::TensorIterator::binary_op(out, self, other);
  Kernel(iter, alpha);
  return iter.output();
}

at::Tensor& add_(at::Tensor& self, const at::Tensor& other,
                 const at::Scalar& alpha) {
  auto iter = at::TensorIterator::binary_op(self, self, other);
  Kernel(iter, alpha);
  return self;
}

at::Tensor& add_out(const at::Tensor& self, const at::Tensor& other,
                    const at::Scalar& alpha, at::Tensor& out) {
  auto iter = at::TensorIterator::binary_op(out, self, other);
  Kernel(iter, alpha);
  return out;
}

}  // namespace cpu
}  // namespace kernels
}  // namespace flaggems
