#include "flaggems/kernels/cpu/op_where.h"

#include <ATen/TensorIterator.h>
#include <ATen/ops/result_type.h>
#include <c10/core/ScalarType.h>
#include <c10/util/complex.h>

#include <cstdint>

#include "flaggems/kernels/cpu/vec_loops.h"

namespace flaggems {
namespace kernels {
namespace cpu {
namespace {

template <typename T>
T Choose(uint8_t chosen, T a, T b) {
  if constexpr (sizeof(T) <= 8) {
    return ChooseBits(chosen, a, b);
  } else {
    return chosen != 0 ? a : b;
  }
}

// Copies of whole elements: only their size matters.
template <typename T>
void Select(char** data, const int64_t* strides, int64_t n) {
  constexpr int64_t kSize = sizeof(T);
  T* const y = reinterpret_cast<T*>(data[0]);
  const uint8_t* const c = reinterpret_cast<const uint8_t*>(data[1]);
  const T* const a = reinterpret_cast<const T*>(data[2]);
  const T* const b = reinterpret_cast<const T*>(data[3]);
  if (strides[0] == kSize && strides[1] == 1) {
    if (strides[2] == kSize && strides[3] == kSize) {
      SimdFor(n, [=](int64_t i) {
        const T u = a[i];
        const T v = b[i];
        y[i] = Choose(c[i], u, v);
      });
      return;
    }
    if (strides[2] == kSize && strides[3] == 0) {
      const T v = *b;
      SimdFor(n, [=](int64_t i) {
        const T u = a[i];
        y[i] = Choose(c[i], u, v);
      });
      return;
    }
    if (strides[2] == 0 && strides[3] == kSize) {
      const T u = *a;
      SimdFor(n, [=](int64_t i) {
        const T v = b[i];
        y[i] = Choose(c[i], u, v);
      });
      return;
    }
  }
  for (int64_t i = 0; i < n; ++i) {
    const bool chosen =
        *reinterpret_cast<const bool*>(data[1] + i * strides[1]);
    *reinterpret_cast<T*>(data[0] + i * strides[0]) =
        chosen ? *reinterpret_cast<const T*>(data[2] + i * strides[2])
               : *reinterpret_cast<const T*>(data[3] + i * strides[3]);
  }
}

}  // namespace

at::Tensor where(const at::Tensor& condition, const at::Tensor& self,
                 const at::Tensor& other) {
  at::Tensor mask = condition;
  if (condition.scalar_type() == at::kByte) {
    TORCH_WARN_ONCE("where: a uint8 condition is deprecated, use bool");
    mask = condition.to(at::kBool);
  }
  TORCH_CHECK(mask.scalar_type() == at::kBool,
              "where: the condition must be a bool tensor, not ",
              condition.scalar_type());
  const at::ScalarType dtype = at::result_type(self, other);
  const at::Tensor undefined;
  auto iter = at::TensorIteratorConfig()
                  .check_all_same_dtype(false)
                  .declare_static_dtype(dtype)
                  .add_output(undefined)
                  .add_owned_const_input(mask)
                  .add_owned_const_input(self.to(dtype))
                  .add_owned_const_input(other.to(dtype))
                  .build();
  // Not by element size: aten has no where() of the unsigned types beyond
  // uint8.
  TORCH_CHECK_NOT_IMPLEMENTED(!at::isBarebonesUnsignedType(dtype),
                              "\"where_cpu\" not implemented for '", dtype,
                              "'");
  switch (iter.element_size(0)) {
    case 1:
      iter.for_each(Select<uint8_t>);
      break;
    case 2:
      iter.for_each(Select<uint16_t>);
      break;
    case 4:
      iter.for_each(Select<uint32_t>);
      break;
    case 8:
      iter.for_each(Select<uint64_t>);
      break;
    default:
      TORCH_INTERNAL_ASSERT(iter.element_size(0) == 16);
      iter.for_each(Select<c10::complex<double>>);
  }
  return iter.output();
}

}  // namespace cpu
}  // namespace kernels
}  // namespace flaggems
