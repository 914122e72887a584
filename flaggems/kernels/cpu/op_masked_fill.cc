#include "flaggems/kernels/cpu/op_masked_fill.h"

#include <ATen/Dispatch.h>
#include <ATen/ExpandUtils.h>
#include <ATen/TensorIterator.h>
#include <ATen/ops/empty.h>

#include <cstdint>
#include <cstring>

#include "flaggems/kernels/cpu/vec_loops.h"

namespace flaggems {
namespace kernels {
namespace cpu {
namespace {

template <typename T>
void FillContiguous(char** data, const T& fill, int64_t n) {
  const uint8_t* const m = reinterpret_cast<const uint8_t*>(data[2]);
  if constexpr (sizeof(T) <= 8) {
    using Bits = typename BitsOfSize<sizeof(T)>::Type;
    Bits value;
    std::memcpy(&value, &fill, sizeof(value));
    Bits* const y = reinterpret_cast<Bits*>(data[0]);
    const Bits* const x = reinterpret_cast<const Bits*>(data[1]);
    SimdFor(n, [=](int64_t i) { y[i] = ChooseBits(m[i], value, x[i]); });
  } else {
    T* const y = reinterpret_cast<T*>(data[0]);
    const T* const x = reinterpret_cast<const T*>(data[1]);
    for (int64_t i = 0; i < n; ++i) y[i] = m[i] != 0 ? fill : x[i];
  }
}

}  // namespace

at::Tensor masked_fill(const at::Tensor& self, const at::Tensor& mask,
                       const at::Scalar& value) {
  TORCH_CHECK(mask.scalar_type() == at::kBool,
              "masked_fill: the mask must be a bool tensor, not ",
              mask.scalar_type());
  at::Tensor out =
      at::empty(at::infer_size(self.sizes(), mask.sizes()), self.options());
  auto iter = at::TensorIteratorConfig()
                  .check_all_same_dtype(false)
                  .resize_outputs(false)
                  .add_output(out)
                  .add_const_input(self)
                  .add_const_input(mask)
                  .build();
  AT_DISPATCH_ALL_TYPES_AND_COMPLEX_AND4(
      at::kComplexHalf, at::kBool, at::kBFloat16, at::kHalf, self.scalar_type(),
      "masked_fill", [&] {
        const scalar_t fill = value.to<scalar_t>();
        iter.for_each([fill](char** data, const int64_t* strides, int64_t n) {
          constexpr int64_t kSize = sizeof(scalar_t);
          if (strides[0] == kSize && strides[1] == kSize && strides[2] == 1) {
            FillContiguous<scalar_t>(data, fill, n);
            return;
          }
          for (int64_t i = 0; i < n; ++i) {
            const bool masked =
                *reinterpret_cast<const bool*>(data[2] + i * strides[2]);
            *reinterpret_cast<scalar_t*>(data[0] + i * strides[0]) =
                masked ? fill
                       : *reinterpret_cast<const scalar_t*>(data[1] +
                                                            i * strides[1]);
          }
        });
      });
  return out;
}

}  // namespace cpu
}  // namespace kernels
}  // namespace flaggems
