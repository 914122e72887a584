#include "flaggems/kernels/cpu/op_mul.h"

#include <ATen/Dispatch.h>
#include <ATen/Dispatch_v2.h>
#include <ATen/TensorIterator.h>

#include <cstdint>
#include <type_traits>

#include "flaggems/kernels/cpu/pointwise.h"

namespace flaggems {
namespace kernels {
namespace cpu {
namespace {

void Kernel(at::TensorIteratorBase& iter) {
  if (iter.common_dtype() == at::kBool) {
    MapBinary<bool>(iter, Elementwise2([](bool a, bool b) { return a && b; }));
    iter.cast_outputs();
    return;
  }
  AT_DISPATCH_V2(
      iter.common_dtype(), "mul_cpu", AT_WRAP([&] {
        using A = at::opmath_type<scalar_t>;
        MapBinary<scalar_t>(
            iter, Elementwise2([](A a, A b) -> A {
              // Through unsigned: two uint16 would overflow as int.
              using Wide = std::conditional_t<std::is_same<A, uint16_t>::value,
                                              uint32_t, A>;
              return static_cast<A>(static_cast<Wide>(a) *
                                    static_cast<Wide>(b));
            }));
      }),
      AT_EXPAND(AT_ALL_TYPES_AND_COMPLEX),
      AT_EXPAND(AT_BAREBONES_UNSIGNED_TYPES), at::kComplexHalf, at::kBFloat16,
      at::kHalf);
  iter.cast_outputs();
}

}  // namespace

at::Tensor mul(const at::Tensor& self, const at::Tensor& other) {
  at::Tensor out;
  auto iter = at::TensorIterator::binary_op(out, self, other);
  Kernel(iter);
  return iter.output();
}

at::Tensor& mul_(at::Tensor& self, const at::Tensor& other) {
  auto iter = at::TensorIterator::binary_op(self, self, other);
  Kernel(iter);
  return self;
}

}  // namespace cpu
}  // namespace kernels
}  // namespace flaggems
