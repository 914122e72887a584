// Pointwise kernels as functions of arrays, driven by a TensorIterator.
//
// The iterator does broadcasting, type promotion, overlap checks and the
// output's layout. MapUnary and MapBinary cut its 1-d runs into blocks that
// stay in the L1 cache and give the operation contiguous arrays of the compute
// type: float for 16-bit types (so a result is rounded once), the type itself
// otherwise. Contiguous operands of the compute type are not copied.
//
// An operation is a function object
//   void operator()(const A* a, A* y, int64_t n) const                unary
//   void operator()(const A* a, const A* b, A* y, int64_t n) const    binary
// y may be a or b; 0 < n <= kPointwiseBlock. Its result for one element must
// not depend on the others; then results do not depend on strides or threads.

#ifndef FLAGGEMS_KERNELS_CPU_POINTWISE_H_
#define FLAGGEMS_KERNELS_CPU_POINTWISE_H_

#include <ATen/OpMathType.h>
#include <ATen/TensorIterator.h>
#include <c10/util/complex.h>

#include <algorithm>
#include <cstdint>
#include <type_traits>

#include "flaggems/kernels/cpu/vec_loops.h"
#include "flaggems/kernels/cpu/vec_math.h"

namespace flaggems {
namespace kernels {
namespace cpu {

// Elements; three arrays of double fill 24 KiB.
constexpr int64_t kPointwiseBlock = 1024;

namespace internal_pointwise {

template <typename T>
constexpr bool kIsReduced =
    std::is_same<T, c10::BFloat16>::value || std::is_same<T, c10::Half>::value;

// n elements of type T, `stride` bytes apart, as a contiguous array: the
// elements themselves if they are that already, else `buffer`.
template <typename T, typename A>
const A* Load(const char* p, int64_t stride, int64_t n, A* buffer) {
  if (stride == static_cast<int64_t>(sizeof(T))) {
    if constexpr (std::is_same<T, A>::value) {
      return reinterpret_cast<const A*>(p);
    } else if constexpr (kIsReduced<T>) {
      Widen(reinterpret_cast<const T*>(p), buffer, n);
      return buffer;
    }
  }
  for (int64_t i = 0; i < n; ++i) {
    buffer[i] = static_cast<A>(*reinterpret_cast<const T*>(p + i * stride));
  }
  return buffer;
}

template <typename T, typename A>
void Store(const A* buffer, char* p, int64_t stride, int64_t n) {
  if constexpr (kIsReduced<T>) {
    if (stride == static_cast<int64_t>(sizeof(T))) {
      Narrow(buffer, reinterpret_cast<T*>(p), n);
      return;
    }
  }
  for (int64_t i = 0; i < n; ++i) {
    *reinterpret_cast<T*>(p + i * stride) = static_cast<T>(buffer[i]);
  }
}

// One operand of a 1-d run. A broadcast operand is read once a run.
template <typename T, typename A>
class Operand {
 public:
  Operand(const char* p, int64_t stride, int64_t n) : p_(p), stride_(stride) {
    if (stride == 0 && n > 1) {
      const A v = static_cast<A>(*reinterpret_cast<const T*>(p));
      std::fill_n(buffer_, std::min(n, kPointwiseBlock), v);
    }
  }
  const A* Block(int64_t start, int64_t n) {
    if (stride_ == 0 && n > 1) return buffer_;
    return Load<T>(p_ + start * stride_, stride_, n, buffer_);
  }

 private:
  const char* p_;
  int64_t stride_;
  alignas(64) A buffer_[kPointwiseBlock];
};

}  // namespace internal_pointwise

// Output and input of iter have type T.
template <typename T, typename Op>
void MapUnary(at::TensorIteratorBase& iter, const Op& op) {
  using A = at::opmath_type<T>;
  constexpr bool kSameType = std::is_same<T, A>::value;
  iter.for_each([&op](char** data, const int64_t* strides, int64_t size) {
    internal_pointwise::Operand<T, A> a(data[1], strides[1], size);
    alignas(64) A buffer[kPointwiseBlock];
    const bool direct = kSameType && strides[0] == sizeof(T);
    for (int64_t i = 0; i < size; i += kPointwiseBlock) {
      const int64_t n = std::min(kPointwiseBlock, size - i);
      char* const out = data[0] + i * strides[0];
      A* const y = direct ? reinterpret_cast<A*>(out) : buffer;
      op(a.Block(i, n), y, n);
      if (!direct) {
        internal_pointwise::Store<T>(buffer, out, strides[0], n);
      }
    }
  });
}

// Output and both inputs of iter have type T.
template <typename T, typename Op>
void MapBinary(at::TensorIteratorBase& iter, const Op& op) {
  using A = at::opmath_type<T>;
  constexpr bool kSameType = std::is_same<T, A>::value;
  iter.for_each([&op](char** data, const int64_t* strides, int64_t size) {
    internal_pointwise::Operand<T, A> a(data[1], strides[1], size);
    internal_pointwise::Operand<T, A> b(data[2], strides[2], size);
    alignas(64) A buffer[kPointwiseBlock];
    const bool direct = kSameType && strides[0] == sizeof(T);
    for (int64_t i = 0; i < size; i += kPointwiseBlock) {
      const int64_t n = std::min(kPointwiseBlock, size - i);
      char* const out = data[0] + i * strides[0];
      A* const y = direct ? reinterpret_cast<A*>(out) : buffer;
      op(a.Block(i, n), b.Block(i, n), y, n);
      if (!direct) {
        internal_pointwise::Store<T>(buffer, out, strides[0], n);
      }
    }
  });
}

// Operations from a function of one element. Captures are copied into the
// loop; keep them few and plain.
template <typename F>
auto Elementwise(F f) {
  return [f](const auto* a, auto* y, int64_t n) {
    SimdFor(n, [f, a, y](int64_t i) { y[i] = f(a[i]); });
  };
}
template <typename F>
auto Elementwise2(F f) {
  return [f](const auto* a, const auto* b, auto* y, int64_t n) {
    SimdFor(n, [f, a, b, y](int64_t i) { y[i] = f(a[i], b[i]); });
  };
}

// Real types by an array function, complex ones by a function of one element.
template <typename Real, typename Complex>
auto RealOrComplex(Real real, Complex complex) {
  return [real, complex](const auto* a, auto* y, int64_t n) {
    using A = std::remove_pointer_t<decltype(y)>;
    if constexpr (c10::is_complex<A>::value) {
      Elementwise(complex)(a, y, n);
    } else {
      real(a, y, n);
    }
  };
}

}  // namespace cpu
}  // namespace kernels
}  // namespace flaggems

#endif  // FLAGGEMS_KERNELS_CPU_POINTWISE_H_
