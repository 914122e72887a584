#include "flaggems/kernels/cpu/op_sub.h"

#include <ATen/Dispatch.h>
#include <ATen/TensorIterator.h>
#include <ATen/native/BinaryOps.h>

#include "flaggems/kernels/cpu/pointwise.h"

namespace flaggems {
namespace kernels {
namespace cpu {

at::Tensor sub(const at::Tensor& self, const at::Tensor& other,
               const at::Scalar& alpha) {
  at::native::sub_check(self, other);
  at::Tensor out;
  auto iter = at::TensorIterator::binary_op(out, self, other);
  const at::ScalarType dtype = iter.common_dtype();
  at::native::alpha_check(dtype, alpha);
  AT_DISPATCH_ALL_TYPES_AND_COMPLEX_AND3(
      at::kComplexHalf, at::kBFloat16, at::kHalf, dtype, "add_cpu/sub_cpu",
      [&] {
        using A = at::opmath_type<scalar_t>;
        const A factor = alpha.to<A>();
        if (factor == A(1)) {
          MapBinary<scalar_t>(
              iter, Elementwise2([](A a, A b) -> A { return a - b; }));
        } else {
          MapBinary<scalar_t>(iter, Elementwise2([factor](A a, A b) -> A {
                                return a - factor * b;
                              }));
        }
      });
  return iter.output();
}

}  // namespace cpu
}  // namespace kernels
}  // namespace flaggems
